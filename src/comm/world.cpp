// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/world.hpp"

#include "comm/cpu_share.hpp"
#include "comm/device_choice.hpp"
#include "comm/job_guard.hpp"
#include "comm/mpi_handle.hpp"
#include "core/error.hpp"
#include "core/process.hpp"
#include "device/code_architecture.hpp"
#include "device/host/memory.hpp"
#include "device/host/topology.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>

namespace quadrille::comm {
namespace {

std::optional<int> environment_number(char const* name) {
  char const* text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  std::string_view const view = text;
  int value = 0;
  auto const [end, error] = std::from_chars(view.data(), view.data() + view.size(), value);
  if (error != std::errc{} || end == view.data()) return std::nullopt;
  return value;
}

struct LauncherVariables {
  char const* name;
  char const* rank;
  char const* size;
  char const* local_rank;
};

// The first whose rank and size are set wins. Open MPI stands before Slurm because mpirun inside a
// Slurm job passes Slurm's variables on; SLURM_STEP_NUM_TASKS, unlike SLURM_NTASKS, is set by srun
// alone and not in the batch script itself.
constexpr std::array kLaunchers{
    LauncherVariables{"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                      "OMPI_COMM_WORLD_LOCAL_RANK"},
    LauncherVariables{"PALS", "PALS_RANKID", "PMI_SIZE", "PALS_LOCAL_RANKID"},
    LauncherVariables{"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"},
    LauncherVariables{"MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
};

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

int choose_threads(CpuShare const& share) {
  int threads = share.threads();
  if (auto const bound = environment_number("OMP_NUM_THREADS")) threads = std::min(threads, *bound);
  return std::max(1, threads);
}

std::string singleton_error_of(LauncherFacts const& launcher, int size) {
  if (size > 1 || launcher.size <= 1) return {};
  return fmt::format(
      "{} started {} tasks, but MPI sees one rank: launcher and MPI library do not "
      "know each other; start with {}",
      launcher.name, launcher.size,
      launcher.name == "Slurm" ? "srun --mpi=pmix (srun --mpi=list shows what there "
                                 "is) or with the mpirun of the MPI library in use"
                               : "the mpirun of the MPI library in use");
}

/// Why two ranks may not drive what they chose; empty where each has its own. Collective.
std::string shared_gpu_problem(Group const& world, std::string const& uuid) {
  std::vector<Placement> ranks;
  for (std::string const& chosen : world.all_gather(uuid)) {
    Placement& place = ranks.emplace_back();
    place.rank = static_cast<int>(ranks.size()) - 1;
    place.uuid = chosen;
  }
  auto const pair = sharing_a_gpu(ranks);
  if (!pair) return {};
  return fmt::format(
      "ranks {} and {} share one GPU ({}); make every GPU of the node visible to every task (srun "
      "--gpu-bind=none), or pass --allow-shared-gpu",
      pair->first, pair->second, ranks[static_cast<std::size_t>(pair->first)].uuid);
}

// One member a line; none contains a line break.
std::string pack(Placement const& place) {
  std::string text = fmt::format("{}\n", place.local_size);
  visit_members(place,
                [&](char const*, auto const& member) { text += fmt::format("{}\n", member); });
  return text;
}

Placement unpack(std::string_view text) {
  Placement place;
  auto const take = [&]<class T>(char const*, T& member) {
    std::size_t const end = std::min(text.find('\n'), text.size());
    std::string_view const line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if constexpr (std::is_same_v<T, std::string>) {
      member = line;
    } else {
      std::from_chars(line.data(), line.data() + line.size(), member);
    }
  };
  take("local_size", place.local_size);
  visit_members(place, take);
  return place;
}

/// How many nodes the ranks of `group` are on, and the number of this rank's, of which `node` are the
/// ranks. Collective over the group.
std::pair<int, int> number_nodes(Group const& group, Group const& node) {
  // The first rank's, of which there is one in each.
  std::string first = std::to_string(group.rank());
  node.broadcast(first);
  std::set<int> numbers;
  for (std::string const& one : group.all_gather(first)) numbers.insert(std::stoi(one));
  return {static_cast<int>(numbers.size()),
          static_cast<int>(std::distance(numbers.begin(), numbers.find(std::stoi(first))))};
}

}  // namespace

std::optional<std::pair<int, int>> sharing_a_gpu(std::vector<Placement> const& ranks) {
  std::map<std::string_view, int> drivers;  // of GPUs
  for (Placement const& place : ranks) {
    if (place.uuid.empty()) continue;
    auto const [first, is_new] = drivers.try_emplace(place.uuid, place.rank);
    if (!is_new) return std::pair{first->second, place.rank};
  }
  return std::nullopt;
}

LauncherFacts read_launcher() {
  for (LauncherVariables const& variables : kLaunchers) {
    auto const rank = environment_number(variables.rank);
    auto const size = environment_number(variables.size);
    if (!rank || !size) continue;
    return {variables.name, *rank, *size, environment_number(variables.local_rank).value_or(-1)};
  }
  if (auto const rank = environment_number("PMIX_RANK")) return {"PMIx", *rank, -1, -1};
  return {};
}

struct World::Mpi {
  Mpi(int& argc, char**& argv, LauncherFacts const& launcher, double start_limit_s) {
    // Before MPI: a rank that never comes would keep the others in MPI_Init.
    guard = std::make_unique<JobGuard>(
        fmt::format("{}/{}", std::max(launcher.rank, 0),
                    launcher.size > 0 ? std::to_string(launcher.size) : "?"),
        start_limit_s);
    // Nothing shares a file pointer here, and this component of Open MPI 4.1.4 writes the path of each
    // file that is opened, and more, into 256 bytes.
    setenv("OMPI_MCA_sharedfp", "^lockedfile", 0);
    int provided = MPI_THREAD_SINGLE;
    if (MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS) {
      core::fail("MPI_Init_thread failed", core::Exit::environment);
    }
    QUAD_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    QUAD_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    guard->join_ranks();
    if (provided < MPI_THREAD_MULTIPLE) {
      core::fail("MPI gives no MPI_THREAD_MULTIPLE; use an MPI library built with it",
                 core::Exit::environment);
    }
  }
  ~Mpi() {
    node = {};
    MPI_Finalize();
  }

  std::unique_ptr<JobGuard> guard;
  Group node;  ///< the ranks that share this node's memory
};

World::World(int& argc, char**& argv, double start_limit_s)
    : launcher_{read_launcher()},
      mpi_{std::make_unique<Mpi>(argc, argv, launcher_, start_limit_s)} {
  MPI_Comm comm = MPI_COMM_NULL;
  QUAD_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  group_ = make_group(comm);

  QUAD_MPI(MPI_Comm_split_type(handle(group_), MPI_COMM_TYPE_SHARED, rank(), MPI_INFO_NULL, &comm));
  mpi_->node = make_group(comm);
  nodes_ = static_cast<int>(group_.sum(std::int64_t{mpi_->node.rank() == 0}));
  std::vector<std::string> const names = group_.all_gather(host_name());
  auto const same_name = std::count(names.begin(), names.end(), host_name());
  bool const odd = same_name != mpi_->node.size();
  if (group_.agree(odd) == rank()) {
    core::print_error(
        "warning: {} ranks share the memory of {}, but {} ranks carry its name; local ranks "
        "follow the memory\n",
        mpi_->node.size(), host_name(), same_name);
  }
}

World::~World() {
  enter_phase("end", settings_.timeout.init_s);
  // Nobody's transport may end while a peer still needs its messages.
  group_.barrier();
}

std::string World::singleton_error() const { return singleton_error_of(launcher_, size()); }

void World::require_launcher() const {
  std::string const why = singleton_error();
  if (why.empty()) return;
  // Every task of the launcher stands here alone, so MPI cannot choose who speaks.
  if (launcher_.rank > 0) {
    std::this_thread::sleep_for(std::chrono::seconds{2});
    JobGuard::leave(core::Exit::environment);
  }
  core::fail(why, core::Exit::environment);
}

std::string World::choose_devices(core::RunSettings const& settings) {
  settings_ = settings;
  gpu_.reset();
  if (settings.device == core::DeviceChoice::host) return {};
  std::string why;
  int const count = device::cuda_device_count(&why);
  bool const is_automatic = settings.device == core::DeviceChoice::automatic;
  // All or none: ranks that differ in kind would make every rate a mixture.
  bool const has_any = group_.max(std::int64_t{count}) > 0;
  if (is_automatic && !has_any && settings.device_map.empty()) return {};

  std::string uuid;
  if (count > 0) {
    std::vector<GpuName> visible;
    for (int i = 0; i < count; ++i) {
      device::Facts const facts = device::cuda_device_facts(i);
      visible.push_back({facts.uuid, facts.pci});
    }
    core::Parsed<int> const chosen =
        choose_gpu(settings, visible, mpi_->node.rank(), mpi_->node.size());
    if (chosen) {
      device::Facts const facts = device::cuda_device_facts(*chosen);
      uuid = facts.uuid;
      why = device::missing_code_reason(facts);
      if (why.empty()) gpu_ = *chosen;
    } else {
      why = chosen.why();
    }
  } else if (is_automatic && has_any) {
    why = "sees no GPU while others do; give every task a GPU or set run.device = \"host\"";
  } else {
    why = fmt::format("no usable GPU for {}: {}; set run.device = \"host\"{}",
                      settings.device_map.empty() ? "device \"cuda\"" : "device_map", why,
                      settings.device_map.empty() ? "" : " and leave out the map");
  }
  int const first = group_.agree(!gpu_);
  if (first < 0) return settings.allow_shared_gpu ? "" : shared_gpu_problem(group_, uuid);
  group_.broadcast(why, first);
  return fmt::format("rank {}: {}", first, why);
}

void World::open(core::RunSettings const& settings) {
  std::string const problem = choose_devices(settings);
  if (!problem.empty()) core::fail(problem, core::Exit::environment);
  Group const& node = mpi_->node;
  std::string const cpus = device::usable_cpus();
  CpuShare const share = cpu_share(node, cpus);
  int const threads = choose_threads(share);
  split_nodes(settings.fake_nodes);

  Placement mine;
  mine.rank = rank();
  mine.node = host_name();
  if (settings.fake_nodes > 1) mine.node += fmt::format(" (fake {})", node_ % settings.fake_nodes);
  mine.local_rank = node.rank();
  mine.local_size = node.size();
  mine.cpus = cpus;
  mine.threads = threads;
  mine.cores = share.cores;
  mine.cpu_quota = share.quota;
  kokkos_ = std::make_unique<device::KokkosRuntime>(threads, gpu_);
  device_ = gpu_ ? device::make_cuda_device(*gpu_) : device::make_host_device(threads);
  mine.device = device_->facts().name;
  mine.uuid = gpu_ ? device_->facts().uuid : "";
  mine.pci = device_->facts().pci;
  mine.numa = device_->facts().numa_node;
  mine.free_memory = static_cast<std::int64_t>(device_->free_memory());
  if (gpu_) mine.settings = device::line_of(device_->settings());

  placements_.clear();
  for (std::string const& text : group_.all_gather(pack(mine))) placements_.push_back(unpack(text));
  compute_ = device::Stream{*device_, "compute"};
  communicate_ = device::Stream{*device_, "communicate", device::Priority::high};
}

void World::split_nodes(std::int64_t parts) {
  Group const& node = mpi_->node;
  std::int64_t const fewest = -group_.max(std::int64_t{-node.size()});
  if (parts > fewest) {
    core::fail(
        fmt::format("run.fake_nodes = {}: there are nodes with {} rank{}; give no more parts",
                    parts, fewest, fewest == 1 ? "" : "s"),
        core::Exit::bad_config);
  }
  auto const part = static_cast<int>(node.rank() * parts / node.size());
  node_group_ = node.split(part, node.rank());
  std::tie(nodes_, node_) = number_nodes(group_, node_group_);
}

std::string World::trial_problem(TransportEntry const& entry) const {
  auto const [place, is_first] = trial_problems_.try_emplace(&entry);
  if (is_first) place->second = entry.trial(*this);
  return place->second;
}

Transport& World::transport(std::string_view name, double throttle, std::int64_t max_ctas) {
  TransportEntry const& entry = transport_entry(name, throttle);
  TransportOptions const options{.chunk_bytes = static_cast<std::size_t>(settings_.chunk_bytes),
                                 .throttle = throttle,
                                 .max_ctas = entry.limits_ctas ? static_cast<int>(max_ctas) : 0};
  for (Connected const& known : transports_) {
    bool const is_same = known.entry == &entry && known.throttle == throttle &&
                         known.max_ctas == options.max_ctas && known.fault == fault_;
    if (is_same) return *known.transport;
  }
  std::unique_ptr<Transport> made = make_transport(entry.name, *this, options);
  if (fault_ != MessageFault::none) {
    made = make_faulty(std::move(made), fault_, *device_, options.chunk_bytes);
  }
  transports_.push_back({&entry, throttle, options.max_ctas, fault_, std::move(made)});
  return *transports_.back().transport;
}

double World::free_host_memory() const {
  return static_cast<double>(device::available_host_memory());
}

void World::on_abort(std::string const& folder, std::function<void()> last_words) {
  mpi_->guard->on_abort(folder, std::move(last_words));
}

void World::on_failure(std::function<core::Exit(std::string const&)> instead) {
  mpi_->guard->on_failure(std::move(instead));
}

void World::abandon(core::Exit code) { JobGuard::abandon(code); }

void World::finish() { mpi_->guard->finish(); }

void World::enter_phase(std::string phase, double limit_s) {
  mpi_->guard->enter_phase(std::move(phase), limit_s);
}

bool World::interrupted() const { return group_.max(std::int64_t{JobGuard::signalled()}) > 0; }

World::Part::Part(World& world, std::vector<int> const& ranks)
    : world_{world}, group_{world.group_.subset(ranks)} {
  node_group_ = group_.split(world.node_, group_.rank());
  std::tie(nodes_, node_) = number_nodes(group_, node_group_);
  for (int const rank : ranks) {
    Placement& place = placements_.emplace_back(world.placements_[static_cast<std::size_t>(rank)]);
    place.rank = static_cast<int>(placements_.size()) - 1;
  }
  swap();
}

World::Part::~Part() {
  // Nobody's transport may end while a peer still needs its messages.
  world_.group_.barrier();
  swap();
}

void World::Part::swap() {
  std::swap(group_, world_.group_);
  std::swap(nodes_, world_.nodes_);
  std::swap(node_group_, world_.node_group_);
  std::swap(node_, world_.node_);
  std::swap(transports_, world_.transports_);
  std::swap(trial_problems_, world_.trial_problems_);
  std::swap(placements_, world_.placements_);
}

}  // namespace quadrille::comm

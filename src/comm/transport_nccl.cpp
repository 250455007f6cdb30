// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/machine.hpp"
#include "comm/nccl_communicator.hpp"
#include "comm/transport.hpp"
#include "core/error.hpp"

#include <fmt/format.h>

#ifdef QUADRILLE_NCCL
#include "comm/mpi_handle.hpp"
#include "comm/world.hpp"
#include "common/ordered_bits.hpp"
#include "device/cuda/library.hpp"
#include "device/cuda/stream.hpp"

#include <nccl.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <numeric>
#include <stop_token>
#include <thread>
#include <vector>
#endif

namespace quadrille::comm {
namespace {

#ifdef QUADRILLE_NCCL

/// Messages of the ring: small enough that a chain of ranks forwards while it receives.
constexpr std::size_t kRingChunk = 4UL << 20;
constexpr auto kPollEvery = std::chrono::milliseconds{200};

/// The functions of NCCL, found when the first transport is made.
class Nccl {
 public:
  Nccl() : library_{{"libnccl.so.2"}} {}
  std::string const& why_absent() const { return library_.why_absent(); }
  template <class Function>
  Function* get(char const* name) const {
    return library_.get<Function>(name);
  }

 private:
  device::Library library_;
};

Nccl const& nccl() {
  static Nccl const library;
  return library;
}

/// Calls ncclName(arguments...) and ends the job when it fails. Looks each function up once: a search
/// takes as long as a tenth of a short exchange.
#define QUAD_NCCL(name, ...)                                     \
  do {                                                           \
    static auto* const call = nccl().get<decltype(name)>(#name); \
    check_nccl(call(__VA_ARGS__), #name);                        \
  } while (false)

void check_nccl(ncclResult_t status, char const* call,
                std::source_location where = std::source_location::current()) {
  if (status == ncclSuccess) return;
  std::string const last = nccl().get<decltype(ncclGetLastError)>("ncclGetLastError")(nullptr);
  core::fail(fmt::format("{}: {}{}{}; NCCL_DEBUG=WARN in the environment shows more", call,
                         nccl().get<decltype(ncclGetErrorString)>("ncclGetErrorString")(status),
                         last.empty() ? "" : ": ", last),
             core::Exit::runtime, where);
}

ncclDataType_t nccl_type(core::DataType type) {
  switch (type) {
    case core::DataType::f64: return ncclFloat64;
    case core::DataType::f32: return ncclFloat32;
    case core::DataType::i64: return ncclInt64;
    case core::DataType::i32: return ncclInt32;
    case core::DataType::f16: return ncclFloat16;
    case core::DataType::bf16: return ncclBfloat16;
    default: return ncclNumTypes;  // Channel lets no other come here
  }
}

/// Calls of one group are launched as one kernel, in which messages travel side by side.
class NcclGroup {
 public:
  NcclGroup() { QUAD_NCCL(ncclGroupStart); }
  ~NcclGroup() { QUAD_NCCL(ncclGroupEnd); }
  NcclGroup(NcclGroup const&) = delete;
  NcclGroup& operator=(NcclGroup const&) = delete;
};

std::byte* advance(void* p, std::size_t bytes) { return static_cast<std::byte*>(p) + bytes; }
std::byte const* advance(void const* p, std::size_t bytes) {
  return static_cast<std::byte const*>(p) + bytes;
}

/// True when the pieces are equally long and follow each other, as NCCL's own calls want them.
template <class P>
bool is_even_run(std::span<P const> pieces) {
  for (std::size_t i = 1; i < pieces.size(); ++i) {
    if (pieces[i].bytes != pieces[0].bytes) return false;
    if (pieces[i].data != advance(pieces[0].data, i * pieces[0].bytes)) return false;
  }
  return true;
}

class NcclTransport;

/// Minimum and maximum keep a NaN, and broadcasts may go round a ring; or NCCL's own calls, always on the
/// caller's stream. NCCL counts in 64 bits: no message is cut.
enum class Calls { arranged, plain };

/// Collective. With `max_ctas` above 0 its kernels have at most so many thread blocks.
ncclComm_t make_communicator(Group const& group, int max_ctas = 0) {
  ncclUniqueId id{};
  if (group.rank() == 0) QUAD_NCCL(ncclGetUniqueId, &id);
  std::string text{id.internal, sizeof id.internal};
  group.broadcast(text);
  std::memcpy(id.internal, text.data(), sizeof id.internal);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  if (max_ctas > 0) config.maxCTAs = max_ctas;
  ncclComm_t made = nullptr;
  // A peer that never comes is the business of the phase's time limit.
  QUAD_NCCL(ncclCommInitRankConfig, &made, group.size(), id, group.rank(), &config);
  return made;
}

/// What all channels over the same ranks share.
struct Communicator {
  std::vector<int> members;  ///< ranks in MPI_COMM_WORLD, in the order of the group
  ncclComm_t handle = nullptr;
};

class NcclChannel final : public Channel {
 public:
  NcclChannel(NcclTransport& transport, Communicator const& communicator, int rank, Order order);

 private:
  void do_broadcast(Piece data, int root, Broadcast algorithm) override {
    if (algorithm == Broadcast::ring && calls_ == Calls::arranged) return ring(data, root);
    if (data.bytes == 0) return;
    QUAD_NCCL(ncclBroadcast, data.data, data.data, data.bytes, ncclInt8, root, comm_, queue());
  }

  void do_allreduce(ConstPiece in, Piece out, core::DataType type, ReduceOp op) override {
    if (!is_ordered(type, op)) return reduce_all(in, out, nccl_type(type), op);
    std::int64_t const n = elements(in.bytes, type);
    to_ordered(in.data, out.data, n, type, op);
    reduce_all(out, out, integer_of(type), op);
    kernels::from_ordered_bits(out.data, n, type, last_stream());
  }

  void do_reduce_scatter(std::span<ConstPiece const> parts, Piece out, core::DataType type,
                         ReduceOp op) override {
    if (!is_ordered(type, op)) return scatter_reduced(parts, out, nccl_type(type), type, op);
    Piece const run = reserve(total_of(parts));
    std::vector<ConstPiece> ordered;
    std::size_t first = 0;
    for (ConstPiece const& part : parts) {
      std::byte* const to = advance(run.data, first);
      to_ordered(part.data, to, elements(part.bytes, type), type, op);
      ordered.push_back({to, part.bytes});
      first += part.bytes;
    }
    scatter_reduced(ordered, out, integer_of(type), type, op);
    kernels::from_ordered_bits(out.data, elements(out.bytes, type), type, last_stream());
  }

  void do_allgather(ConstPiece mine, std::span<Piece const> all) override {
    if (is_even_run(all)) {
      if (mine.bytes == 0) return;
      QUAD_NCCL(ncclAllGather, mine.data, all[0].data, mine.bytes, ncclInt8, comm_, queue());
      return;
    }
    NcclGroup const group;
    for (int root = 0; root < size(); ++root) {
      Piece const place = all[index(root)];
      if (place.bytes == 0) continue;
      void const* const from = rank() == root ? mine.data : place.data;
      QUAD_NCCL(ncclBroadcast, from, place.data, place.bytes, ncclInt8, root, comm_, queue());
    }
  }

  void do_alltoallv(std::span<ConstPiece const> send, std::span<Piece const> receive) override {
    NcclGroup const group;
    // The partner at distance d differs from rank to rank, so no rank gets all first messages. What
    // a rank has for itself travels with the rest: a copy behind them would take as long again.
    bool const is_in_place = send[index(rank())].data == receive[index(rank())].data;
    for (int d = is_in_place ? 1 : 0; d < size(); ++d) {
      int const to = (rank() + d) % size();
      int const from = (rank() + size() - d) % size();
      exchange(send[index(to)], to, receive[index(from)], from);
    }
  }

  void do_sendrecv(ConstPiece send, int to, Piece receive, int from) override {
    if (to == rank()) return copy_own(receive, send);
    NcclGroup const group;
    exchange(send, to, receive, from);
  }

  static std::int64_t elements(std::size_t bytes, core::DataType type) {
    return static_cast<std::int64_t>(bytes / core::size_of(type));
  }

  // NCCL's minimum and maximum of floats may drop a NaN; those of integers in the same order
  // cannot.
  bool is_ordered(core::DataType type, ReduceOp op) const {
    bool const is_float = type == core::DataType::f64 || type == core::DataType::f32;
    return calls_ == Calls::arranged && op != ReduceOp::sum && is_float;
  }
  static ncclDataType_t integer_of(core::DataType type) {
    return type == core::DataType::f64 ? ncclUint64 : ncclUint32;
  }
  void to_ordered(void const* in, void* out, std::int64_t n, core::DataType type, ReduceOp op) {
    kernels::to_ordered_bits(
        in, out, n, type,
        op == ReduceOp::max ? kernels::NanOrder::largest : kernels::NanOrder::smallest,
        last_stream());
  }
  static ncclRedOp_t nccl_op(ReduceOp op) {
    return op == ReduceOp::sum ? ncclSum : op == ReduceOp::min ? ncclMin : ncclMax;
  }
  static std::size_t width_of(ncclDataType_t type) {
    if (type == ncclFloat16 || type == ncclBfloat16) return 2;
    return type == ncclFloat64 || type == ncclInt64 || type == ncclUint64 ? 8 : 4;
  }

  /// In step s a rank receives chunk s and forwards chunk s - 1; the root sends chunk s.
  void ring(Piece data, int root) {
    std::size_t const chunks = (data.bytes + kRingChunk - 1) / kRingChunk;
    int const place = (rank() - root + size()) % size();
    bool const receives = place > 0;
    bool const sends = place < size() - 1;
    auto const part = [&](std::size_t c) {
      std::size_t const first = c * kRingChunk;
      return std::pair{advance(data.data, first), std::min(kRingChunk, data.bytes - first)};
    };
    for (std::size_t step = 0; step <= chunks; ++step) {
      NcclGroup const group;
      if (receives && step < chunks) {
        auto const [to, bytes] = part(step);
        QUAD_NCCL(ncclRecv, to, bytes, ncclInt8, previous(rank()), comm_, queue());
      }
      std::size_t const sent = receives ? step - 1 : step;  // wraps at step 0: nothing yet
      if (sends && sent < chunks) {
        auto const [from, bytes] = part(sent);
        QUAD_NCCL(ncclSend, from, bytes, ncclInt8, next(rank()), comm_, queue());
      }
    }
  }

  void reduce_all(ConstPiece in, Piece out, ncclDataType_t type, ReduceOp op) {
    if (in.bytes == 0) return;
    QUAD_NCCL(ncclAllReduce, in.data, out.data, in.bytes / width_of(type), type, nccl_op(op), comm_,
              queue());
  }

  void scatter_reduced(std::span<ConstPiece const> parts, Piece out, ncclDataType_t element,
                       core::DataType type, ReduceOp op) {
    std::size_t const width = core::size_of(type);
    if (is_even_run(parts)) {
      if (out.bytes == 0) return;
      QUAD_NCCL(ncclReduceScatter, parts[0].data, out.data, out.bytes / width, element, nccl_op(op),
                comm_, queue());
      return;
    }
    // The output may be any of the parts: only the owner's reduction writes it, and NCCL reads
    // each part in the same kernel that writes it in place.
    for (int root = 0; root < size(); ++root) {
      ConstPiece const part = parts[index(root)];
      if (part.bytes == 0) continue;
      QUAD_NCCL(ncclReduce, part.data, rank() == root ? out.data : nullptr, part.bytes / width,
                element, nccl_op(op), root, comm_, queue());
    }
  }

  void exchange(ConstPiece send, int to, Piece receive, int from) {
    if (send.bytes > 0) QUAD_NCCL(ncclSend, send.data, send.bytes, ncclInt8, to, comm_, queue());
    if (receive.bytes > 0) {
      QUAD_NCCL(ncclRecv, receive.data, receive.bytes, ncclInt8, from, comm_, queue());
    }
  }

  cudaStream_t queue() const { return device::cuda_stream(last_stream()); }

  Calls calls_;
  ncclComm_t comm_;
};

/// One stream for all channels with streams of the transport: kernels of two communicators that start
/// in different orders on two GPUs can wait for each other for ever, and in one stream they start in
/// the order of the calls. Who has several channels in line gives all their exchanges the same stream.
class NcclTransport final : public Transport {
 public:
  NcclTransport(device::Device& device, TransportOptions const& options, Calls calls)
      : calls_{calls},
        max_ctas_{options.max_ctas},
        stream_{device, "nccl", device::Priority::high} {
    poll_ = std::jthread{[this](std::stop_token stop) { poll(stop); }};
  }

  ~NcclTransport() override {
    poll_ = {};
    stream_.view().synchronize();
    // In the order of creation, which is the same on every rank.
    for (auto const& one : communicators_) QUAD_NCCL(ncclCommDestroy, one->handle);
  }

  Calls calls() const { return calls_; }
  device::StreamView stream() const { return stream_.view(); }

 private:
  std::unique_ptr<Channel> do_connect(Group const& group, Order order) override {
    return std::make_unique<NcclChannel>(*this, communicator(group), group.rank(), order);
  }

  Communicator const& communicator(Group const& group) {
    std::vector<int> const members = world_ranks(group);
    for (auto const& known : communicators_) {
      if (known->members == members) return *known;
    }
    auto made = std::make_unique<Communicator>();
    made->members = members;
    made->handle = make_communicator(group, max_ctas_);
    std::lock_guard const lock{mutex_};
    communicators_.push_back(std::move(made));
    return *communicators_.back();
  }

  static std::vector<int> world_ranks(Group const& group) {
    MPI_Group mine = MPI_GROUP_NULL;
    MPI_Group world = MPI_GROUP_NULL;
    QUAD_MPI(MPI_Comm_group(handle(group), &mine));
    QUAD_MPI(MPI_Comm_group(MPI_COMM_WORLD, &world));
    std::vector<int> own(index(group.size()));
    std::vector<int> global(own.size());
    std::iota(own.begin(), own.end(), 0);
    QUAD_MPI(MPI_Group_translate_ranks(mine, group.size(), own.data(), world, global.data()));
    QUAD_MPI(MPI_Group_free(&mine));
    QUAD_MPI(MPI_Group_free(&world));
    return global;
  }

  /// A lost link or a failed peer is noticed here, while the host waits for the stream.
  void poll(std::stop_token const& stop) {
    std::unique_lock lock{mutex_};
    while (!stop.stop_requested()) {
      for (auto const& one : communicators_) {
        ncclResult_t state = ncclSuccess;
        QUAD_NCCL(ncclCommGetAsyncError, one->handle, &state);
        if (state != ncclInProgress) check_nccl(state, "an NCCL exchange");
      }
      wake_.wait_for(lock, stop, kPollEvery, [] { return false; });
    }
  }

  Calls calls_;
  int max_ctas_;
  device::Stream stream_;
  std::vector<std::unique_ptr<Communicator>> communicators_;
  std::mutex mutex_;  ///< of communicators_
  std::condition_variable_any wake_;
  std::jthread poll_;
};

NcclChannel::NcclChannel(NcclTransport& transport, Communicator const& communicator, int rank,
                         Order order)
    : Channel{transport.stream().device(), rank, static_cast<int>(communicator.members.size())},
      calls_{transport.calls()},
      comm_{communicator.handle} {
  if (calls_ == Calls::arranged && order == Order::own_streams) run_on({transport.stream()});
}

std::string why_absent() {
  std::string why = nccl().why_absent();
  if (why.empty() && device::cuda_device_count(&why) > 0) return {};
  return why;
}

template <Calls kCalls>
std::unique_ptr<Transport> make(World const& world, TransportOptions const& options) {
  return std::make_unique<NcclTransport>(world.device(), options, kCalls);
}

#else

std::string why_absent() { return "built without CUDA or NCCL; configure where both are found"; }

#endif

std::string unavailable_reason(Machine const* machine) {
  std::string why = machine == nullptr || machine->is_here() ? why_absent() : "";
  if (machine == nullptr || !why.empty()) return why;
  if (auto const pair = sharing_a_gpu(machine->placements())) {
    return fmt::format("ranks {} and {} share one GPU; NCCL serves one rank for each", pair->first,
                       pair->second);
  }
  return {};
}

}  // namespace

std::string NcclCommunicator::unavailable_reason(Machine const* machine) {
  return comm::unavailable_reason(machine);
}

#ifdef QUADRILLE_NCCL

NcclCommunicator::NcclCommunicator(Group const& group) : handle_{make_communicator(group)} {}
NcclCommunicator::~NcclCommunicator() {
  QUAD_NCCL(ncclCommDestroy, static_cast<ncclComm_t>(handle_));
}

#else

NcclCommunicator::NcclCommunicator(Group const&) {
  core::fail(comm::unavailable_reason(nullptr), core::Exit::environment);
}
NcclCommunicator::~NcclCommunicator() = default;

#endif

/// NCCL, on one stream of its own or in line: exchanges of all its channels travel in the order of the
/// calls, which must be the same on every rank.
extern constinit TransportEntry const nccl_transport{
    .name = "nccl",
    .summary = "NCCL, on a stream of its own or in line, one GPU for each rank",
    .is_selectable = true,
    .moves_gpu = true,
    .limits_ctas = true,
    .uses_kernels = true,
    .runs_on_caller_stream = true,
    .preference = 2,
    .unavailable_reason = unavailable_reason,
#ifdef QUADRILLE_NCCL
    .make = make<Calls::arranged>,
#endif
};

/// NCCL as a program without this one would call it: the library line beside ours.
extern constinit TransportEntry const nccl_plain_transport{
    .name = "nccl_plain",
    .summary = "NCCL's own calls, whole, on the stream of the caller",
    .moves_gpu = true,
    .uses_kernels = true,
    .drops_nan = true,
    .unavailable_reason = unavailable_reason,
#ifdef QUADRILLE_NCCL
    .make = make<Calls::plain>,
#endif
};

}  // namespace quadrille::comm

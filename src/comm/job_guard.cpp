// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/job_guard.hpp"

#include "comm/mpi_handle.hpp"
#include "core/process.hpp"
#include "core/text.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <random>
#include <semaphore>
#include <tuple>
#include <utility>

namespace quadrille::comm {
namespace {

// Handlers of signals and of std::terminate take no argument, so what they touch lives here.
std::atomic<JobGuard*> g_guard{nullptr};
volatile std::sig_atomic_t g_exit_code = 0;
std::atomic<bool> g_signalled{false};
static_assert(std::atomic<bool>::is_always_lock_free, "signal handlers need a lock-free flag");
// One of POSIX below, which a handler of signals may post: once for each signal.
std::counting_semaphore<> g_signals{0};

constexpr unsigned kLastWordsSeconds = 5;
constexpr std::array kSignals{SIGTERM, SIGINT, SIGUSR1};
// Open MPI's mpirun ends its ranks a second after it was told to.
constexpr std::chrono::milliseconds kTableDelay{400};
// Slurm waits for half a minute between TERM and KILL.
constexpr std::chrono::seconds kSignalGrace{10};

void note_signal(int) {
  g_signalled.store(true);
  g_signals.release();
}
void leave_now(int) { _exit(g_exit_code); }

void handle_failure(core::Failure const& failure) {
  if (JobGuard* guard = g_guard.load()) guard->end_job(failure);
}

// The process that none but this program may end; 0: none. A library that lacks something ends it itself,
// Open MPI by _exit(1), GNU OpenMP by exit(1), which is the code of a wrong result.
std::atomic<pid_t> g_guarded_process{0};
std::atomic<bool> g_has_joined{false};

void fail_if_guarded() {
  pid_t const self = getpid();  // others are children of the library
  if (g_guarded_process.load() != self) return;
  core::fail(
      fmt::format("{}, see above; often the limits of open files (ulimit -n), of processes (ulimit "
                  "-u), of the stack (ulimit -s) or of memory (ulimit -v) are too low, or TMPDIR "
                  "takes no files",
                  g_has_joined ? "a library ended this process" : "MPI does not start"),
      core::Exit::environment);
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(signal, &action, nullptr);
}

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

/// Who of the ranks that see a path has created it first; none: its folder is not there.
enum class Ticket { none, ours, of_others };
Ticket take_ticket(std::string const& path) {
  bool const is_new = open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600) >= 0;
  if (!is_new && errno == EEXIST) return Ticket::of_others;
  return !is_new && errno == ENOENT ? Ticket::none : Ticket::ours;
}

/// Whether no other process that this one's parent started has said it before; while this one lives.
/// Before MPI nothing else joins the ranks of a node.
bool speaks_before_others() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // The first character stays 0: a name that is in no file system and ends with the process.
  std::string const name = fmt::format("quadrille-start-{}", getppid());
  name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
  auto const size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  int const descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  bool const is_taken = bind(descriptor, reinterpret_cast<sockaddr const*>(&address), size) != 0 &&
                        errno == EADDRINUSE;
  return !is_taken;
}

}  // namespace

JobGuard::JobGuard(std::string const& rank, double limit_s)
    : rank_of_size_{fmt::format("rank {} on {}", rank, host_name())}, limit_s_{limit_s} {
  g_guard.store(this);
  core::set_fail_handler(handle_failure);
  std::set_terminate(core::fail_on_exception);
  watchdog_ = std::thread{[this] { watch(); }};
  g_guarded_process = getpid();
}

void JobGuard::join_ranks() {
  g_has_joined = true;
  // From now on there is something to keep; before, a signal ends this rank.
  for (int const signal : kSignals) handle(signal, note_signal);
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::uint64_t token =
      rank == 0 ? std::uint64_t{std::random_device{}()} << 32 | std::random_device{}() : 0;
  MPI_Bcast(&token, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  std::string folder = "/tmp";
  // The last that takes files: a launcher's own is removed with the job.
  for (char const* const name : {"TMPDIR", "PMIX_SERVER_TMPDIR"}) {
    char const* const value = std::getenv(name);
    if (value != nullptr && *value != '\0' && access(value, W_OK) == 0) folder = value;
  }
  token_ = fmt::format("{:016x}", token);
  std::string rank_of_size = fmt::format("rank {}/{} on {}", rank, size, host_name());
  std::string ticket = fmt::format("{}/quadrille-failed-{}", folder, token_);
  {
    std::lock_guard const lock{mutex_};
    rank_of_size_ = std::move(rank_of_size);
    ticket_ = std::move(ticket);
    rank_ = rank;
  }
  signal_watch_ = std::thread{[this] { watch_signals(); }};
}

JobGuard::~JobGuard() {
  g_guarded_process = 0;
  {
    std::lock_guard const lock{mutex_};
    stop_ = true;
  }
  changed_.notify_all();
  g_signals.release();
  watchdog_.join();
  if (signal_watch_.joinable()) signal_watch_.join();
  for (int const signal : kSignals) std::signal(signal, SIG_DFL);
  core::set_fail_handler(nullptr);
  g_guard.store(nullptr);
}

void JobGuard::enter_phase(std::string phase, double limit_s) {
  {
    std::lock_guard const lock{mutex_};
    phase_ = std::move(phase);
    limit_s_ = limit_s;
    entered_ = std::chrono::steady_clock::now();
  }
  changed_.notify_all();
}

void JobGuard::on_abort(std::string const& folder, std::function<void()> last_words) {
  std::string ticket = folder.empty() ? "" : fmt::format("{}/{}{}", folder, kTicket, token_);
  std::scoped_lock const lock{speaking_, mutex_};  // what speaks now may use what goes
  shared_ticket_ = std::move(ticket);
  last_words_ = std::move(last_words);
}

void JobGuard::on_failure(std::function<core::Exit(std::string const&)> instead) {
  std::lock_guard const lock{mutex_};
  instead_ = std::move(instead);
}

void JobGuard::abandon(core::Exit code) {
  g_guarded_process = 0;
  g_exit_code = static_cast<int>(code);
  handle(SIGALRM, leave_now);
  alarm(1);
  MPI_Abort(MPI_COMM_WORLD, static_cast<int>(code));
  _exit(static_cast<int>(code));
}

void JobGuard::finish() { is_finishing_ = true; }

bool JobGuard::signalled() { return g_signalled.load(); }

void JobGuard::watch() {
  std::unique_lock lock{mutex_};
  while (!stop_) {
    if (!(limit_s_ > 0)) {
      changed_.wait(lock);
      continue;
    }
    std::chrono::duration<double> const limit{limit_s_};
    auto const deadline =
        entered_ + std::chrono::duration_cast<std::chrono::steady_clock::duration>(limit);
    if (std::chrono::steady_clock::now() < deadline) {
      changed_.wait_until(lock, deadline);
      continue;
    }
    lock.unlock();
    core::fail(
        fmt::format("no end after {:g} s; this rank reports, the culprit may be another: look for "
                    "the rank that is still computing, or raise the limit of this phase",
                    limit.count()),
        core::Exit::timeout);
  }
}

void JobGuard::watch_signals() {
  auto const sleep_until = [&](std::chrono::steady_clock::time_point end) {
    while (!stop_ && std::chrono::steady_clock::now() < end) {
      std::ignore = g_signals.try_acquire_until(end);
    }
  };
  while (!stop_ && !signalled()) g_signals.acquire();
  sleep_until(std::chrono::steady_clock::now() + kTableDelay);
  if (stop_) return;
  // What runs may not see the signal in time to show it; what writes its end shows all of it.
  if (rank_ == 0 && !has_failed() && !is_finishing_) say_last_words();
  // Nor at all. Of several ranks that got the signal the first one speaks.
  std::chrono::milliseconds const turn{rank_ == 0 ? 0 : 1000};
  bool const is_again = g_signals.try_acquire_for(kSignalGrace + turn);
  while (!stop_ && is_finishing_) g_signals.acquire();
  if (is_again) sleep_until(std::chrono::steady_clock::now() + turn);
  if (stop_) return;
  core::fail("a signal ends the job, since this phase takes no notice; finished cases are kept",
             core::Exit::interrupted);
}

bool JobGuard::has_failed() {
  std::lock_guard const lock{mutex_};
  return access(ticket_.c_str(), F_OK) == 0 ||
         (!shared_ticket_.empty() && access(shared_ticket_.c_str(), F_OK) == 0);
}

void JobGuard::say_last_words() {
  std::lock_guard const one_at_a_time{speaking_};
  std::unique_lock lock{mutex_};
  std::function<void()> const last_words = std::exchange(last_words_, {});
  lock.unlock();
  if (last_words) last_words();
}

void JobGuard::leave(core::Exit code) {
  g_guarded_process = 0;
  _exit(static_cast<int>(code));
}

void JobGuard::end_job(core::Failure const& failure) {
  g_guarded_process = 0;
  int const code = static_cast<int>(failure.code) & 0x7f;
  std::string phase, rank, path, shared_path;
  std::function<core::Exit(std::string const&)> instead;
  {
    std::lock_guard const lock{mutex_};
    phase = phase_;
    rank = rank_of_size_;
    path = ticket_;
    shared_path = shared_ticket_;
    instead = std::exchange(instead_, {});
  }
  std::string const told =
      fmt::format("{}, phase '{}': {}", rank, phase, core::one_line(failure.what));
  if (instead) abandon(instead(told));
  bool const has_joined = !path.empty();
  Ticket const of_node = has_joined               ? take_ticket(path)
                         : speaks_before_others() ? Ticket::ours
                                                  : Ticket::of_others;
  // Of a node the first one alone asks the others.
  bool const is_first_of_node = of_node != Ticket::of_others;
  Ticket const of_job =
      is_first_of_node && !shared_path.empty() ? take_ticket(shared_path) : Ticket::ours;
  if (!is_first_of_node || of_job == Ticket::of_others) {
    // Somebody else speaks, and the launcher ends this rank meanwhile, or it ends by itself.
    bool const is_signalled = sleep(kLastWordsSeconds + 1) > 0 || signalled();
    if (is_signalled) _exit(code);
    if (rank_ != 0 || !has_joined) {
      sleep(kLastWordsSeconds);
      _exit(code);
    }
    // Still there: who speaks is on a node that the launcher hears no longer.
  }
  core::print_error("FATAL {}{}\n", told, core::shown_place(failure.where));
  if (!has_joined) {
    sleep(1);     // others reach their limits at about the same time
    _exit(code);  // the launcher ends them
  }
  // Either may wait for a lock that a hanging thread holds.
  g_exit_code = code;
  handle(SIGALRM, leave_now);
  alarm(kLastWordsSeconds);
  // A node that does not see the folder does not know what finished.
  if (of_job != Ticket::none || rank_ == 0) say_last_words();
  alarm(1);
  MPI_Abort(MPI_COMM_WORLD, code);
  _exit(code);
}

}  // namespace quadrille::comm

// In place of the C library's: a library that ends the process so cannot be noticed otherwise, or only
// once what was static is destroyed. The end of main() calls neither.
extern "C" {
void _exit(int code) {
  quadrille::comm::fail_if_guarded();
  for (;;) syscall(SYS_exit_group, code);
}
void exit(int code) noexcept {
  quadrille::comm::fail_if_guarded();
  auto* const next = reinterpret_cast<decltype(&exit)>(dlsym(RTLD_NEXT, "exit"));
  for (;;) next(code);
}
}  // extern "C"

// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/job_guard.hpp"

#include "comm/mpi_handle.hpp"
#include "comm/signal_watch.hpp"
#include "core/process.hpp"
#include "core/text.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
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
#include <string_view>

namespace quadrille::comm {
namespace {

// Handlers of signals and of std::terminate take no argument, so what they touch lives here.
std::atomic<JobGuard*> g_guard{nullptr};
volatile std::sig_atomic_t g_exit_code = 0;
std::atomic<bool> g_signalled{false};
static_assert(std::atomic<bool>::is_always_lock_free, "signal handlers need a lock-free flag");

constexpr unsigned kLastWordsSeconds = 5;
constexpr std::array kSignals{SIGTERM, SIGINT, SIGUSR1};

void note_signal(int) {
  g_signalled.store(true);
  SignalWatch::wake();
}
void leave_now(int) { _exit(g_exit_code); }

void on_failure(core::Failure const& failure) {
  if (JobGuard* guard = g_guard.load()) guard->end_job(failure);
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
  core::set_fail_handler(on_failure);
  std::set_terminate(core::fail_on_exception);
  watchdog_ = std::thread{[this] { watch(); }};
}

void JobGuard::join_ranks() {
  // From now on there is something to keep; before, a signal ends this rank.
  for (int const signal : kSignals) handle(signal, note_signal);
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::uint64_t token =
      rank == 0 ? std::uint64_t{std::random_device{}()} << 32 | std::random_device{}() : 0;
  MPI_Bcast(&token, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  char const* folder = std::getenv("TMPDIR");
  std::lock_guard const lock{mutex_};
  rank_of_size_ = fmt::format("rank {}/{} on {}", rank, size, host_name());
  ticket_ = fmt::format("{}/quadrille-failed-{:016x}",
                        folder != nullptr && *folder != '\0' ? folder : "/tmp", token);
}

JobGuard::~JobGuard() {
  {
    std::lock_guard const lock{mutex_};
    stop_ = true;
  }
  changed_.notify_all();
  watchdog_.join();
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

void JobGuard::set_last_words(std::function<void()> last_words) {
  std::lock_guard const lock{mutex_};
  last_words_ = std::move(last_words);
}

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
    std::string const what = fmt::format(
        "no end after {:g} s; this rank reports, the culprit may be another: look for the rank "
        "that is still computing, or raise the limit of this phase",
        limit_s_);
    lock.unlock();
    core::fail(what, core::Exit::timeout);
  }
}

void JobGuard::end_job(core::Failure const& failure) {
  int const code = static_cast<int>(failure.code) & 0x7f;
  std::string phase, rank, path;
  std::function<void()> last_words;
  {
    std::lock_guard const lock{mutex_};
    phase = phase_;
    rank = rank_of_size_;
    path = ticket_;
    last_words = last_words_;
  }
  bool const has_joined = !path.empty();
  bool const speaks =
      has_joined ? open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600) >= 0 ||
                       errno != EEXIST
                 : speaks_before_others();
  if (!speaks) {
    // Somebody else speaks. The launcher ends this rank meanwhile, or it ends by itself.
    sleep(2);
    _exit(code);
  }
  std::string_view file = failure.where.file_name();
  file.remove_prefix(file.rfind('/') == std::string_view::npos ? 0 : file.rfind('/') + 1);
  core::print_error("FATAL {}, phase '{}': {} ({}:{})\n", rank, phase, core::one_line(failure.what),
                    file, failure.where.line());
  if (!has_joined) {
    sleep(1);     // others reach their limits at about the same time
    _exit(code);  // the launcher ends them
  }
  // Either may wait for a lock that a hanging thread holds.
  g_exit_code = code;
  handle(SIGALRM, leave_now);
  alarm(kLastWordsSeconds);
  if (last_words) last_words();
  alarm(1);
  MPI_Abort(MPI_COMM_WORLD, code);
  _exit(code);
}

}  // namespace quadrille::comm

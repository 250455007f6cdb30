// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/error.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace quadrille::comm {

/// What ends the job for all ranks when one of them fails, throws or overruns a phase. Takes over
/// core::fail(), std::terminate, the signals TERM, INT and USR1, and exits that a library calls, while it
/// lives, which may begin before MPI and end after it. One per process.
class JobGuard {
 public:
  static constexpr std::string_view kTicket = ".failed-";

  /// In the phase "start", with its limit. `rank` is who this process is, as far as the launcher says.
  JobGuard(std::string const& rank, double limit_s);
  ~JobGuard();
  JobGuard(JobGuard const&) = delete;
  JobGuard& operator=(JobGuard const&) = delete;

  /// Collective over MPI_COMM_WORLD, once MPI runs: from now on one rank speaks for the job.
  void join_ranks();
  /// Any thread. A limit of 0 or less is none.
  void enter_phase(std::string phase, double limit_s);
  /// What the rank that speaks does once it has said what failed, for a few seconds at most, and the first
  /// rank soon after a signal; once. `folder` is one that ranks of all nodes may see: among those that do
  /// one speaks, which leaves a file there whose name begins with kTicket.
  void on_abort(std::string const& folder, std::function<void()> last_words);
  /// What a rank that fails does instead of ending the job, once: it is told who failed, where and why, and
  /// the job ends with what it returns, if it does. On whichever thread fails.
  void on_failure(std::function<core::Exit(std::string const&)> instead);
  /// Ends the job without a word, where some ranks can no longer come to its end.
  [[noreturn]] static void abandon(core::Exit code);
  /// From now on no signal ends the job: it ends soon, or its phase has a limit. Any thread.
  void finish();
  /// True once TERM, INT or USR1 reached this rank.
  static bool signalled();

  /// Ends this rank alone and silently, where another one speaks.
  [[noreturn]] static void leave(core::Exit code);
  /// Any thread. Prints unless another rank already did, then ends the job with the failure's code.
  [[noreturn]] void end_job(core::Failure const& failure);

 private:
  void watch();
  /// Ends the job at a second signal, or some seconds after the first, where it is still there.
  void watch_signals();
  /// Whether a rank has said that the job fails.
  bool has_failed();
  void say_last_words();

  int rank_ = 0;
  std::string rank_of_size_;   ///< "rank 2/8 on node07"
  std::string token_;          ///< of this job
  std::string ticket_;         ///< a path that the first failing rank of a node creates, if joined
  std::string shared_ticket_;  ///< the same of the ranks that see its folder
  std::mutex mutex_;           ///< end_job() takes it, so nothing under it may fail
  std::mutex speaking_;
  std::condition_variable changed_;
  std::string phase_ = "start";
  std::function<void()> last_words_;
  std::function<core::Exit(std::string const&)> instead_;
  double limit_s_ = 0;
  std::chrono::steady_clock::time_point entered_ = std::chrono::steady_clock::now();
  std::atomic<bool> stop_{false};
  std::atomic<bool> is_finishing_{false};
  std::thread watchdog_;
  std::thread signal_watch_;
};

}  // namespace quadrille::comm

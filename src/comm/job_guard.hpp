// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/error.hpp"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace quadrille::comm {

/// What ends the job for all ranks when one of them fails, throws or overruns a phase. Takes over
/// core::fail(), std::terminate and the signals TERM, INT and USR1 while it lives, which may begin
/// before MPI and end after it. One per process.
class JobGuard {
 public:
  /// In the phase "start", with its limit. `rank` is who this process is, as far as the launcher says.
  JobGuard(std::string const& rank, double limit_s);
  ~JobGuard();
  JobGuard(JobGuard const&) = delete;
  JobGuard& operator=(JobGuard const&) = delete;

  /// Collective over MPI_COMM_WORLD, once MPI runs: from now on one rank speaks for the job.
  void join_ranks();
  /// Any thread. A limit of 0 or less is none.
  void enter_phase(std::string phase, double limit_s);
  /// What the rank that speaks does once it has said what failed, for a few seconds at most.
  void set_last_words(std::function<void()> last_words);
  /// True once TERM, INT or USR1 reached this rank.
  static bool signalled();

  /// Any thread. Prints unless another rank already did, then ends the job with the failure's code.
  [[noreturn]] void end_job(core::Failure const& failure);

 private:
  void watch();

  std::string rank_of_size_;  ///< "rank 2/8 on node07"
  std::string ticket_;        ///< a path that the first failing rank of the job creates, if joined
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string phase_ = "start";
  std::function<void()> last_words_;
  double limit_s_ = 0;
  std::chrono::steady_clock::time_point entered_ = std::chrono::steady_clock::now();
  bool stop_ = false;
  std::thread watchdog_;
};

}  // namespace quadrille::comm

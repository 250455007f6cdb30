// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/threads.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace quadrille::comm {
namespace {

/// Threads that sleep between loops. To start one takes 20 us, more than the part of a loop that a check of
/// one image gives it. Not OpenMP's, whose threads wait busily where kernels of a host device may run.
class Pool {
 public:
  explicit Pool(int helpers) {
    for (int i = 1; i <= helpers; ++i) helpers_.emplace_back([this, i] { help(i); });
  }
  ~Pool() {
    {
      std::lock_guard const lock{mutex_};
      work_ = nullptr;
      ++loop_;
    }
    changed_.notify_all();
    for (std::thread& helper : helpers_) helper.join();
  }
  Pool(Pool const&) = delete;
  Pool& operator=(Pool const&) = delete;

  /// Calls work(i) on thread i, of as many as there are helpers and this one, which is 0. Exceptions end the
  /// process, as they do in a helper, which may still be working.
  void run(std::function<void(int)> const& work) noexcept {
    {
      std::lock_guard const lock{mutex_};
      work_ = &work;
      running_ = std::ssize(helpers_);
      ++loop_;
    }
    changed_.notify_all();
    work(0);
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [&] { return running_ == 0; });
  }

 private:
  void help(int number) {
    std::unique_lock lock{mutex_};
    for (std::int64_t seen = 0;;) {
      changed_.wait(lock, [&] { return loop_ != seen; });
      seen = loop_;
      if (work_ == nullptr) return;
      std::function<void(int)> const& work = *work_;
      lock.unlock();
      work(number);
      lock.lock();
      if (--running_ == 0) changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void(int)> const* work_ = nullptr;
  std::int64_t loop_ = 0;
  std::ptrdiff_t running_ = 0;
  std::vector<std::thread> helpers_;
};

}  // namespace

void on_threads(World const& world, std::int64_t n,
                std::function<void(core::Range const&)> const& work) {
  int const threads = world.placement().threads;
  auto const run_parts = [&](int first, int step) {
    for (int t = first; t < threads; t += step) {
      core::Range const part = core::split_evenly(n, threads, t);
      if (part.count > 0) work(part);
    }
  };
  static std::atomic<bool> in_use{false};
  if (threads == 1 || in_use.exchange(true)) return run_parts(0, 1);
  static int const helpers = threads - 1;  // a rank's number of threads does not change
  static Pool pool{helpers};
  pool.run([&](int number) { run_parts(number, helpers + 1); });
  in_use = false;
}

}  // namespace quadrille::comm

// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/signal_watch.hpp"

#include "comm/job_guard.hpp"

#include <chrono>
#include <semaphore>

namespace quadrille::comm {
namespace {

// One of POSIX below, which a handler of signals may post.
std::counting_semaphore<> g_wake{0};

}  // namespace

SignalWatch::SignalWatch(double seconds, std::function<void()> on_delay)
    : thread_{[this, seconds, on_delay = std::move(on_delay)] { watch(seconds, on_delay); }} {}

SignalWatch::~SignalWatch() {
  stop_ = true;
  wake();
  thread_.join();
}

void SignalWatch::wake() { g_wake.release(); }

void SignalWatch::watch(double seconds, std::function<void()> const& on_delay) const {
  while (!stop_ && !JobGuard::signalled()) g_wake.acquire();
  std::chrono::duration<double> const delay{seconds};
  auto const end = std::chrono::steady_clock::now() +
                   std::chrono::duration_cast<std::chrono::steady_clock::duration>(delay);
  while (!stop_ && std::chrono::steady_clock::now() < end) g_wake.try_acquire_until(end);
  if (!stop_) on_delay();
}

}  // namespace quadrille::comm

// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <thread>

namespace quadrille::comm {

/// Does something on a thread of its own when TERM, INT or USR1 reached this rank and the watch is
/// still there some seconds later: what is measured may not see the signal in time. One at a time,
/// while a JobGuard lives.
class SignalWatch {
 public:
  SignalWatch(double seconds, std::function<void()> on_delay);
  ~SignalWatch();
  SignalWatch(SignalWatch const&) = delete;
  SignalWatch& operator=(SignalWatch const&) = delete;

  /// What a signal's handler does for it.
  static void wake();

 private:
  void watch(double seconds, std::function<void()> const& on_delay) const;

  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace quadrille::comm

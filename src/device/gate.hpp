// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/device.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace quadrille::device {

/// Keeps the streams of a device from starting until the host has enqueued what is timed: a clock that
/// starts behind a gate shows the device, however long the host takes for its calls. For one thread,
/// and one gate of a device at a time.
class Gate {
 public:
  /// As many calls wait behind a closed gate before it opens, since a GPU's queue is not endless: the
  /// device is busy with them while the host makes the rest.
  static constexpr std::int64_t kMaxCalls = 500;
  static constexpr std::chrono::duration<double> kLimit{1};

  explicit Gate(Device& device, std::chrono::duration<double> limit = kLimit);
  ~Gate();
  Gate(Gate const&) = delete;
  Gate& operator=(Gate const&) = delete;

  /// What the device's streams are given from now on waits. All of them are idle.
  void close(std::int64_t max_calls = kMaxCalls);

  /// Why a gate opened by itself: a call waited for the device, or the host stood still.
  struct Expiry {
    std::int64_t calls = 0;  ///< that were made by then
    std::string last_call;   ///< "copy on stream 'compute'"
  };
  /// Lets the streams start, if they have not. Nothing where they waited for this call or for
  /// kMaxCalls; else what was enqueued ran under the host's calls, and no clock of it counts.
  std::optional<Expiry> open();

  /// A call that enqueues work, before it is made. Any thread.
  void count(char const* call, StreamBackend const& stream);

 private:
  using Clock = std::chrono::steady_clock;
  void watch();
  void release();

  Device& device_;
  std::chrono::duration<double> limit_;
  Flag flag_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool has_ended_ = false;
  bool is_closed_ = false;
  std::uint32_t turn_ = 0;  ///< what the flag shows once the gate is open again
  std::int64_t calls_ = 0, max_calls_ = kMaxCalls;
  Clock::time_point closed_{};
  std::optional<Expiry> expiry_;
  char const* last_call_ = "";
  StreamBackend const* last_stream_ = nullptr;
  std::thread watch_;
};

/// Tells the gate that holds the stream back, if there is one, of a call that is about to be made.
inline void count_call(StreamView stream, char const* call) {
  if (Gate* const gate = stream.device().gate()) gate->count(call, *stream.backend());
}

}  // namespace quadrille::device

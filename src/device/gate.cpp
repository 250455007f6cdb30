// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/gate.hpp"

#include <fmt/format.h>

namespace quadrille::device {

Gate::Gate(Device& device, std::chrono::duration<double> limit)
    : device_{device}, limit_{limit}, flag_{device}, watch_{[this] { watch(); }} {}

Gate::~Gate() {
  open();
  {
    std::lock_guard const lock{mutex_};
    has_ended_ = true;
  }
  ended_.notify_one();
  watch_.join();
}

void Gate::close(std::int64_t max_calls) {
  ++turn_;
  device_.for_each_stream([this](StreamView stream) { stream.wait(flag_, turn_); });
  {
    std::lock_guard const lock{mutex_};
    is_closed_ = true;
    calls_ = 0;
    max_calls_ = max_calls;
    closed_ = Clock::now();
    expiry_.reset();
    last_call_ = "";
    last_stream_ = nullptr;
  }
  device_.set_gate(this);
}

std::optional<Gate::Expiry> Gate::open() {
  device_.set_gate(nullptr);
  std::lock_guard const lock{mutex_};
  release();
  return expiry_;
}

void Gate::count(char const* call, StreamBackend const& stream) {
  std::lock_guard const lock{mutex_};
  if (calls_ == max_calls_) release();
  ++calls_;
  last_call_ = call;
  last_stream_ = &stream;
}

void Gate::release() {
  if (!is_closed_) return;
  is_closed_ = false;
  flag_.set(turn_);
}

/// Looks now and then: to be woken for each repetition would take time from it.
void Gate::watch() {
  std::unique_lock lock{mutex_};
  while (!ended_.wait_for(lock, limit_ / 4, [this] { return has_ended_; })) {
    if (!is_closed_ || Clock::now() - closed_ < limit_) continue;
    expiry_ = {calls_, last_stream_ == nullptr
                           ? "no call"
                           : fmt::format("{} on stream '{}'", last_call_, last_stream_->label())};
    release();
  }
}

}  // namespace quadrille::device

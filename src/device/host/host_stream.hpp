// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/device.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace quadrille::device {

/// One recorded place in a stream. Shared by the event, the stream that will reach it and those
/// that wait for it, so an event can be recorded again or destroyed while others still wait.
class HostPoint {
 public:
  void reach() {
    when_ = std::chrono::steady_clock::now();
    // In one order with the count of waiters that notify_all() looks at: a weaker store may become visible
    // after that look, and libstdc++ wakes nobody whom it does not see.
    reached_.store(1, std::memory_order_seq_cst);
    reached_.notify_all();
  }
  bool reached() const { return reached_.load(std::memory_order_acquire) != 0; }
  void wait() const { reached_.wait(0, std::memory_order_acquire); }
  /// Valid once reached.
  std::chrono::steady_clock::time_point when() const { return when_; }

 private:
  std::chrono::steady_clock::time_point when_{};
  std::atomic<int> reached_{0};  // int: waits on it sleep in one futex call
};

/// Event of the host device: holds the point recorded last, null before the first record.
class HostEvent final : public EventBackend {
 public:
  bool done() const override;
  void synchronize() const override;
  double seconds_since(EventBackend const& earlier) const override;

  /// Makes a new point the latest one and returns it.
  std::shared_ptr<HostPoint> renew();
  std::shared_ptr<HostPoint> latest() const;

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<HostPoint> latest_;
};

/// Flag of the host device.
class HostFlag final : public FlagBackend {
 public:
  using Word = std::atomic<std::uint32_t>;

  void set(std::uint32_t value) override;
  std::uint32_t get() const override { return word_->load(std::memory_order_acquire); }
  std::shared_ptr<Word const> word() const { return word_; }

 private:
  std::shared_ptr<Word> word_ = std::make_shared<Word>(0U);  // outlived by pending waits
};

/// Stream of the host device: a thread that runs a queue in order and sleeps when it is empty.
class HostStream final : public StreamBackend {
 public:
  /// `threads` is what kernels of this stream may use.
  HostStream(Device& device, int threads, std::string const& label);
  /// Runs what is queued, then ends the thread.
  ~HostStream() override;
  HostStream(HostStream const&) = delete;
  HostStream& operator=(HostStream const&) = delete;

  Device& device() override { return device_; }
  void copy(void* to, void const* from, std::size_t bytes) override;
  void copy_2d(void* to, std::size_t to_pitch, void const* from, std::size_t from_pitch,
               std::size_t row_bytes, std::size_t rows) override;
  void fill(void* to, unsigned char value, std::size_t bytes) override;
  void record(Event& event) override;
  void wait(Event const& event) override;
  void wait(Flag const& flag, std::uint32_t value) override;
  void wait(std::uint32_t const* word, std::uint32_t value) override;
  void set(std::uint32_t* word, std::uint32_t value) override;
  void run(std::function<void()> task) override;
  void synchronize() override;

  int threads() const { return threads_; }
  bool on_worker() const { return std::this_thread::get_id() == worker_.get_id(); }
  /// Place for the execution space of the stream's Kokkos kernels. Only for the worker thread, which also
  /// destroys it. Untyped, so that streams do not depend on Kokkos.
  std::shared_ptr<void>& execution() { return execution_; }

 private:
  void push(std::function<void()> task);
  void work();

  Device& device_;
  int threads_;
  std::mutex mutex_;
  std::condition_variable filled_;
  std::vector<std::function<void()>> queue_;
  bool idle_ = false;  ///< the worker has nothing in hand
  bool ending_ = false;
  std::shared_ptr<void> execution_;
  std::thread worker_;
};

/// The host stream whose task the calling thread is in; ends the job anywhere else.
HostStream& stream_of_task(StreamView stream);

}  // namespace quadrille::device

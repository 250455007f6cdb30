// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/host/host_stream.hpp"

#include "device/host/shared_memory.hpp"

#include <pthread.h>

#include <cstring>

namespace quadrille::device {

bool HostEvent::done() const {
  auto const point = latest();
  return !point || point->reached();
}

void HostEvent::synchronize() const {
  if (auto const point = latest()) point->wait();
}

double HostEvent::seconds_since(EventBackend const& earlier) const {
  auto const first = static_cast<HostEvent const&>(earlier).latest();
  auto const last = latest();
  QUAD_REQUIRE(first && last && first->reached() && last->reached(),
               "elapsed time between events that are not both done; synchronize first");
  return std::chrono::duration<double>(last->when() - first->when()).count();
}

std::shared_ptr<HostPoint> HostEvent::renew() {
  auto point = std::make_shared<HostPoint>();
  std::lock_guard const lock{mutex_};
  latest_ = point;
  return point;
}

std::shared_ptr<HostPoint> HostEvent::latest() const {
  std::lock_guard const lock{mutex_};
  return latest_;
}

void HostFlag::set(std::uint32_t value) {
  word_->store(value, std::memory_order_seq_cst);  // as HostPoint::reach()
  word_->notify_all();
}

HostStream::HostStream(Device& device, int threads, std::string const& label)
    : device_{device}, threads_{threads} {
  // Under the lock, so that the thread finds worker_ assigned when it looks at it.
  std::lock_guard const lock{mutex_};
  worker_ = std::thread{[this] { work(); }};
  // Linux takes 15 characters; the name is a help for debuggers and profilers only.
  pthread_setname_np(worker_.native_handle(), label.substr(0, 15).c_str());
}

HostStream::~HostStream() {
  {
    std::lock_guard const lock{mutex_};
    ending_ = true;
  }
  filled_.notify_one();
  worker_.join();
}

void HostStream::copy(void* to, void const* from, std::size_t bytes) {
  push([=] { std::memcpy(to, from, bytes); });
}

void HostStream::copy_2d(void* to, std::size_t to_pitch, void const* from, std::size_t from_pitch,
                         std::size_t row_bytes, std::size_t rows) {
  if (to_pitch == row_bytes && from_pitch == row_bytes) return copy(to, from, row_bytes * rows);
  push([=] {
    for (std::size_t i = 0; i < rows; ++i) {
      std::memcpy(static_cast<char*>(to) + i * to_pitch,
                  static_cast<char const*>(from) + i * from_pitch, row_bytes);
    }
  });
}

void HostStream::fill(void* to, unsigned char value, std::size_t bytes) {
  push([=] { std::memset(to, value, bytes); });
}

void HostStream::record(Event& event) {
  push([point = static_cast<HostEvent*>(event.backend())->renew()] { point->reach(); });
}

void HostStream::wait(Event const& event) {
  auto point = static_cast<HostEvent*>(event.backend())->latest();
  if (!point || point->reached()) return;
  push([point = std::move(point)] { point->wait(); });
}

void HostStream::wait(Flag const& flag, std::uint32_t value) {
  push([word = static_cast<HostFlag*>(flag.backend())->word(), value] {
    for (auto now = word->load(std::memory_order_acquire);
         static_cast<std::int32_t>(now - value) < 0; now = word->load(std::memory_order_acquire)) {
      word->wait(now, std::memory_order_acquire);
    }
  });
}

void HostStream::wait(std::uint32_t const* word, std::uint32_t value) {
  push([=] { wait_for_word(word, value); });
}

void HostStream::set(std::uint32_t* word, std::uint32_t value) {
  push([=] { set_word(word, value); });
}

void HostStream::run(std::function<void()> task) { push(std::move(task)); }

void HostStream::synchronize() {
  {
    std::lock_guard const lock{mutex_};
    if (idle_ && queue_.empty()) return;
  }
  auto const point = std::make_shared<HostPoint>();
  push([point] { point->reach(); });
  point->wait();
}

void HostStream::push(std::function<void()> task) {
  {
    std::lock_guard const lock{mutex_};
    queue_.push_back(std::move(task));
  }
  // Costs a system call only while the worker sleeps.
  filled_.notify_one();
}

void HostStream::work() {
  std::vector<std::function<void()>> batch;
  std::unique_lock lock{mutex_};
  for (;;) {
    idle_ = true;
    filled_.wait(lock, [this] { return ending_ || !queue_.empty(); });
    if (queue_.empty()) break;
    idle_ = false;
    // The whole queue at once: one lock for many tasks, and both vectors keep their memory.
    batch.swap(queue_);
    lock.unlock();
    for (auto& task : batch) {
      task();
      task = nullptr;  // frees what it holds now, not at the end of the batch
    }
    batch.clear();
    lock.lock();
  }
  execution_.reset();
}

HostStream& stream_of_task(StreamView view) {
  QUAD_REQUIRE(view && view.device().kind() == Kind::host,
               "a host kernel needs a stream of the host device");
  auto& stream = *static_cast<HostStream*>(view.backend());
  QUAD_REQUIRE(stream.on_worker(), "a host kernel runs inside a task of its stream");
  return stream;
}

}  // namespace quadrille::device

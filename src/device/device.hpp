// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/enum_set.hpp"
#include "core/types.hpp"
#include "core/units.hpp"
#include "device/gpu_settings.hpp"
#include "device/views.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace quadrille::device {

class Gate;
class Trace;

/// Implementation side of a stream; one class per device kind. Everything is asynchronous and in
/// order within the stream, except synchronize().
class StreamBackend {
 public:
  virtual ~StreamBackend() = default;
  /// What people know it by.
  std::string const& label() const { return label_; }
  void set_label(std::string label) { label_ = std::move(label); }
  virtual Device& device() = 0;
  virtual void copy(void* to, void const* from, std::size_t bytes) = 0;
  virtual void copy_2d(void* to, std::size_t to_pitch, void const* from, std::size_t from_pitch,
                       std::size_t row_bytes, std::size_t rows) = 0;
  virtual void fill(void* to, unsigned char value, std::size_t bytes) = 0;
  virtual void record(Event& event) = 0;
  virtual void wait(Event const& event) = 0;
  virtual void wait(Flag const& flag, std::uint32_t value) = 0;
  virtual void wait(std::uint32_t const* word, std::uint32_t value) = 0;
  virtual void set(std::uint32_t* word, std::uint32_t value) = 0;
  virtual void run(std::function<void()> task) = 0;
  virtual void synchronize() = 0;

 private:
  std::string label_;
};

/// What StreamView::run() does.
void run_task(StreamView stream, std::function<void()> task);

template <class Task>
void StreamView::run(Task&& task) const {
  run_task(*this, std::forward<Task>(task));
}

/// Implementation side of an event.
class EventBackend {
 public:
  virtual ~EventBackend() = default;
  virtual bool done() const = 0;
  virtual void synchronize() const = 0;
  virtual double seconds_since(EventBackend const& earlier) const = 0;
};

/// Implementation side of a flag.
class FlagBackend {
 public:
  virtual ~FlagBackend() = default;
  virtual void set(std::uint32_t value) = 0;
  virtual std::uint32_t get() const = 0;
};

/// Why clocks are lower than they could be: the cap on power, heat, or a slowdown by the hardware, which
/// halves them at least. Clocks that somebody has set are another limit.
enum class ClockLimit { power, thermal, hardware, other };
constexpr auto enum_names(ClockLimit) {
  return core::EnumNames<ClockLimit, 4>{{{ClockLimit::power, "power"},
                                         {ClockLimit::thermal, "thermal"},
                                         {ClockLimit::hardware, "hardware"},
                                         {ClockLimit::other, "other"}}};
}

/// What a device says of itself while it works.
struct Telemetry {
  double clock_hz = 0;
  double memory_clock_hz = 0;
  double power_w = 0;
  double temperature_c = 0;
  double energy_j = 0;  ///< taken since some moment, by a counter that advances in steps of 0.1 s
  core::EnumSet<ClockLimit> clock_limits{};  ///< in force now; empty where none is, or not told
};

/// Errors that a device has counted since some moment, of its memory or links.
struct ErrorCounter {
  std::string name;
  std::uint64_t count = 0;
};

/// What one rank drives. Thread safe: the progress thread uses it too, after bind_thread().
class Device {
 public:
  Device() = default;
  virtual ~Device() = default;
  Device(Device const&) = delete;
  Device& operator=(Device const&) = delete;
  virtual Kind kind() const = 0;
  virtual Facts const& facts() const = 0;
  /// Bytes that can be allocated now.
  virtual std::size_t free_memory() const = 0;
  /// Clocks and power now; nothing where the platform does not tell.
  virtual std::optional<Telemetry> telemetry() { return std::nullopt; }
  /// The share of time for which others kept this device busy when this process opened it, as far as
  /// the platform tells.
  virtual double busy_before() const { return 0; }
  /// Those that the platform tells of, the same ones in each call.
  virtual std::vector<ErrorCounter> error_counters() { return {}; }
  virtual PcieLink pcie_link() const { return {}; }
  /// Of a GPU, that link among them. Asks the driver dozens of times.
  virtual GpuSettings settings() const { return {}; }
  /// What joins this GPU and another one of the node, which this process may not use.
  virtual Link link_to(std::string const& /*uuid*/) const { return Link::unknown; }
  /// To be called by every thread but the creator before it uses the device.
  virtual void bind_thread() = 0;

  virtual std::unique_ptr<StreamBackend> make_stream(Priority priority,
                                                     std::string const& label) = 0;
  virtual std::unique_ptr<EventBackend> make_event() = 0;
  virtual std::unique_ptr<FlagBackend> make_flag() = 0;
  /// Aligned to 256 bytes. Too little memory ends the job with Exit::environment.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory) noexcept = 0;
  /// As allocate(), of memory that other processes of the node can open, or why there is none such.
  virtual core::Parsed<void*> allocate_shared(std::size_t bytes) = 0;
  virtual void release_shared(void* memory) noexcept = 0;
  /// What another process opens such memory by, or why none can.
  virtual core::Parsed<std::string> handle_of(void* shared) = 0;
  /// Memory of another process's device of this kind, or why it cannot be had.
  virtual core::Parsed<void*> open_shared(std::string const& handle) = 0;
  virtual void close_shared(void* memory) noexcept = 0;
  virtual void* allocate_pinned(std::size_t bytes) = 0;
  virtual void release_pinned(void* memory) noexcept = 0;
  /// Page-locks host memory that somebody else owns, until it is unregistered. Nothing to do where
  /// the device reaches all of it.
  virtual void register_host(void*, std::size_t) {}
  virtual void unregister_host(void*) noexcept {}
  /// Memory from a pool, in the order of a stream: neither call waits for the device where the
  /// platform has a pool.
  virtual void* allocate_ordered(std::size_t bytes, StreamView) { return allocate(bytes); }
  virtual void release_ordered(void* memory, StreamView stream) noexcept {
    stream.synchronize();
    release(memory);
  }
  /// The stream that CUDA takes where a program names none, and that waits for others. Only for
  /// experiments that show what this costs.
  virtual std::unique_ptr<StreamBackend> make_default_stream() {
    return make_stream(Priority::normal, "default");
  }

  /// What collects the work of its streams now; null where nothing does.
  Trace* trace() const { return trace_.load(std::memory_order_acquire); }
  void set_trace(Trace* trace) { trace_.store(trace, std::memory_order_release); }

  /// What holds its streams back now; null where nothing does.
  Gate* gate() const { return gate_.load(std::memory_order_acquire); }
  void set_gate(Gate* gate) { gate_.store(gate, std::memory_order_release); }
  /// Calls visit(stream) for each stream that there is. Streams made or released by other threads
  /// wait meanwhile.
  void for_each_stream(std::function<void(StreamView)> const& visit) const;

 private:
  friend class Stream;

  std::atomic<Trace*> trace_{nullptr};
  std::atomic<Gate*> gate_{nullptr};
  mutable std::mutex streams_mutex_;
  std::vector<StreamBackend*> streams_;
};

/// Host device of this rank, with `threads` threads for kernels; those of Kokkos need a KokkosRuntime.
std::unique_ptr<Device> make_host_device(int threads);
/// GPU `index`. Ends the job with Exit::environment where there is none.
std::unique_ptr<Device> make_cuda_device(int index);
/// Number of usable GPUs; 0 without a driver or in a build without CUDA, then `why` says so.
int cuda_device_count(std::string* why = nullptr);
/// Blocks until all streams of this thread's GPU have done their work. Nobody needs it: streams and
/// events do; it is there to be measured. The same holds for cuda_multiprocessors().
void cuda_synchronize();
/// The multiprocessors of GPU `index`, asked of the runtime anew.
int cuda_multiprocessors(int index);
/// Facts of GPU `index` without creating a context on it beyond what the query needs.
Facts cuda_device_facts(int index);

/// Owns one in-order queue.
class Stream {
 public:
  Stream() = default;
  explicit Stream(Device& device, std::string const& label = "stream",
                  Priority priority = Priority::normal);
  /// One that no gate holds back.
  explicit Stream(std::unique_ptr<StreamBackend> backend);
  StreamView view() const { return StreamView{backend_.get()}; }
  operator StreamView() const { return view(); }

 private:
  struct Release {
    Device* device = nullptr;  ///< that knows of it
    void operator()(StreamBackend* backend) const noexcept;
  };
  std::unique_ptr<StreamBackend, Release> backend_{nullptr, Release{}};
};

/// Owns one point in a stream. Can be recorded again; a wait means the latest record before it.
class Event {
 public:
  Event() = default;
  explicit Event(Device& device) : backend_{device.make_event()} {}
  /// True when the latest record has been reached, or nothing was ever recorded.
  bool done() const { return backend_->done(); }
  void synchronize() const { backend_->synchronize(); }
  /// Seconds from `earlier` to this one; both must be done.
  double seconds_since(Event const& earlier) const {
    return backend_->seconds_since(*earlier.backend_);
  }
  EventBackend* backend() const { return backend_.get(); }

 private:
  std::unique_ptr<EventBackend> backend_;
};

/// A 32-bit word that a host thread sets and streams wait for. Starts at 0. Lives until the last
/// stream has passed its wait. On a GPU, calls that synchronise the device by themselves (release
/// of memory, copies from it to plain host memory) block while a stream waits.
class Flag {
 public:
  Flag() = default;
  explicit Flag(Device& device) : backend_{device.make_flag()} {}
  void set(std::uint32_t value) const { backend_->set(value); }
  std::uint32_t get() const { return backend_->get(); }
  FlagBackend* backend() const { return backend_.get(); }

 private:
  std::unique_ptr<FlagBackend> backend_;
};

/// A word of shared memory, of this process or of a peer, that streams of both set and wait for.
class SharedWord {
 public:
  SharedWord() = default;
  explicit SharedWord(std::byte* word) : word_{reinterpret_cast<std::uint32_t*>(word)} {}
  /// Later work of the stream starts once the word is >= value (as a wrapping 32-bit difference).
  void wait_on(StreamView stream, std::uint32_t value) const;
  /// Once all earlier work of the stream is done, and seen by whoever has waited for the value.
  void set_on(StreamView stream, std::uint32_t value) const { stream.backend()->set(word_, value); }

 private:
  std::uint32_t* word_ = nullptr;
};

/// Owns device memory for n elements, filled with 0xFF (NaN in every float type) on `stream`. Every
/// stream must have passed its last use, that fill included, before the buffer ends.
template <class T>
class Buffer {
 public:
  Buffer() = default;
  Buffer(Device& device, std::int64_t n, StreamView stream)
      : memory_{n > 0 ? device.allocate(static_cast<std::size_t>(n) * sizeof(T)) : nullptr,
                Release{&device}},
        size_{n} {
    stream.fill(memory_.get(), 0xFF, bytes());
  }
  T* data() const { return static_cast<T*>(memory_.get()); }
  std::int64_t size() const { return size_; }
  std::size_t bytes() const { return static_cast<std::size_t>(size_) * sizeof(T); }
  Span<T> span() const { return {data(), size_}; }

 private:
  struct Release {
    Device* device = nullptr;
    void operator()(void* memory) const noexcept { device->release(memory); }
  };
  std::unique_ptr<void, Release> memory_{nullptr, Release{}};
  std::int64_t size_ = 0;
};

/// Owns device memory that other processes of the node can open. Must outlive what they have opened.
class SharedMemory {
 public:
  SharedMemory() = default;
  SharedMemory(Device& device, void* allocated) : memory_{allocated, Release{&device}} {}
  std::byte* data() const { return static_cast<std::byte*>(memory_.get()); }

 private:
  struct Release {
    Device* device = nullptr;
    void operator()(void* memory) const noexcept { device->release_shared(memory); }
  };
  std::unique_ptr<void, Release> memory_{nullptr, Release{}};
};

/// Shared memory of another process, open in this one.
class PeerMemory {
 public:
  PeerMemory() = default;
  PeerMemory(Device& device, void* opened) : memory_{opened, Close{&device}} {}
  std::byte* data() const { return static_cast<std::byte*>(memory_.get()); }

 private:
  struct Close {
    Device* device = nullptr;
    void operator()(void* memory) const noexcept { device->close_shared(memory); }
  };
  std::unique_ptr<void, Close> memory_{nullptr, Close{}};
};

/// Owns page-locked host memory that copies reach without a bounce buffer. Not filled.
template <class T>
class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  PinnedBuffer(Device& device, std::int64_t n)
      : memory_{n > 0 ? device.allocate_pinned(static_cast<std::size_t>(n) * sizeof(T)) : nullptr,
                Release{&device}},
        size_{n} {}
  T* data() const { return static_cast<T*>(memory_.get()); }
  std::int64_t size() const { return size_; }
  std::span<T> span() const { return {data(), static_cast<std::size_t>(size_)}; }

 private:
  struct Release {
    Device* device = nullptr;
    void operator()(void* memory) const noexcept { device->release_pinned(memory); }
  };
  std::unique_ptr<void, Release> memory_{nullptr, Release{}};
  std::int64_t size_ = 0;
};

/// Owns the page lock of host memory that somebody else owns and that outlives this.
class HostRegistration {
 public:
  HostRegistration() = default;
  HostRegistration(Device& device, void* memory, std::size_t bytes)
      : memory_{memory, Unregister{&device}} {
    device.register_host(memory, bytes);
  }

 private:
  struct Unregister {
    Device* device = nullptr;
    void operator()(void* memory) const noexcept { device->unregister_host(memory); }
  };
  std::unique_ptr<void, Unregister> memory_{nullptr, Unregister{}};
};

/// Owns memory for n elements that `stream` takes from a pool and gives back to it. Not filled.
/// Other streams must be ordered behind its first and before its last use by events.
template <class T>
class PooledBuffer {
 public:
  PooledBuffer() = default;
  PooledBuffer(Device& device, std::int64_t n, StreamView stream)
      : memory_{n > 0 ? device.allocate_ordered(static_cast<std::size_t>(n) * sizeof(T), stream)
                      : nullptr,
                Release{&device, stream}},
        size_{n} {}
  T* data() const { return static_cast<T*>(memory_.get()); }
  std::int64_t size() const { return size_; }

 private:
  struct Release {
    Device* device = nullptr;
    StreamView stream;
    void operator()(void* memory) const noexcept { device->release_ordered(memory, stream); }
  };
  std::unique_ptr<void, Release> memory_{nullptr, Release{}};
  std::int64_t size_ = 0;
};

/// A row-major matrix in device memory: owner of what a MatrixView shows. Filled with 0xFF.
class Matrix {
 public:
  Matrix() = default;
  Matrix(Device& device, core::DataType type, std::int64_t rows, std::int64_t cols,
         StreamView stream)
      : memory_{device, rows * cols * static_cast<std::int64_t>(core::size_of(type)), stream},
        view_{memory_.data(), type, rows, cols, cols} {}
  MatrixView view() const { return view_; }
  std::size_t bytes() const { return memory_.bytes(); }

 private:
  Buffer<std::byte> memory_;
  MatrixView view_;
};

}  // namespace quadrille::device

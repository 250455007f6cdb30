// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "core/units.hpp"
#include "device/host/host_stream.hpp"
#include "device/host/memory.hpp"
#include "device/host/shared_memory.hpp"
#include "device/host/topology.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <unordered_map>

namespace quadrille::device {
namespace {

constexpr std::size_t kAlignment = 256;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

class HostDevice final : public Device {
 public:
  explicit HostDevice(int threads) {
    facts_.name = cpu_name();
    facts_.multiprocessors = threads;
    facts_.memory_bytes = total_host_memory();
    facts_.peaks = host_peaks(threads);
  }

  Kind kind() const override { return Kind::host; }
  Facts const& facts() const override { return facts_; }
  std::size_t free_memory() const override {
    // Pages not yet touched still look free to the system. What is not resident of what was
    // handed out is at least `allocated - resident`.
    std::lock_guard const lock{mutex_};
    std::size_t const untouched = allocated_ - std::min(allocated_, resident_host_memory());
    std::size_t const available = available_host_memory();
    return available - std::min(available, untouched);
  }
  void bind_thread() override {}

  std::unique_ptr<StreamBackend> make_stream(Priority, std::string const& label) override {
    // Linux lets no ordinary process raise a thread's priority: streams differ in label only.
    return std::make_unique<HostStream>(*this, facts_.multiprocessors, label);
  }
  std::unique_ptr<EventBackend> make_event() override { return std::make_unique<HostEvent>(); }
  std::unique_ptr<FlagBackend> make_flag() override { return std::make_unique<HostFlag>(); }

  void* allocate(std::size_t bytes) override {
    require_free(bytes);
    // Fewer page faults: the first touch of a large buffer is several times faster.
    std::size_t const alignment = bytes >= kHugePage ? kHugePage : kAlignment;
    void* const memory =
        std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (memory == nullptr) fail_memory(bytes, free_memory());
    if (alignment == kHugePage) madvise(memory, bytes, MADV_HUGEPAGE);
    count(memory, bytes);
    return memory;
  }
  void release(void* memory) noexcept override {
    if (memory == nullptr) return;
    discount(memory);
    std::free(memory);
  }
  core::Parsed<void*> allocate_shared(std::size_t bytes) override {
    require_free(bytes);
    core::Parsed<std::shared_ptr<SharedFile>> const file = SharedFile::make(bytes);
    if (!file) return core::Parsed<void*>::error(file.why());
    void* const memory = (*file)->data();
    count(memory, bytes);
    std::lock_guard const lock{mutex_};
    shared_.emplace(memory, *file);
    return memory;
  }
  void release_shared(void* memory) noexcept override {
    if (memory == nullptr) return;
    discount(memory);
    std::lock_guard const lock{mutex_};
    shared_.erase(memory);
  }
  core::Parsed<std::string> handle_of(void* shared) override {
    std::lock_guard const lock{mutex_};
    return shared_.at(shared)->handle();
  }
  core::Parsed<void*> open_shared(std::string const& handle) override {
    core::Parsed<std::shared_ptr<SharedFile>> const file = SharedFile::open(handle);
    if (!file) return core::Parsed<void*>::error(file.why());
    void* const memory = (*file)->data();
    std::lock_guard const lock{mutex_};
    shared_.emplace(memory, *file);
    return memory;
  }
  void close_shared(void* memory) noexcept override {
    if (memory == nullptr) return;
    std::lock_guard const lock{mutex_};
    shared_.erase(memory);
  }
  void* allocate_pinned(std::size_t bytes) override { return allocate(bytes); }
  void release_pinned(void* memory) noexcept override { release(memory); }

 private:
  /// Linux promises more memory than it has and kills the process that uses it: check before.
  void require_free(std::size_t bytes) const {
    std::size_t const free = free_memory();
    if (bytes > free) fail_memory(bytes, free);
  }
  [[noreturn]] static void fail_memory(std::size_t bytes, std::size_t free) {
    core::fail(
        fmt::format("host memory: asked {}, {} are free; lower the size of the case, or start "
                    "fewer ranks per node",
                    core::format_bytes(static_cast<double>(bytes)),
                    core::format_bytes(static_cast<double>(free))),
        core::Exit::environment);
  }
  void count(void* memory, std::size_t bytes) {
    std::lock_guard const lock{mutex_};
    sizes_.emplace(memory, bytes);
    allocated_ += bytes;
  }
  void discount(void* memory) noexcept {
    std::lock_guard const lock{mutex_};
    auto const found = sizes_.find(memory);
    if (found == sizes_.end()) return;
    allocated_ -= found->second;
    sizes_.erase(found);
  }

  Facts facts_;
  mutable std::mutex mutex_;
  std::unordered_map<void*, std::size_t> sizes_;
  std::unordered_map<void*, std::shared_ptr<SharedFile>> shared_;  ///< own and opened
  std::size_t allocated_ = 0;
};

}  // namespace

std::unique_ptr<Device> make_host_device(int threads) {
  if (threads < 1) {
    core::fail(fmt::format("host device: {} threads; give at least 1", threads),
               core::Exit::bad_config);
  }
  return std::make_unique<HostDevice>(threads);
}

}  // namespace quadrille::device

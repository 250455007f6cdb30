// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "simt/device.hpp"

#include "simt/engine.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <cstring>

namespace quadrille::simt {
namespace {

class SimtEvent final : public device::EventBackend {
 public:
  using Clock = std::chrono::steady_clock;

  void record() { recorded_ = Clock::now(); }
  bool done() const override { return true; }
  void synchronize() const override {}
  double seconds_since(device::EventBackend const& earlier) const override {
    auto const elapsed = recorded_ - static_cast<SimtEvent const&>(earlier).recorded_;
    return std::chrono::duration<double>{elapsed}.count();
  }

 private:
  Clock::time_point recorded_;
};

[[noreturn]] void alone() { core::fail("the interpreter shares no memory with other processes"); }

class SimtFlag final : public device::FlagBackend {
 public:
  void set(std::uint32_t value) override { value_ = value; }
  std::uint32_t get() const override { return value_; }

 private:
  std::uint32_t value_ = 0;
};

class SimtStream final : public device::StreamBackend {
 public:
  explicit SimtStream(device::Device& device) : device_{device} {}

  device::Device& device() override { return device_; }
  void copy(void* to, void const* from, std::size_t bytes) override {
    std::memmove(to, from, bytes);
  }
  void copy_2d(void* to, std::size_t to_pitch, void const* from, std::size_t from_pitch,
               std::size_t row_bytes, std::size_t rows) override {
    for (std::size_t i = 0; i < rows; ++i) {
      std::memmove(static_cast<char*>(to) + i * to_pitch,
                   static_cast<char const*>(from) + i * from_pitch, row_bytes);
    }
  }
  void fill(void* to, unsigned char value, std::size_t bytes) override {
    std::memset(to, value, bytes);
  }
  void record(device::Event& event) override { static_cast<SimtEvent*>(event.backend())->record(); }
  void wait(device::Event const&) override {}
  void wait(device::Flag const& flag, std::uint32_t value) override {
    auto const behind = static_cast<std::int32_t>(flag.get() - value);
    QUAD_REQUIRE(behind >= 0, fmt::format("a stream of the interpreter waits for a flag to be {}, "
                                          "which is {}; set it before",
                                          value, flag.get()));
  }
  void wait(std::uint32_t const*, std::uint32_t) override { alone(); }
  void set(std::uint32_t*, std::uint32_t) override { alone(); }
  void run(std::function<void()> task) override { task(); }
  void synchronize() override {}

 private:
  device::Device& device_;
};

class SimtDevice final : public device::Device {
 public:
  SimtDevice() {
    facts_.name = "interpreter";
    facts_.uuid = "GPU-interpreter";
    facts_.compute_capability = 90;
    facts_.code = {90, true};
    facts_.multiprocessors = kMultiprocessors;
    facts_.memory_bytes = std::size_t{1} << 30;
    facts_.l2_bytes = std::size_t{600} << 10;  // so that tests go beyond it
  }

  device::Kind kind() const override { return device::Kind::cuda; }
  device::Facts const& facts() const override { return facts_; }
  std::size_t free_memory() const override { return facts_.memory_bytes; }
  void bind_thread() override {}
  std::unique_ptr<device::StreamBackend> make_stream(device::Priority,
                                                     std::string const&) override {
    return std::make_unique<SimtStream>(*this);
  }
  std::unique_ptr<device::EventBackend> make_event() override {
    return std::make_unique<SimtEvent>();
  }
  std::unique_ptr<device::FlagBackend> make_flag() override { return std::make_unique<SimtFlag>(); }
  void* allocate(std::size_t bytes) override { return simt::allocate(bytes); }
  void release(void* memory) noexcept override { simt::release(memory); }
  core::Parsed<void*> allocate_shared(std::size_t) override { alone(); }
  void release_shared(void*) noexcept override {}
  core::Parsed<std::string> handle_of(void*) override { alone(); }
  core::Parsed<void*> open_shared(std::string const&) override { alone(); }
  void close_shared(void*) noexcept override {}
  void* allocate_pinned(std::size_t bytes) override { return simt::allocate(bytes); }
  void release_pinned(void* memory) noexcept override { simt::release(memory); }

 private:
  device::Facts facts_;
};

}  // namespace

std::unique_ptr<device::Device> make_device() { return std::make_unique<SimtDevice>(); }

}  // namespace quadrille::simt

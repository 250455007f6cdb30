// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/device.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace quadrille::test {

/// Says of itself what a test wants, and has nothing to run anything on.
class FakeDevice final : public device::Device, public device::StreamBackend {
 public:
  FakeDevice(device::Kind kind, device::Facts facts) : kind_{kind}, facts_{std::move(facts)} {}
  device::StreamView stream() { return device::StreamView{this}; }
  device::Link link = device::Link::unknown;  ///< to every other

  device::Kind kind() const override { return kind_; }
  device::Facts const& facts() const override { return facts_; }
  device::Device& device() override { return *this; }
  device::Link link_to(std::string const&) const override { return link; }

  std::size_t free_memory() const override { absent(); }
  void bind_thread() override { absent(); }
  std::unique_ptr<device::StreamBackend> make_stream(device::Priority,
                                                     std::string const&) override {
    absent();
  }
  std::unique_ptr<device::EventBackend> make_event() override { absent(); }
  std::unique_ptr<device::FlagBackend> make_flag() override { absent(); }
  void* allocate(std::size_t) override { absent(); }
  void release(void*) noexcept override {}
  core::Parsed<void*> allocate_shared(std::size_t) override { absent(); }
  void release_shared(void*) noexcept override {}
  core::Parsed<std::string> handle_of(void*) override { absent(); }
  core::Parsed<void*> open_shared(std::string const&) override { absent(); }
  void close_shared(void*) noexcept override {}
  void* allocate_pinned(std::size_t) override { absent(); }
  void release_pinned(void*) noexcept override {}
  void copy(void*, void const*, std::size_t) override { absent(); }
  void copy_2d(void*, std::size_t, void const*, std::size_t, std::size_t, std::size_t) override {
    absent();
  }
  void fill(void*, unsigned char, std::size_t) override { absent(); }
  void record(device::Event&) override { absent(); }
  void wait(device::Event const&) override { absent(); }
  void wait(device::Flag const&, std::uint32_t) override { absent(); }
  void wait(std::uint32_t const*, std::uint32_t) override { absent(); }
  void set(std::uint32_t*, std::uint32_t) override { absent(); }
  void run(std::function<void()>) override { absent(); }
  void synchronize() override { absent(); }

 private:
  [[noreturn]] static void absent() { throw std::logic_error{"only launch() is tested"}; }

  device::Kind kind_;
  device::Facts facts_;
};

/// A GPU, with kernels that were compiled for all that it has.
inline device::Facts facts_with(int compute_capability, int units) {
  device::Facts facts;
  facts.compute_capability = compute_capability;
  facts.code = {std::max(compute_capability, 1), true};  // 0 would be none
  facts.multiprocessors = units;
  return facts;
}

}  // namespace quadrille::test

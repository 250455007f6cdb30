// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "copy/copy.hpp"

#include "workloads/data.hpp"
#include "workloads/tables.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace quadrille::workloads {
namespace {

namespace copy = kernels::copy;

/// Between device (d) and host (h); the last three are two copies at once, on two streams.
enum class Direction { d2d, h2d, d2h, both, h2d_twice, d2h_twice };
constexpr auto enum_names(Direction) {
  return core::EnumNames<Direction, 6>{{{Direction::d2d, "d2d"},
                                        {Direction::h2d, "h2d"},
                                        {Direction::d2h, "d2h"},
                                        {Direction::both, "both"},
                                        {Direction::h2d_twice, "h2d_twice"},
                                        {Direction::d2h_twice, "d2h_twice"}}};
}

/// Page-locked when allocated, page-locked later, or plain.
enum class HostMemory { pinned, registered, pageable };
constexpr auto enum_names(HostMemory) {
  return core::EnumNames<HostMemory, 3>{{{HostMemory::pinned, "pinned"},
                                         {HostMemory::registered, "registered"},
                                         {HostMemory::pageable, "pageable"}}};
}

struct Parameters {
  Direction direction = Direction::d2d;
  HostMemory host_memory = HostMemory::pinned;
  std::int64_t chunk = 0;  ///< bytes of each copy; 0: all at once
  bool operator==(Parameters const&) const = default;
};

/// Copies within device memory, or between it and host memory of three kinds, one way, both at once, or
/// one way twice at once.
class Copy final : public measure::Workload {
 public:
  Copy(core::Case const& spec, int ranks, int rank)
      : case_{spec},
        p_{spec.parameters.as<Parameters>()},
        n_{spec.size[0]},
        ranks_{ranks},
        rank_{rank} {}

  measure::Description describe(measure::Selection const&) const override {
    measure::Description d;
    double const bytes = static_cast<double>(n_) * static_cast<double>(core::size_of(case_.type));
    // Memory reads and writes each byte, a link carries it once.
    bool const is_within = p_.direction == Direction::d2d;
    d.amount = (is_within || has_two() ? 2 : 1) * bytes * ranks_;
    d.unit = "B/s";
    if (is_within) d.device_bytes = d.amount;
    if (!is_within) d.pcie_bytes = (has_two() && !both() ? 2 : 1) * bytes * ranks_;
    if (is_within && bytes >= measure::kFarBeyondCaches) d.measures = measure::Resource::memory;
    if (both()) d.extras = {{"link, each way", bytes * ranks_, "B/s"}};
    d.memory_bytes = (is_within || has_two() ? 2 : 1) * bytes;
    d.host_bytes = is_within ? 0 : (has_two() ? 2 : 1) * bytes;
    // A copy of plain host memory may hold the host until it is done.
    d.traits = {.graph_capturable = is_within || !is_pageable(), .searches_best = true};
    return d;
  }

  std::string unsupported_reason(kernels::VariantInfo const& variant,
                                 device::Device const& device) const override {
    bool const is_kernel =
        device.kind() == device::Kind::cuda && variant.role != kernels::Role::vendor;
    if (is_kernel && is_pageable() && p_.direction != Direction::d2d) {
      return "is a kernel, which reaches host memory only where it is page-locked";
    }
    return row_of(copy::variants(), variant).unsupported_reason({nullptr, nullptr, copy_bytes()});
  }

  void prepare(comm::World& world, std::uint64_t seed, measure::Selection const&) override {
    if (from_.data == nullptr) {
      bool const is_down = p_.direction == Direction::d2h || p_.direction == Direction::d2h_twice;
      from_ = make(world, p_.direction != Direction::d2d && !is_down, 0);
      to_ = make(world, is_down, 1);
      if (has_two()) {
        bool const is_up_twice = p_.direction == Direction::h2d_twice;
        other_from_ = make(world, is_up_twice, 2);
        other_to_ = make(world, !is_up_twice, 3);
        forked_ = device::Event{world.device()};
        joined_ = device::Event{world.device()};
      }
    }
    source_ = {case_.data, seed, static_cast<std::uint64_t>(8 * rank_)};
    other_source_ = {case_.data, seed, static_cast<std::uint64_t>(8 * rank_ + 1)};
    fill(from_, row_from(0), source_, world, reach_of(from_));
    if (has_two()) fill(other_from_, row_from(0), other_source_, world, reach_of(other_from_));
  }

  void reset(comm::World& world, kernels::VariantInfo const&) override {
    for (device::MatrixView const& view : outputs_of(*this)) {
      if (reach_of(view) == Reach::host) {
        world.stream().run([view, n = bytes()] { std::memset(view.data, 0xFF, n); });
      } else {
        world.stream().fill(view.data, 0xFF, bytes());
      }
    }
  }

  void run(comm::World& world, measure::Leg, kernels::VariantInfo const& variant) override {
    if (has_two()) {
      world.stream().record(forked_);
      world.comm_stream().wait(forked_);
    }
    auto const& row = row_of(copy::variants(), variant);
    auto const size = static_cast<std::int64_t>(bytes());
    std::int64_t const chunk = std::max<std::int64_t>(1, copy_bytes());
    // Chunk by chunk on both streams: a copy of plain memory may hold the host until it is done.
    for (std::int64_t at = 0; at < size; at += chunk) {
      std::int64_t const n = std::min(chunk, size - at);
      row.launch(part(to_, from_, at, n), world.stream());
      if (has_two()) row.launch(part(other_to_, other_from_, at, n), world.comm_stream());
    }
    if (has_two()) {
      world.comm_stream().record(joined_);
      world.stream().wait(joined_);
    }
  }

  measure::Verdict validate(comm::World& world) override {
    std::int64_t const stride = check_stride(case_);
    Finding finding = compare("copy", to_, row_from(0), source_, world, stride, reach_of(to_));
    if (has_two() && finding.wrong == 0) {
      finding = compare("other copy", other_to_, row_from(0), other_source_, world, stride,
                        reach_of(other_to_));
    }
    return agree(world, finding);
  }

  std::vector<measure::Field> fields() override {
    auto const named = [&](std::string name, device::MatrixView const& view) {
      return of_rank_0(vector_field(std::move(name), view, n_), rank_);
    };
    std::vector<measure::Field> all{measure::input(named("from", from_)),
                                    measure::output(named("to", to_))};
    if (has_two()) {
      all.push_back(measure::input(named("other_from", other_from_)));
      all.push_back(measure::output(named("other_to", other_to_)));
    }
    for (measure::Field& field : all) field.is_pageable = reach_of(field.view) == Reach::host;
    return all;
  }

 private:
  bool both() const { return p_.direction == Direction::both; }
  bool has_two() const {
    return both() || p_.direction == Direction::h2d_twice || p_.direction == Direction::d2h_twice;
  }
  std::size_t bytes() const { return static_cast<std::size_t>(n_) * core::size_of(case_.type); }

  /// Of one copy; the last may have less.
  std::int64_t copy_bytes() const {
    auto const size = static_cast<std::int64_t>(bytes());
    return p_.chunk > 0 ? std::min(p_.chunk, size) : size;
  }

  bool is_pageable() const { return p_.host_memory == HostMemory::pageable; }
  Reach reach_of(device::MatrixView const& view) const {
    bool const on_host = std::ranges::any_of(
        plain_, [&](std::vector<std::byte> const& plain) { return plain.data() == view.data; });
    return on_host && is_pageable() ? Reach::host : Reach::device;
  }
  static copy::Problem part(device::MatrixView const& to, device::MatrixView const& from,
                            std::int64_t at, std::int64_t n) {
    return {static_cast<std::byte*>(to.data) + at, static_cast<std::byte const*>(from.data) + at,
            n};
  }

  device::MatrixView make(comm::World& world, bool on_host, std::size_t slot) {
    void* data = nullptr;
    if (on_host && p_.host_memory == HostMemory::pinned) {
      pinned_[slot] = {world.device(), static_cast<std::int64_t>(bytes())};
      data = pinned_[slot].data();
    } else if (on_host) {
      plain_[slot].resize(bytes());
      data = plain_[slot].data();
      if (!is_pageable()) registered_[slot] = {world.device(), data, bytes()};
    } else {
      device_[slot] = {world.device(), static_cast<std::int64_t>(bytes()), world.stream()};
      data = device_[slot].data();
    }
    return {data, case_.type, 1, n_, n_};
  }

  core::Case case_;
  Parameters p_;
  std::int64_t n_;
  int ranks_, rank_;
  Source source_, other_source_;
  std::array<device::Buffer<std::byte>, 4> device_;
  std::array<device::PinnedBuffer<std::byte>, 4> pinned_;
  std::array<std::vector<std::byte>, 4> plain_;
  std::array<device::HostRegistration, 4> registered_;
  device::MatrixView from_, to_, other_from_, other_to_;
  device::Event forked_, joined_;
};

}  // namespace

namespace entries {

extern measure::WorkloadEntry const copy = measure::entry({
    .schema = {.name = "copy",
               .extents = {"n"},
               .keys = {.any_bits = true},
               .defaults = core::Parameters{Parameters{}},
               .options = {core::options::choice(
                               "operation", core::options::at(&Parameters::direction),
                               "within the device, from or to the host, both ways at once, or "
                               "one way twice at once, on two streams"),
                           core::options::choice("host_memory",
                                                 core::options::at(&Parameters::host_memory),
                                                 "host side of all but d2d: page-locked when "
                                                 "allocated, page-locked later, or plain"),
                           core::options::method(
                               core::options::bytes("chunk", core::options::at(&Parameters::chunk),
                                                    "bytes of each copy; 0: all in one"))}},
    .summary = "copies within a device or between it and pinned, registered or plain host memory",
    .work =
        "per rank 2 n s bytes within a device, read and written; n s to or from the host, 2 n s "
        "both ways or twice",
    .local = true,
    .variants = rows_of(copy::variants()),
    .make = measure::make<Copy>,
    .secondary = {{"link, each way", "B/s",
                   "bytes of one direction, over the time of both at once."}},
});

}  // namespace entries

}  // namespace quadrille::workloads

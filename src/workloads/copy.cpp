// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "copy/copy.hpp"

#include "workloads/data.hpp"
#include "workloads/makers.hpp"
#include "workloads/tables.hpp"

namespace quadrille::workloads {
namespace {

namespace copy = kernels::copy;

/// Copies within device memory, or between it and pinned host memory, one way or both at once.
class Copy final : public measure::Workload {
 public:
  Copy(core::Case const& one, int ranks, int rank)
      : case_{one}, n_{one.size[0]}, ranks_{ranks}, rank_{rank} {}

  measure::Description describe() const override {
    measure::Description d;
    double const bytes = static_cast<double>(n_) * static_cast<double>(core::size_of(case_.type));
    d.amount = 2 * bytes * (both() ? 2 : 1) * ranks_;
    d.unit = "B/s";
    d.device_bytes = d.amount;
    d.memory_bytes = (both() ? 4 : 2) * bytes;
    return d;
  }

  std::vector<kernels::VariantInfo const*> variants() const override {
    return rows_of(copy::variants());
  }
  std::string_view best(device::Kind) const override { return "kokkos"; }

  void prepare(comm::World& world, std::uint64_t seed) override {
    if (from_.data == nullptr) {
      from_ = make(world, case_.operation == "h2d" || both(), 0);
      to_ = make(world, case_.operation == "d2h", 1);
      if (both()) {
        back_from_ = make(world, false, 2);
        back_to_ = make(world, true, 3);
        forked_ = device::Event{world.device()};
        joined_ = device::Event{world.device()};
      }
    }
    source_ = {case_.data, seed, static_cast<std::uint64_t>(8 * rank_)};
    back_source_ = {case_.data, seed, static_cast<std::uint64_t>(8 * rank_ + 1)};
    fill(from_, whole(1, n_), source_, world);
    if (both()) fill(back_from_, whole(1, n_), back_source_, world);
  }

  void reset(comm::World& world) override {
    for (device::MatrixView const& view : outputs()) world.stream().fill(view.data, 0xFF, bytes());
  }

  void run(comm::World& world, measure::Leg, kernels::VariantInfo const& variant) override {
    auto const size = static_cast<std::int64_t>(bytes());
    if (both()) {
      world.stream().record(forked_);
      world.comm_stream().wait(forked_);
      launch<copy::Problem>(variant, {back_to_.data, back_from_.data, size}, world.comm_stream());
      world.comm_stream().record(joined_);
    }
    launch<copy::Problem>(variant, {to_.data, from_.data, size}, world.stream());
    if (both()) world.stream().wait(joined_);
  }

  measure::Verdict validate(comm::World& world) override {
    Finding finding;
    core::visit_type(case_.type, [&](auto zero) {
      using T = decltype(zero);
      auto const compare = [&](std::string_view name, device::MatrixView const& view,
                               Source const& source) {
        return compare_exactly<T>(
            name, view, whole(1, n_), world, check_stride(case_),
            [&](std::int64_t i, std::int64_t j) { return source.at<T>(i, j); });
      };
      finding = compare("copy", to_, source_);
      if (both() && finding.wrong == 0) finding = compare("copy back", back_to_, back_source_);
    });
    return agree(world, finding);
  }

  std::vector<device::MatrixView> outputs() override {
    if (both()) return {to_, back_to_};
    return {to_};
  }

 private:
  bool both() const { return case_.operation == "both"; }
  std::size_t bytes() const { return static_cast<std::size_t>(n_) * core::size_of(case_.type); }

  device::MatrixView make(comm::World& world, bool pinned, std::size_t slot) {
    void* data = nullptr;
    if (pinned) {
      pinned_[slot] = {world.device(), static_cast<std::int64_t>(bytes())};
      data = pinned_[slot].data();
    } else {
      device_[slot] = {world.device(), static_cast<std::int64_t>(bytes()), world.stream()};
      data = device_[slot].data();
    }
    return {data, case_.type, 1, n_, n_};
  }

  core::Case case_;
  std::int64_t n_;
  int ranks_, rank_;
  Source source_, back_source_;
  std::array<device::Buffer<std::byte>, 4> device_;
  std::array<device::PinnedBuffer<std::byte>, 4> pinned_;
  device::MatrixView from_, to_, back_from_, back_to_;
  device::Event forked_, joined_;
};

}  // namespace

std::unique_ptr<measure::Workload> make_copy(core::Case const& one, int ranks, int rank) {
  return std::make_unique<Copy>(one, ranks, rank);
}

}  // namespace quadrille::workloads

// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/serving/measured_times.hpp"

#include "gemm/gemm.hpp"
#include "measure/quick_time.hpp"
#include "workloads/data.hpp"
#include "workloads/product_check.hpp"

#include <vector>

namespace quadrille::workloads::serving {
namespace {

namespace gemm = kernels::gemm;

constexpr std::int64_t kCopyBytes = 32 << 20;

kernels::Variant<gemm::Problem> const& best_for(gemm::Problem const& problem,
                                                device::Device const& device) {
  kernels::Variant<gemm::Problem> const* best = nullptr;
  for (kernels::Variant<gemm::Problem> const& row : gemm::variants()) {
    bool const takes = row.role == kernels::Role::own && row.is_built() &&
                       kernels::unsupported_reason(row, device.kind(), device.facts()).empty() &&
                       row.unsupported_reason(problem).empty();
    if (takes && (best == nullptr || row.preference > best->preference)) best = &row;
  }
  QUAD_REQUIRE(best != nullptr,
               "serving: no gemm variant takes the products of the model; state its times");
  return *best;
}

}  // namespace

StepTimes measure_times(comm::World& world, Transformer const& model, core::DataType type,
                        std::int64_t most_rows) {
  device::Device& device = world.device();
  device::StreamView const stream = world.stream();
  std::int64_t const width = model.width();
  device::Matrix const a{device, type, most_rows, width, stream};
  device::Matrix const b{device, type, width, width, stream};
  device::Matrix const c{device, type, most_rows, width, stream};
  fill(a.view(), whole(most_rows, width), {core::DataKind::uniform, 1, 0}, world);
  fill(b.view(), whole(width, width), {core::DataKind::uniform, 1, 1}, world);

  std::vector<StepTimes::Product> products;
  std::vector<double> seconds;
  for (std::int64_t rows = 1;; rows = std::min(4 * rows, most_rows)) {
    gemm::Problem problem;
    problem.a = a.view().block(0, 0, rows, width);
    problem.b = b.view();
    problem.c = c.view().block(0, 0, rows, width);
    kernels::Variant<gemm::Problem> const& row = best_for(problem, device);
    device::Buffer<std::byte> const scratch =
        product_scratch(row.scratch_bytes(problem, device.facts()), world);
    problem.scratch = scratch.data();
    problem.scratch_bytes = scratch.bytes();
    products.push_back({static_cast<double>(rows), 0});
    seconds.push_back(measure::quick_seconds(world, [&] { row.launch(problem, stream); }));
    if (rows == most_rows) break;
  }

  device::Buffer<std::byte> const from{device, kCopyBytes, stream}, to{device, kCopyBytes, stream};
  device::PinnedBuffer<std::byte> const host{device, kCopyBytes};
  seconds.push_back(
      measure::quick_seconds(world, [&] { stream.copy(to.data(), from.data(), from.bytes()); }));
  seconds.push_back(
      measure::quick_seconds(world, [&] { stream.copy(to.data(), host.data(), from.bytes()); }));

  for (std::size_t i = 0; i < products.size(); ++i) products[i].seconds = seconds[i];
  auto const w = static_cast<double>(width);
  double const flop_rate = 2 * products.back().rows * w * w / products.back().seconds;
  double const copy_s = seconds[products.size()], link_s = seconds.back();
  return {model, std::move(products), flop_rate, 2.0 * kCopyBytes / copy_s, kCopyBytes / link_s};
}

}  // namespace quadrille::workloads::serving

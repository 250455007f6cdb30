// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/checks/limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

namespace quadrille::workloads {
namespace {

double largest_of(core::DataType type) {
  switch (type) {
    case core::DataType::f64: return std::numeric_limits<double>::max();
    case core::DataType::f32: return std::numeric_limits<float>::max();
    case core::DataType::f16: return 65504;
    case core::DataType::bf16: return 0x1.fep127;
    case core::DataType::e4m3: return 448;
    case core::DataType::e5m2: return 57344;
    case core::DataType::i64: return 0x1p63;
    case core::DataType::i32: return 0x1p31 - 1;
    case core::DataType::i8: return 127;
  }
  return 0;
}

double largest_of(core::Compute compute) {
  switch (compute) {
    case core::Compute::f64: return largest_of(core::DataType::f64);
    case core::Compute::f16: return largest_of(core::DataType::f16);
    case core::Compute::i64: return largest_of(core::DataType::i64);
    case core::Compute::i32: return largest_of(core::DataType::i32);
    case core::Compute::f32:
    case core::Compute::tf32:
    case core::Compute::bf16:
    case core::Compute::emulated:
    case core::Compute::automatic: break;
  }
  return largest_of(core::DataType::f32);
}

}  // namespace

double held_scalar(double value, core::Compute compute) {
  double const epsilon = core::epsilon_of(compute);
  if (epsilon == 0 || compute == core::Compute::f64) return value;
  if (std::abs(value) > largest_of(core::DataType::f32)) {
    return std::copysign(std::numeric_limits<double>::infinity(), value);
  }
  return core::rounded_to(core::DataType::f32, value);
}

std::string scalars_problem(double alpha, double beta, core::Compute compute) {
  for (auto const& [name, value] : {std::pair{"alpha", alpha}, std::pair{"beta", beta}}) {
    if (std::isinf(held_scalar(value, compute))) {
      return fmt::format("{} = {} is infinite in f32; take a smaller one", name, value);
    }
  }
  if (alpha == 0) return "has nothing of A B in C; take an alpha other than 0";
  if (held_scalar(alpha, compute) != 0) return {};
  return fmt::format("alpha = {} is 0 in f32; take a larger one", alpha);
}

Limits::Limits(core::DataType out, core::Compute compute, bool stores_parts, double unit)
    : out_{out},
      largest_{largest_of(out) / unit},
      largest_part_{largest_of(compute) / unit},
      largest_sum_{largest_of(compute)},
      least_normal_{
          core::epsilon_of(out) == 0 ? 0 : core::least_of(out) / core::epsilon_of(out) / unit} {
  if (stores_parts) largest_part_ = std::min(largest_part_, largest_);
}

bool Limits::is_beyond(Element const& e) {
  bool is_beyond = false;
  if (is_integral()) {
    is_beyond = std::abs(e.want) > std::min(largest_, largest_part_);
  } else if (!std::isfinite(e.got)) {
    bool const may_part =
        e.ab / std::abs(e.alpha) > largest_sum_ || e.ab + std::abs(e.added) > largest_part_;
    bool const may_whole = std::isinf(e.got) && std::signbit(e.got) == std::signbit(e.want) &&
                           std::abs(e.want) + e.bound >= largest_;
    is_beyond = may_part || may_whole;
  }
  if (is_beyond) ++beyond_;
  return is_beyond;
}

void Limits::take(double size) {
  squares_ += size * size;
  ++count_;
}

void Limits::judge(measure::Verdict& verdict, comm::World const& world) const {
  std::array<double, 3> sums{beyond_, squares_, count_};
  world.group().sum(std::span{sums});
  if (!verdict.valid || !verdict.skipped.empty()) return;
  auto const [beyond, squares, count] = sums;
  if (beyond > 0) {
    verdict.skipped = fmt::format(
        "elements are beyond the largest number of {}, which shows no other damage: take smaller "
        "scalars or sums, or a wider type",
        core::to_text(out_));
  } else if (squares > 0 && std::sqrt(squares / count) < least_normal_) {
    verdict.skipped = fmt::format(
        "elements are below the normal numbers of {}, and have lost digits: take larger scalars or "
        "a wider type",
        core::to_text(out_));
  }
}

}  // namespace quadrille::workloads

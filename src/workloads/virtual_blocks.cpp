// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/virtual_blocks.hpp"

#include <algorithm>
#include <vector>

namespace quadrille::workloads {

namespace reduction = kernels::reduction;

RankReduction::RankReduction(comm::World& world, core::Case const& spec, Operation operation,
                             bool reproducible)
    : operation_{operation},
      reproducible_{reproducible},
      mine_{blocks_of(world.size(), world.rank())},
      ranks_{world.size()},
      total_at_{ranks_ == 1 && !reproducible_ ? 0 : 1},
      outputs_{world.device(), total_at_ + 1, world.stream()} {
  if (ranks_ > 1) {
    channel_ = world.transport(spec).connect(world.group(), comm::Order::on_caller_stream);
  }
  if (!reproducible_) return;
  blocks_ = {world.device(), mine_.count, world.stream()};
  gathered_ = {world.device(), reduction::kVirtualBlocks, world.stream()};
  host_ = {world.device(), reduction::kVirtualBlocks + 1};
}

void RankReduction::reset(comm::World& world) {
  world.stream().fill(outputs_.data(), 0xFF, outputs_.bytes());
  world.stream().fill(blocks_.data(), 0xFF, blocks_.bytes());
  world.stream().fill(gathered_.data(), 0xFF, gathered_.bytes());
}

void RankReduction::run(comm::World& world) {
  device::StreamView const stream = world.stream();
  if (!reproducible_) {
    if (ranks_ == 1) return;
    comm::ReduceOp const op = operation_ == Operation::min   ? comm::ReduceOp::min
                              : operation_ == Operation::max ? comm::ReduceOp::max
                                                             : comm::ReduceOp::sum;
    channel_
        ->allreduce({outputs_.data(), sizeof(double)}, {outputs_.data() + 1, sizeof(double)},
                    core::DataType::f64, op, stream)
        .wait_on(stream);
    return;
  }
  if (ranks_ == 1) {
    stream.copy(gathered_.data(), blocks_.data(), blocks_.bytes());
  } else {
    std::vector<comm::Piece> all;
    for (int r = 0; r < ranks_; ++r) {
      core::Range const range = blocks_of(ranks_, r);
      all.push_back(
          {gathered_.data() + range.first, static_cast<std::size_t>(range.count) * sizeof(double)});
    }
    channel_->allgather({blocks_.data(), blocks_.bytes()}, all, stream).wait_on(stream);
  }
  // 32 KiB once per repetition: the host adds them, in the one order that all devices share.
  stream.copy(host_.data(), gathered_.data(), gathered_.bytes());
  stream.run([operation = operation_, host = host_.span()] {
    host.back() = reduction::combine_blocks(operation, host.first(host.size() - 1));
  });
  stream.copy(outputs_.data() + 1, host_.data() + reduction::kVirtualBlocks, sizeof(double));
}

std::vector<measure::Field> RankReduction::fields() const {
  if (!reproducible_) {
    return {measure::output(
        {outputs_.data(), core::DataType::f64, 1, outputs_.size(), outputs_.size()})};
  }
  return {measure::output(my_blocks()),
          measure::output({outputs_.data() + 1, core::DataType::f64, 1, 1, 1})};
}

measure::Field RankReduction::total(std::string name) const {
  device::MatrixView const view{outputs_.data() + total_at_, core::DataType::f64, 1, 1, 1};
  return of_rank_0(vector_field(std::move(name), view, 1), mine_.first == 0 ? 0 : 1);
}

device::MatrixView RankReduction::my_blocks() const {
  return {blocks_.data(), core::DataType::f64, 1, mine_.count, mine_.count};
}

double RankReduction::partial_value(comm::World const& world) const {
  if (!reproducible_)
    return download<double>({outputs_.data(), core::DataType::f64, 1, 1, 1}, world.stream())[0];
  std::vector<double> const mine = download<double>(my_blocks(), world.stream());
  double value = reduction::identity(operation_);
  for (double const x : mine) {
    bool const better = operation_ == Operation::min ? !(x >= value) : !(x <= value);
    if (operation_ == Operation::min || operation_ == Operation::max) {
      value = better ? x : value;
    } else {
      value += x;
    }
  }
  return value;
}

void RankReduction::check_gathered(comm::World const& world, Finding& finding) const {
  if (!reproducible_) return;
  std::vector<double> const mine = download<double>(my_blocks(), world.stream());
  std::vector<double> const got = download<double>(
      {gathered_.data(), core::DataType::f64, 1, gathered_.size(), gathered_.size()},
      world.stream());
  std::vector<double> want(got.size(), 0.0);
  std::copy(mine.begin(), mine.end(), want.begin() + mine_.first);
  world.group().sum(std::span{want});
  for (std::size_t v = 0; v < want.size(); ++v) {
    finding.check(got[v] == want[v] ? 0 : 2, 1, [&] {
      return fmt::format("virtual block {} on rank {}: expected {:.17g}, got {}", v, world.rank(),
                         want[v], shown(got[v], 17));
    });
  }
}

double RankReduction::total_value(comm::World const& world) const {
  return download<double>({outputs_.data() + total_at_, core::DataType::f64, 1, 1, 1},
                          world.stream())[0];
}

}  // namespace quadrille::workloads

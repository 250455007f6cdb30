// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/exchange.hpp"

namespace quadrille::workloads {
namespace {

struct Parameters {
  comm::ReduceOp operation = comm::ReduceOp::sum;
  bool operator==(Parameters const&) const = default;
};

/// Every rank gets the element-wise sum, minimum or maximum of all ranks' rows.
class Allreduce final : public Exchange {
 public:
  Allreduce(core::Case const& spec, int ranks, int rank)
      : Exchange{spec, ranks, rank}, op_{spec.parameters.as<Parameters>().operation} {}

  measure::Description describe(measure::Selection const&) const override {
    measure::Description d;
    d.traits = {.communicates = true, .replicated = true, .can_pipeline = true};
    d.amount = bytes();
    d.unit = "B/s";
    // Each element must leave every rank once to be reduced and come back once.
    d.network_bytes = 2 * (ranks_ - 1) * bytes();
    d.traffic = {comm::Operation::allreduce, bytes()};
    d.extras = bandwidths(comm::Operation::allreduce);
    d.memory_bytes = 2 * bytes();
    return d;
  }

  measure::Verdict validate(comm::World& world) override {
    bool const whole_numbers = core::epsilon_of(case_.type) == 0 || op_ != comm::ReduceOp::sum ||
                               core::is_whole(case_.data);
    double const allowed = whole_numbers ? 0 : ranks_;
    // This rank judges its slice; who else holds another one's bits is wrong.
    Finding finding = judge(world, slice(rank_), check_stride(case_), allowed);
    std::vector<std::int64_t> const mine = digests(world);
    std::vector<std::int64_t> judged(2 * mine.size());  // of each slice: digest, wrong elements
    judged[2 * index(rank_)] = mine[index(rank_)];
    judged[2 * index(rank_) + 1] = finding.wrong;
    world.group().sum(std::span{judged});
    for (int r = 0; r < ranks_; ++r) {
      bool const is_right = judged[2 * index(r) + 1] == 0;
      if (is_right && judged[2 * index(r)] != mine[index(r)]) {
        finding.add(difference(world, r, finding.wrong > 0, allowed));
      }
    }
    finding.allowed = allowed;
    return agree(world, finding);
  }

 private:
  static std::size_t index(int r) { return comm::index(r); }

  /// The elements that rank r judges.
  core::Range slice(int r) const { return core::split_evenly(n_, ranks_, r); }

  /// Each of these elements on this rank against the reduction of all ranks' rows.
  Finding judge(comm::World const& world, core::Range const& elements, std::int64_t stride,
                double allowed) const {
    Finding found;
    for_host_tiles(out_.view().block(0, elements.first, 1, elements.count), world,
                   [&](device::MatrixView const& tile, std::int64_t, std::int64_t col) {
                     core::visit_type(case_.type, [&](auto zero) {
                       found.add(judge_tile<decltype(zero)>(world, tile, elements.first + col,
                                                            stride, allowed));
                     });
                   });
    return found;
  }

  template <class T>
  Finding judge_tile(comm::World const& world, device::MatrixView const& tile, std::int64_t first,
                     std::int64_t stride, double allowed) const {
    auto const* const got = static_cast<T const*>(tile.data);
    return judge_all(world, tile.cols, stride, [&](Finding& found, std::int64_t at) {
      std::int64_t const i = first + at;
      auto want = static_cast<double>(source().at<T>(0, i));
      double weight = std::abs(want);
      for (int r = 1; r < ranks_; ++r) {
        auto const x = static_cast<double>(source().at<T>(r, i));
        weight += std::abs(x);
        want = op_ == comm::ReduceOp::sum   ? want + x
               : op_ == comm::ReduceOp::min ? std::min(want, x)
                                            : std::max(want, x);
      }
      auto const have = static_cast<double>(got[at]);
      double const error = std::abs(have - want);
      found.check(
          allowed == 0 || error == 0 ? error : error / (core::epsilon_of(case_.type) * weight),
          allowed, [&] {
            return fmt::format("out({}) on rank {}: expected {:.9g}, got {}", i, rank_, want,
                               shown(have));
          });
    });
  }

  /// Of the bits that this rank holds of each slice.
  std::vector<std::int64_t> digests(comm::World const& world) const {
    device::StreamView const stream = world.stream();
    device::Buffer<std::int64_t> const sums{world.device(), ranks_, stream};
    stream.fill(sums.data(), 0, sums.bytes());
    for (int r = 0; r < ranks_; ++r) {
      kernels::generate::digest(out_.view().block(0, slice(r).first, 1, slice(r).count),
                                reinterpret_cast<std::uint64_t*>(sums.data() + r), stream);
    }
    std::vector<std::int64_t> host(index(ranks_));
    stream.copy(host.data(), sums.data(), sums.bytes());
    stream.synchronize();
    return host;
  }

  /// What is wrong with this rank's copy of a slice that rank r holds right. One slice is looked
  /// through: all of them would take as long as on one rank.
  Finding difference(comm::World const& world, int r, bool is_named, double allowed) const {
    Finding found;
    if (!is_named) found = judge(world, slice(r), 1, allowed);
    if (found.wrong > 0) return found;
    found.error = std::max(found.error, 2 * allowed + 1);
    found.wrong = 1;
    found.first_wrong = fmt::format(
        "out({}) to out({}) on rank {}: expected the bits that rank {} holds, got others",
        slice(r).first, slice(r).first + slice(r).count - 1, rank_, r);
    return found;
  }

  measure::Field output_field(std::string name, device::MatrixView const& view) const override {
    return of_rank_0(vector_field(std::move(name), view, n_), rank_);
  }

  comm::Request exchange(comm::Channel& channel, device::StreamView stream) override {
    return channel.allreduce(in_piece(0, n_), out_piece(0, n_), case_.type, op_, stream);
  }

  comm::ReduceOp op_;
};

/// Bytes as of a ring, latency as of a tree. (R. Thakur, R. Rabenseifner, W. Gropp: Optimization of
/// collective communication operations in MPICH, 2005.)
measure::RankWork work_of(core::Case const& spec, measure::RankLayout const& layout, double) {
  auto const ranks = static_cast<double>(layout.ranks);
  auto const s = static_cast<double>(core::size_of(spec.type));
  double const bytes = 2 * (ranks - 1) / ranks * s * static_cast<double>(spec.size[0]);
  // Of a ring one rank of a node receives from another one.
  return {.amount = bytes,
          .messages = 2 * measure::tree_depth(ranks),
          .bytes = bytes,
          .node_bytes = layout.nodes() > 1 ? bytes : 0};
}

std::string misfit_of(core::Case const&, measure::RankLayout const& layout) {
  return layout.ranks > 1 ? "" : "one rank exchanges nothing";
}

constexpr measure::CostModel kCost{work_of, false, 0, misfit_of};

}  // namespace

namespace entries {

extern measure::WorkloadEntry const allreduce = measure::entry({
    .schema = {.name = "allreduce",
               .extents = {"n"},
               .keys = {.transport = true},
               .defaults = core::Parameters{Parameters{}},
               .options = {core::options::choice("operation",
                                                 core::options::at(&Parameters::operation),
                                                 "what is done with the elements of all ranks")}},
    .summary = "element-wise sum, min or max over ranks",
    .work = "S = n s bytes; algbw S / t, busbw 2 (P - 1) / P S / t",
    .local = false,
    .variants = exchange_rows(),
    .make = measure::make<Allreduce>,
    .secondary = exchange_metrics(),
    .cost_model = &kCost,
});

}  // namespace entries

}  // namespace quadrille::workloads

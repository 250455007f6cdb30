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
    d.traits = {.communicates = true, .replicated = true, .back_to_back = true};
    d.amount = bytes();
    d.unit = "B/s";
    // Each element must leave every rank once to be reduced and come back once: with the work
    // shared evenly, 2 (P - 1) / P of the row crosses each link in each direction.
    d.network_bytes = 2 * (ranks_ - 1) * bytes();
    d.extras = {{"bus", d.network_bytes / ranks_, "B/s"}};
    d.memory_bytes = 2 * bytes();
    return d;
  }

  measure::Verdict validate(comm::World& world) override {
    Finding finding;
    bool const whole_numbers = core::epsilon_of(case_.type) == 0 || op_ != comm::ReduceOp::sum ||
                               core::is_whole(case_.data);
    double const allowed = whole_numbers ? 0 : ranks_;
    core::visit_type(case_.type, [&](auto zero) {
      using T = decltype(zero);
      std::vector<T> const got = download<T>(out_.view(), world.stream());
      finding = judge_all(world, n_, check_stride(case_), [&](Finding& found, std::int64_t i) {
        double want = static_cast<double>(source_of(0).at<T>(0, i));
        double weight = std::abs(want);
        for (int r = 1; r < ranks_; ++r) {
          auto const x = static_cast<double>(source_of(r).at<T>(0, i));
          weight += std::abs(x);
          want = op_ == comm::ReduceOp::sum   ? want + x
                 : op_ == comm::ReduceOp::min ? std::min(want, x)
                                              : std::max(want, x);
        }
        auto const have = static_cast<double>(got[static_cast<std::size_t>(i)]);
        double const error = std::abs(have - want);
        found.check(
            whole_numbers || error == 0 ? error : error / (core::epsilon_of(case_.type) * weight),
            allowed, [&] {
              return fmt::format("out({}) on rank {}: expected {:.9g}, got {:.9g}", i, rank_, want,
                                 have);
            });
      });
    });
    finding.allowed = allowed;
    return agree(world, finding);
  }

 private:
  comm::Request exchange(comm::Channel& channel, device::StreamView stream) override {
    return channel.allreduce(in_piece(0, n_), out_piece(0, n_), case_.type, op_, stream);
  }

  comm::ReduceOp op_;
};

}  // namespace

namespace entries {

extern measure::WorkloadEntry const allreduce{
    .schema = {.name = "allreduce",
               .extents = {"n"},
               .keys = {.transport = true},
               .defaults = core::Parameters{Parameters{}},
               .options = {core::options::choice("operation",
                                                 core::options::at(&Parameters::operation),
                                                 "what is done with the elements of all ranks")},
               .variants = measure::names_of(exchange_rows())},
    .summary = "element-wise sum, min or max over ranks",
    .work = "S = n s bytes; bus bandwidth 2 (P - 1) / P S / t",
    .local = false,
    .variants = exchange_rows(),
    .make = measure::make<Allreduce>,
};

}  // namespace entries

}  // namespace quadrille::workloads

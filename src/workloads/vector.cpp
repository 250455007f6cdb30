// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "vector/vector.hpp"

#include "workloads/data.hpp"
#include "workloads/tables.hpp"

namespace quadrille::workloads {
namespace {

namespace vector = kernels::vector;

struct Parameters {
  vector::Operation operation = vector::Operation::add;
  bool operator==(Parameters const&) const = default;
};

/// Element-wise operations on vectors of each rank's own.
class Vector final : public measure::Workload {
 public:
  Vector(core::Case const& spec, int ranks, int rank)
      : case_{spec},
        n_{spec.size[0]},
        ranks_{ranks},
        rank_{rank},
        operation_{spec.parameters.as<Parameters>().operation} {}

  measure::Description describe(measure::Selection const& selected) const override {
    measure::Description d;
    auto const n = static_cast<double>(n_);
    auto const s = static_cast<double>(core::size_of(case_.type));
    d.amount = vector::bytes(operation_, n, s) * ranks_;
    d.unit = "B/s";
    d.device_bytes = d.amount;
    d.memory_bytes = 3 * (n + static_cast<double>(longest_shift(selected))) * s;
    d.traits = {.recordable = true};
    d.flop = vector::flop(operation_, n) * ranks_;
    d.extras = {{"arithmetic", d.flop, "FLOP/s"}};
    return d;
  }

  std::string unsupported_reason(kernels::VariantInfo const& variant,
                                 device::Device const&) const override {
    return row_of<vector::Problem>(variant).unsupported_reason(problem());
  }

  void prepare(comm::World& world, std::uint64_t seed,
               measure::Selection const& selected) override {
    if (x_.view().data == nullptr) {
      for (device::Matrix* matrix : {&x_, &y_, &out_})
        *matrix = {world.device(), case_.type, 1, n_ + longest_shift(selected), world.stream()};
    }
    sx_ = {case_.data, seed, static_cast<std::uint64_t>(8 * rank_)};
    sy_ = {case_.data, seed, static_cast<std::uint64_t>(8 * rank_ + 1)};
    fill(x_.view(), row_from(0), sx_, world);
    fill(y_.view(), row_from(0), sy_, world);
  }

  void reset(comm::World& world, kernels::VariantInfo const&) override {
    world.stream().fill(out_.view().data, 0xFF, out_.bytes());
  }

  void run(comm::World& world, measure::Leg, kernels::VariantInfo const& variant) override {
    auto const& row = row_of<vector::Problem>(variant);
    shift_ = row.specifics.notes.shift;
    row.launch(problem(), world.stream());
  }

  measure::Verdict validate(comm::World& world) override {
    Finding finding;
    // One rounding for the sum; the quadratic has at most four, with or without fused operations.
    double const roundings = operation_ == vector::Operation::add ? 0.5 : 2;
    for_host_tiles(shifted(out_), world,
                   [&](device::MatrixView const& tile, std::int64_t, std::int64_t first) {
                     finding.add(judge(tile, first, roundings, world));
                   });
    finding.allowed = roundings;
    return agree(world, finding);
  }

  std::vector<measure::Field> fields() override {
    auto const named = [&](std::string name, device::Matrix const& matrix) {
      return of_rank_0(vector_field(std::move(name), shifted(matrix), n_), rank_);
    };
    std::vector<measure::Field> all{measure::output(named("out", out_)),
                                    measure::input(named("x", x_))};
    if (operation_ == vector::Operation::add) all.push_back(measure::input(named("y", y_)));
    return all;
  }

 private:
  /// Elements [first, first + tile.cols) of the output.
  Finding judge(device::MatrixView const& tile, std::int64_t first, double roundings,
                comm::World const& world) const {
    vector::Problem const p = problem();
    bool const add = operation_ == vector::Operation::add;
    return core::visit_type(case_.type, [&](auto zero) {
      using T = decltype(zero);
      auto const* const got = static_cast<T const*>(tile.data);
      return judge_all(world, tile.cols, check_stride(case_), [&](Finding& found, std::int64_t at) {
        std::int64_t const i = first + at;
        double const x = static_cast<double>(sx_.at<T>(0, i + shift_));
        double const y = static_cast<double>(sy_.at<T>(0, i + shift_));
        double const want = add ? x + y : (p.a * x + p.b) * x + p.c;
        double const weight =
            add ? std::abs(want) : std::abs(p.a * x * x) + std::abs(p.b * x) + std::abs(p.c);
        double const difference = std::abs(static_cast<double>(got[at]) - want);
        double const scale = core::epsilon_of(case_.type) * weight;
        found.check(difference == 0 ? 0 : difference / scale, roundings, [&] {
          return fmt::format("out({}) on rank {}: expected {:.9g}, got {:.9g}", i, rank_, want,
                             static_cast<double>(got[at]));
        });
      });
    });
  }

  static std::int64_t longest_shift(measure::Selection const& selected) {
    std::int64_t longest = 0;
    for (kernels::VariantInfo const* variant : selected) {
      longest = std::max(longest, row_of<vector::Problem>(*variant).specifics.notes.shift);
    }
    return longest;
  }
  vector::Problem problem() const {
    return {operation_, case_.type, shifted(x_).data, shifted(y_).data, shifted(out_).data, n_};
  }
  /// The elements that the variant works on: it may leave the first one out.
  device::MatrixView shifted(device::Matrix const& matrix) const {
    return matrix.view().block(0, shift_, 1, n_);
  }

  core::Case case_;
  std::int64_t n_;
  int ranks_, rank_;
  std::int64_t shift_ = 0;
  vector::Operation operation_;
  Source sx_, sy_;
  device::Matrix x_, y_, out_;
};

}  // namespace

namespace entries {

extern measure::WorkloadEntry const vector{
    .schema = {.name = "vector",
               .extents = {"n"},
               .defaults = core::Parameters{Parameters{}},
               .options = {core::options::choice("operation",
                                                 core::options::at(&Parameters::operation),
                                                 "add: x + y; quadratic: a x^2 + b x + c")},
               .variants = measure::names_of(rows_of(vector::variants()))},
    .summary = "element-wise x + y or a x^2 + b x + c",
    .work = "3 n s or 2 n s bytes per rank",
    .local = true,
    .variants = rows_of(vector::variants()),
    .make = measure::make<Vector>,
};

}  // namespace entries

}  // namespace quadrille::workloads

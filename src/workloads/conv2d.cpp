// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "conv2d/conv2d_library.hpp"
#include "workloads/checks/convolution.hpp"
#include "workloads/convolution.hpp"
#include "workloads/tables.hpp"

#include <limits>

namespace quadrille::workloads {
namespace {

namespace conv2d = kernels::conv2d;

struct Parameters {
  ConvolutionKeys keys;
  bool operator==(Parameters const&) const = default;
};

ConvolutionKeys const& keys_of(core::Case const& spec) {
  return spec.parameters.as<Parameters>().keys;
}

/// y = convolution of x by w on every rank at once, each with data of its own.
class Conv2d final : public measure::Workload {
 public:
  Conv2d(core::Case const& spec, int ranks, int rank)
      : case_{spec},
        problem_{conv2d::unallocated(shape_of(spec, keys_of(spec)), keys_of(spec).layout, spec.type,
                                     spec.compute)},
        ranks_{ranks},
        rank_{rank} {}

  measure::Description describe(measure::Selection const&) const override {
    conv2d::Shape const& shape = problem_.shape;
    auto const width = static_cast<double>(core::size_of(case_.type));
    measure::Description d;
    d.amount = conv2d::flop(shape) * ranks_;
    d.unit = "FLOP/s";
    d.flop = d.amount;
    d.memory_bytes = conv2d::compulsory_bytes(shape, width);
    d.device_bytes = d.memory_bytes * ranks_;
    d.extras = {{"column matrix", conv2d::column_bytes(shape, width), "B"},
                {"intensity", d.flop / d.device_bytes, "flop/B"}};
    d.traits = {.graph_capturable = true, .searches_best = true};
    return d;
  }

  std::string unsupported_reason(kernels::VariantInfo const& variant,
                                 device::Device const&) const override {
    return row_of(conv2d::variants(), variant).unsupported_reason(problem_);
  }

  double scratch_bytes(measure::Selection const& selected,
                       device::Facts const& device) const override {
    return static_cast<double>(max_scratch(conv2d::variants(), problem_, selected, device)) +
           workspace_bytes(selected);
  }

  void prepare(comm::World& world, std::uint64_t seed,
               measure::Selection const& selected) override {
    if (y_.view().data == nullptr) allocate(world, selected);
    // Tags differ by rank, so that another rank's data are wrong data.
    auto const tag = static_cast<std::uint64_t>(8 * rank_);
    source_x_ = {case_.data, seed, tag};
    source_w_ = {case_.data, seed, tag + 1};
    fill(problem_.x, whole(problem_.x.rows, problem_.x.cols), source_x_, world);
    fill(problem_.w, whole(problem_.w.rows, problem_.w.cols), source_w_, world);
  }

  void reset(comm::World& world, kernels::VariantInfo const&) override {
    world.stream().fill(y_.view().data, 0xFF, y_.bytes());
  }

  void run(comm::World& world, measure::Leg, kernels::VariantInfo const& variant) override {
    row_of(conv2d::variants(), variant).launch(problem_, world.stream());
  }

  std::string implementation(kernels::VariantInfo const& variant) const override {
    return row_of(conv2d::variants(), variant).implementation(problem_);
  }
  double searched_seconds(kernels::VariantInfo const& variant) const override {
    return conv2d::library_of(variant).searched_seconds(problem_);
  }
  bool drop_call(kernels::VariantInfo const& variant) override {
    return conv2d::library_of(variant).drop_call(problem_);
  }
  bool run_plainly(comm::World& world, kernels::VariantInfo const& variant) override {
    return workloads::run_plainly(*this, world, variant, conv2d::library_of(variant), problem_);
  }

  measure::Verdict validate(comm::World& world) override {
    return check_convolution(whole_convolution(problem_, source_x_, source_w_), world, case_.check);
  }

  std::vector<measure::Field> fields() override {
    return {measure::input(whole_of_rank_0("x", problem_.x, rank_)),
            measure::input(whole_of_rank_0("w", problem_.w, rank_)),
            measure::output(whole_of_rank_0("y", problem_.y, rank_))};
  }

 private:
  void allocate(comm::World& world, measure::Selection const& selected) {
    x_ = allocate_matrix(problem_.x, world);
    w_ = allocate_matrix(problem_.w, world);
    y_ = allocate_matrix(problem_.y, world);
    scratch_ = allocate_scratch(conv2d::variants(), problem_, selected, world);
  }

  core::Case case_;
  conv2d::Problem problem_;  // without memory before prepare()
  int ranks_, rank_;
  Source source_x_, source_w_;
  device::Matrix x_, w_, y_;
  device::Buffer<std::byte> scratch_;
};

}  // namespace

namespace entries {

extern measure::WorkloadEntry const conv2d = measure::entry({
    .schema = {.name = "conv2d",
               .extents = convolution_extents(),
               .min_extent = 1,
               .max_extent = std::numeric_limits<std::int32_t>::max(),
               .has_auto = false,
               .keys = {.compute = true},
               .defaults = core::Parameters{Parameters{}},
               .options = convolution_options(&Parameters::keys),
               .conflict =
                   [](core::Case const& spec) {
                     return convolution_conflict(spec, keys_of(spec));
                   }},
    .summary = "2-D convolution of n images by k filters on each rank",
    .work = "2 n k p q (c / groups) r s flop per rank",
    .local = true,
    .variants = rows_of(kernels::conv2d::variants()),
    .make = measure::make<Conv2d>,
    .secondary = {{"column matrix", "B",
                   "what the patches of the images take as columns of a matrix, which implicit "
                   "kernels never store."}},
});

}  // namespace entries

}  // namespace quadrille::workloads

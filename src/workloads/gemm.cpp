// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "gemm/gemm_asked.hpp"
#include "gemm/gemm_moduli.hpp"
#include "gemm/vendor/gemm_library.hpp"
#include "workloads/checks/limits.hpp"
#include "workloads/checks/product.hpp"
#include "workloads/draws.hpp"
#include "workloads/secondary.hpp"
#include "workloads/tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quadrille::workloads {
namespace {

namespace gemm = kernels::gemm;

/// What C is stored as.
enum class Out { automatic, f32, f16, bf16, i32 };
constexpr auto enum_names(Out) {
  return core::EnumNames<Out, 5>{{{Out::automatic, "auto"},
                                  {Out::f32, "f32"},
                                  {Out::f16, "f16"},
                                  {Out::bf16, "bf16"},
                                  {Out::i32, "i32"}}};
}

/// Whether 128 of k of a row of A, and 128 x 128 of B, have a factor.
enum class Scales { none, blocks };
constexpr auto enum_names(Scales) {
  return core::EnumNames<Scales, 2>{{{Scales::none, "none"}, {Scales::blocks, "blocks"}}};
}

/// How a call finds its products.
enum class GroupsBy { strides, pointers };
constexpr auto enum_names(GroupsBy) {
  return core::EnumNames<GroupsBy, 2>{
      {{GroupsBy::strides, "strides"}, {GroupsBy::pointers, "pointers"}}};
}

struct Parameters {
  double alpha = 1;
  double beta = 0;
  kernels::Layout layout = kernels::Layout::nn;
  Out out = Out::automatic;
  std::int64_t sms = 0;
  std::int64_t moduli = 0;
  Scales scales = Scales::none;
  gemm::Weights weights = gemm::Weights::none;
  std::int64_t groups = 1;
  Lengths group_rows = Lengths::equal;
  GroupsBy groups_by = GroupsBy::strides;
  bool operator==(Parameters const&) const = default;
};

/// What C can be stored as; the first is out = "auto".
std::vector<core::DataType> types_of_c(core::DataType type) {
  if (core::is_float_of_8_bits(type)) return {core::DataType::f32, core::DataType::bf16};
  if (type == core::DataType::i8) return {core::DataType::i32};
  if (core::size_of(type) == 2) return {type, core::DataType::f32};
  return {type};
}

core::DataType type_of_c(core::Case const& spec) {
  switch (spec.parameters.as<Parameters>().out) {
    case Out::automatic: return types_of_c(spec.type).front();
    case Out::f32: return core::DataType::f32;
    case Out::f16: return core::DataType::f16;
    case Out::bf16: return core::DataType::bf16;
    case Out::i32: return core::DataType::i32;
  }
  return spec.type;
}

constexpr std::int64_t kMaxGroups = 65535;  // of a grid

/// Where the rows of each group begin, and where the last end: m for each on average.
std::vector<std::int64_t> first_rows_of(core::Case const& spec) {
  constexpr std::uint64_t kRowsTag = 0x726f77;
  auto const& keys = spec.parameters.as<Parameters>();
  auto const m = static_cast<double>(spec.size[0]), groups = static_cast<double>(keys.groups);
  std::vector<double> ends{0};
  for (std::int64_t g = 0; g < keys.groups; ++g) {
    double const most = std::max(1.0, 2 * m);
    ends.push_back(ends.back() + length_of(keys.group_rows, draw(spec.seed, kRowsTag, g), most));
  }
  std::vector<std::int64_t> rows;
  for (double const end : ends) {
    rows.push_back(static_cast<std::int64_t>(std::round(end / ends.back() * m * groups)));
  }
  return rows;
}

/// Calls f(row, configuration as it was read) for each variant that `config` gives values, also where
/// it does not take part. An error is the text for the user.
template <class F>
std::string for_configurations(core::Case const& spec, F const& f) {
  for (core::NamedConfiguration const& named : core::configurations_of(spec)) {
    auto const rows = gemm::variants();
    auto const row = std::ranges::find(rows, named.variant, &kernels::VariantInfo::name);
    if (row == rows.end() || named.configuration.empty()) continue;
    if (row->tunable == nullptr) {
      return fmt::format("{} has no parameters for config to set; leave it out", named.variant);
    }
    auto const read = kernels::parse_configuration(*row->tunable, named.configuration);
    if (!read) return fmt::format("config of {}: {}", named.variant, read.why());
    f(*row, *read);
  }
  return {};
}

std::string conflict(core::Case const& spec) {
  core::DataType const out = type_of_c(spec);
  std::vector<core::DataType> const stored = types_of_c(spec.type);
  if (std::ranges::find(stored, out) == stored.end()) {
    std::vector<std::string_view> names;
    for (core::DataType const type : stored) names.push_back(core::to_text(type));
    return fmt::format("C of type = \"{}\" is stored as {}; change out = \"{}\"",
                       core::to_text(spec.type), fmt::join(names, " or "), core::to_text(out));
  }
  auto const& keys = spec.parameters.as<Parameters>();
  std::string const problem = sms_conflict(keys.sms);
  if (!problem.empty()) return problem;
  if (keys.scales == Scales::blocks && !core::is_float_of_8_bits(spec.type)) {
    return "scales = \"blocks\" belongs to type = \"e4m3\" or \"e5m2\"; take it out";
  }
  if (keys.weights != gemm::Weights::none) {
    std::string_view const weights = core::to_text(keys.weights);
    if (core::size_of(spec.type) != 2) {
      return fmt::format("weights = \"{}\" belongs to type = \"f16\" or \"bf16\"; take it out",
                         weights);
    }
    bool const is_transposed =
        keys.layout == kernels::Layout::nt || keys.layout == kernels::Layout::tt;
    if (!is_transposed) {
      return fmt::format("weights = \"{}\" are stored n x k; take layout = \"nt\" or \"tt\"",
                         weights);
    }
    if (spec.size[2] % gemm::per_byte(keys.weights) != 0) {
      return fmt::format("weights = \"{}\" are two to a byte; take an even k, not {}", weights,
                         spec.size[2]);
    }
  }
  bool const has_factors = keys.scales != Scales::none || keys.weights != gemm::Weights::none;
  if (keys.groups > 1 && has_factors) {
    return "groups have neither scales nor weights; take either out";
  }
  if (keys.groups == 1 && keys.group_rows != Lengths::equal) {
    return fmt::format("group_rows = \"{}\" belongs to groups of 2 and more; take it out",
                       core::to_text(keys.group_rows));
  }
  if (keys.groups == 1 && keys.groups_by != GroupsBy::strides) {
    return "groups_by = \"pointers\" belongs to groups of 2 and more; take it out";
  }
  if (keys.moduli > 0 && spec.compute != core::Compute::emulated) {
    return "emulated_moduli belongs to compute = \"emulated\"; take it out";
  }
  if (keys.moduli == 1) return "emulated_moduli = 1: take 2 to 15, or 0 for as many as needed";
  return for_configurations(spec, [](auto const&...) {});
}

/// C = alpha op(A) op(B) + beta C on every rank at once, each with data of its own.
class Gemm final : public measure::Workload {
 public:
  Gemm(core::Case const& spec, int ranks, int rank)
      : case_{spec},
        p_{spec.parameters.as<Parameters>()},
        m_{spec.size[0] * p_.groups},
        n_{spec.size[1]},
        k_{spec.size[2]},
        ranks_{ranks},
        rank_{rank} {
    problem_.a = stored(case_.type, m_, k_, transposes_a());
    problem_.b = has_weights()
                     ? stored(core::DataType::i8, k_ / gemm::per_byte(p_.weights), n_, true)
                     : stored_groups_of_b();
    problem_.c = stored(type_of_c(case_), m_, n_, false);
    problem_.alpha = p_.alpha;
    problem_.beta = p_.beta;
    problem_.transpose_a = transposes_a();
    problem_.transpose_b = transposes_b();
    problem_.compute = case_.compute;
    problem_.multiprocessors = static_cast<int>(p_.sms);
    problem_.moduli = static_cast<int>(p_.moduli);
    problem_.weights = p_.weights;
    if (p_.groups > 1) {
      first_rows_ = first_rows_of(case_);
      // The last is the first: a kernel that counts strides finds another.
      for (std::int64_t g = p_.groups; by_pointers() && g-- > 0;) b_blocks_.push_back(g);
      problem_.groups = {.count = p_.groups,
                         .first_rows = first_rows_.data(),
                         .first_rows_on_device = first_rows_.data(),
                         .b_blocks = by_pointers() ? b_blocks_.data() : nullptr};
    }
    std::int64_t const blocks = (k_ + gemm::kScaled - 1) / gemm::kScaled,
                       columns = (n_ + gemm::kScaled - 1) / gemm::kScaled;
    if (has_weights()) problem_.b_scales = stored(case_.type, blocks, n_, false);
    if (has_scales()) {
      // As tensor copies and libraries want them: rows of whole 16 bytes.
      problem_.a_scales = {nullptr, core::DataType::f32, blocks, m_, (m_ + 3) / 4 * 4};
      problem_.b_scales = {nullptr, core::DataType::f32, columns, blocks, (blocks + 3) / 4 * 4};
    }
    for_configurations(
        case_, [&](kernels::VariantInfo const& row, kernels::Configuration const& configuration) {
          configurations_[&row] = configuration;
        });
  }

  measure::Description describe(measure::Selection const&) const override {
    measure::Description d;
    auto const m = static_cast<double>(m_), n = static_cast<double>(n_),
               k = static_cast<double>(k_);
    d.amount = gemm::flop(m, n, k) * ranks_;
    d.unit = "FLOP/s";
    d.flop = d.amount;
    d.memory_bytes = compulsory_bytes();
    d.device_bytes = d.memory_bytes * ranks_;
    // With beta the product is added to what the last one left.
    d.traits = {.repeatable = p_.beta == 0, .graph_capturable = true, .searches_best = true};
    return d;
  }

  std::string unsupported_reason(kernels::VariantInfo const& variant,
                                 device::Device const& device) const override {
    gemm::Problem const problem = configured(variant);
    kernels::Variant<gemm::Problem> const& row = row_of(gemm::variants(), variant);
    std::string reason = scalars_problem(p_.alpha, p_.beta, compute());
    if (reason.empty()) reason = row.unsupported_reason(problem);
    if (reason.empty() && has_scales() && !row.specifics.notes.takes_scales) {
      reason = "takes no factors of blocks";
    }
    if (reason.empty() && has_weights() && !row.specifics.notes.takes_weights) {
      reason = fmt::format("takes no weights in {}", core::to_text(p_.weights));
    }
    if (reason.empty() && p_.groups > 1 && !row.specifics.notes.takes_groups) {
      reason = "multiplies one group at a time";
    }
    if (reason.empty() && by_pointers() && !row.specifics.notes.takes_pointers) {
      reason = "finds groups by strides alone";
    }
    if (reason.empty()) reason = sms_unsupported(row, p_.sms, device.facts());
    // On a device that is not here a compiled kernel cannot be loaded: it is taken to run.
    bool const is_ready = problem.configuration.is_empty() || device.facts().index < 0 ||
                          variant.tunable->prepare == nullptr;
    if (reason.empty() && !is_ready) {
      reason = variant.tunable->prepare(*variant.tunable, problem.configuration,
                                        gemm::kind_of(problem), device.facts());
    }
    return reason;
  }

  std::optional<measure::TuningClass> tuning_class() const override {
    return measure::TuningClass{.operation = std::string{case_.workload->name},
                                .device = {},
                                .type = kernels::to_text(gemm::facts_of(problem_).types),
                                .layout = std::string{core::to_text(p_.layout)},
                                .shape = measure::shape_class(std::array{m_, n_, k_})};
  }

  kernels::ProblemKind problem_kind() const override { return gemm::kind_of(problem_); }

  void configure(kernels::VariantInfo const& variant,
                 kernels::Configuration const& configuration) override {
    configurations_[&variant] = configuration;
  }

  double scratch_bytes(measure::Selection const& selected,
                       device::Facts const& device) const override {
    return static_cast<double>(max_scratch(gemm::variants(), problem_, selected, device));
  }

  void prepare(comm::World& world, std::uint64_t seed,
               measure::Selection const& selected) override {
    if (c_.view().data == nullptr) allocate(world, selected);
    products_.clear();
    for (std::int64_t g = 0; g < p_.groups; ++g) fill_group(g, seed, world);
  }

  void reset(comm::World& world, kernels::VariantInfo const&) override {
    if (p_.beta == 0) {
      world.stream().fill(c_.view().data, 0xFF, c_.bytes());
    } else {
      world.stream().copy(c_.view().data, c0_.view().data, c_.bytes());
    }
  }

  void run(comm::World& world, measure::Leg, kernels::VariantInfo const& variant) override {
    launched_ = &row_of(gemm::variants(), variant);
    launched_->launch(configured(variant), world.stream());
  }

  /// What the kernel asks of caches and shared memory, on one rank.
  std::vector<measure::SecondaryMetric> observed() override {
    auto const traffic = gemm::traffic_of(*launched_, configured(*launched_));
    if (!traffic) return {};
    auto const& [accesses, l2_bytes] = *traffic;
    auto const asked = gemm::asked_of(*launched_, configured(*launched_));
    auto const sectors = accesses.global_loads.parts + accesses.global_stores.parts;
    std::vector<measure::SecondaryMetric> all = global_metrics(accesses, asked->bytes);
    for (measure::SecondaryMetric& sectors_of_kind : sector_metrics(accesses)) {
      sectors_of_kind.is_detail = true;
      all.push_back(std::move(sectors_of_kind));
    }
    all.push_back(
        {"first-level cache", static_cast<double>(kernels::kSectorBytes * sectors), "B/s"});
    auto const m = static_cast<double>(m_), n = static_cast<double>(n_),
               k = static_cast<double>(k_);
    double const flop = gemm::flop(m, n, k);
    auto const detail = [&](std::string name, double amount, std::string unit) {
      all.push_back(
          {.name = std::move(name), .amount = amount, .unit = std::move(unit), .is_detail = true});
    };
    detail("global memory, compulsory", compulsory_bytes(), "B");
    detail("intensity as asked", flop / static_cast<double>(asked->bytes.global()), "FLOP/B");
    detail("loads per result, global", asked->global_loads, "k");
    if (l2_bytes == 0) return all;
    detail("loads per result, shared", asked->shared_loads, "k");
    kernels::Requests const& loads = accesses.shared_loads;
    kernels::Requests const& stores = accesses.shared_stores;
    all.push_back({std::string{kSecondLevelCache.name}, l2_bytes, "B/s"});
    all.push_back({"shared memory", static_cast<double>(loads.parts + stores.parts), "wavefronts"});
    all.push_back({"bank conflicts, loads", static_cast<double>(loads.conflicts()), "wavefronts"});
    all.push_back(
        {"bank conflicts, stores", static_cast<double>(stores.conflicts()), "wavefronts"});
    return all;
  }

  std::string implementation(kernels::VariantInfo const& variant) const override {
    return row_of(gemm::variants(), variant).implementation(configured(variant));
  }
  double searched_seconds(kernels::VariantInfo const& variant) const override {
    return gemm::library_of(variant).searched_seconds(problem_);
  }
  bool drop_call(kernels::VariantInfo const& variant) override {
    return gemm::library_of(variant).drop_call(problem_);
  }
  bool run_plainly(comm::World& world, kernels::VariantInfo const& variant) override {
    return workloads::run_plainly(*this, world, variant, gemm::library_of(variant), problem_);
  }

  measure::Verdict validate(comm::World& world) override {
    // Of many groups a sample for a check of samples.
    constexpr std::int64_t kSampledGroups = 64;
    std::int64_t const step =
        case_.check == core::Check::full
            ? 1
            : std::max<std::int64_t>(1, (p_.groups - 1) / (kSampledGroups - 1));
    measure::Verdict all{.valid = true};
    for (std::int64_t g = 0; g < p_.groups; g += step) {
      Product const& product = products_[static_cast<std::size_t>(g)];
      if (p_.groups > 1 && product.m == 0) continue;
      ProductLayout const layout{whole(product.m, k_), whole(k_, n_), whole(product.m, n_), false};
      measure::Verdict const one =
          check_product(product, layout, group_of(c_.view(), g), world, case_.check);
      if (p_.groups == 1 || !one.skipped.empty()) return one;
      all.valid = all.valid && one.valid;
      all.error = std::max(all.error, one.error);
      all.allowed = one.allowed;
      all.wrong += one.wrong;
      if (all.detail.empty() && !one.detail.empty()) {
        all.detail = fmt::format("group {}: {}", g, one.detail);
      }
    }
    return all;
  }

  std::vector<measure::Field> fields() override {
    std::vector<measure::Field> all{measure::input(field_of("A", problem_.a)),
                                    measure::input(field_of("B", problem_.b)),
                                    measure::output(field_of("C", problem_.c))};
    if (has_scales()) all.push_back(measure::input(problem_.a_scales));
    if (has_scales() || has_weights()) all.push_back(measure::input(problem_.b_scales));
    return all;
  }

 private:
  core::Compute compute() const { return core::accuracy_of(case_.type, case_.compute); }
  bool transposes_a() const {
    return p_.layout == kernels::Layout::tn || p_.layout == kernels::Layout::tt;
  }
  bool transposes_b() const {
    return p_.layout == kernels::Layout::nt || p_.layout == kernels::Layout::tt;
  }
  void fill_group(std::int64_t number, std::uint64_t seed, comm::World const& world) {
    gemm::Problem const problem = problem_.group(number);
    // Tags differ by rank and group, so that data of another are wrong data.
    auto const tag = static_cast<std::uint64_t>(8 * (rank_ + ranks_ * number));
    Product product{.m = problem.m(),
                    .n = n_,
                    .k = k_,
                    .type = case_.type,
                    .out = problem_.c.type,
                    .compute = compute(),
                    .moduli = problem_.moduli,
                    .alpha = p_.alpha,
                    .beta = p_.beta,
                    .a = {case_.data, seed, tag},
                    .b = {case_.data, seed, tag + 1},
                    .c0 = {case_.data, seed, tag + 2},
                    .weights = p_.weights};
    if (has_scales()) {
      product.a_scales = Source{core::DataKind::positive, seed, tag + 3};
      fill_stored(problem.a_scales, *product.a_scales, true, world);
    }
    if (has_scales() || has_weights()) {
      product.b_scales = Source{core::DataKind::positive, seed, tag + 4};
      fill_stored(problem.b_scales, *product.b_scales, has_scales(), world);
    }
    fill_stored(problem.a, product.a, transposes_a(), world);
    fill_stored(problem.b, product.b, transposes_b(), world);
    if (p_.beta != 0) {
      fill(group_of(c0_.view(), number), whole(product.m, n_), product.c0, world);
    }
    products_.push_back(product);
  }

  /// All B, one below the other as they are stored.
  device::MatrixView stored_groups_of_b() const {
    device::MatrixView view = stored(case_.type, k_, n_, transposes_b());
    view.rows *= p_.groups;
    return view;
  }
  /// Its rows of C or C0.
  device::MatrixView group_of(device::MatrixView const& view, std::int64_t number) const {
    if (p_.groups == 1) return view;
    auto const g = static_cast<std::size_t>(number);
    return view.block(first_rows_[g], 0, first_rows_[g + 1] - first_rows_[g], n_);
  }
  bool by_pointers() const { return p_.groups_by == GroupsBy::pointers; }
  bool has_scales() const { return p_.scales == Scales::blocks; }
  bool has_weights() const { return p_.weights != gemm::Weights::none; }
  /// Of each operand once.
  double compulsory_bytes() const {
    // Without factors their matrices are empty.
    return bytes_of(problem_.a) + bytes_of(problem_.b) + bytes_of(problem_.a_scales) +
           bytes_of(problem_.b_scales) + (p_.beta == 0 ? 1 : 2) * bytes_of(problem_.c);
  }
  /// A matrix without memory.
  static device::MatrixView stored(core::DataType type, std::int64_t rows, std::int64_t cols,
                                   bool transposed) {
    if (transposed) std::swap(rows, cols);
    return {nullptr, type, rows, cols, cols};
  }

  gemm::Problem configured(kernels::VariantInfo const& variant) const {
    gemm::Problem problem = problem_;
    auto const found = configurations_.find(&variant);
    if (found != configurations_.end()) problem.configuration = found->second;
    return problem;
  }

  void allocate(comm::World& world, measure::Selection const& selected) {
    a_ = allocate_matrix(problem_.a, world);
    b_ = allocate_matrix(problem_.b, world);
    c_ = allocate_matrix(problem_.c, world);
    if (has_scales()) a_scales_ = allocate_matrix(problem_.a_scales, world);
    if (has_scales() || has_weights()) b_scales_ = allocate_matrix(problem_.b_scales, world);
    if (p_.groups > 1) {
      first_rows_there_ = uploaded(first_rows_, world);
      problem_.groups.first_rows_on_device = first_rows_there_.data();
      pointers_there_ = uploaded(gemm::group_pointers(problem_), world);
      problem_.groups.pointers = pointers_there_.data();
    }
    if (p_.beta != 0) c0_ = {world.device(), problem_.c.type, m_, n_, world.stream()};
    scratch_ = allocate_scratch(gemm::variants(), problem_, selected, world);
  }

  /// Element (i, j) of op(M) is source.at(i, j), however M is stored.
  static void fill_stored(device::MatrixView const& view, Source const& source, bool transposed,
                          comm::World const& world) {
    fill(view, region_of(whole(view.rows, view.cols), transposed), source, world);
  }

  measure::Field field_of(std::string name, device::MatrixView const& view) const {
    return whole_of_rank_0(std::move(name), view, rank_);
  }

  core::Case case_;
  Parameters p_;
  std::int64_t m_, n_, k_;
  int ranks_, rank_;
  gemm::Problem problem_;  // without memory before prepare()
  std::map<kernels::VariantInfo const*, kernels::Configuration> configurations_;
  kernels::Variant<gemm::Problem> const* launched_ = nullptr;
  std::vector<std::int64_t> first_rows_, b_blocks_;  ///< of groups
  device::Buffer<std::int64_t> first_rows_there_;
  device::Buffer<void*> pointers_there_;
  std::vector<Product> products_;  ///< of each group
  device::Matrix a_, b_, c_, c0_, a_scales_, b_scales_;
  device::Buffer<std::byte> scratch_;
};

}  // namespace

namespace entries {

extern measure::WorkloadEntry const gemm = measure::entry({
    .schema =
        {.name = "gemm",
         .extents = {"m", "n", "k"},
         .keys = {.compute = true, .config = true},
         .defaults = core::Parameters{Parameters{}},
         .options = {core::options::number("alpha", core::options::at(&Parameters::alpha),
                                           "C = alpha A B + beta C"),
                     core::options::number("beta", core::options::at(&Parameters::beta),
                                           "C = alpha A B + beta C"),
                     core::options::choice("layout", core::options::at(&Parameters::layout),
                                           "n or t for A, then for B: as it is or transposed"),
                     core::options::choice(
                         "out", core::options::at(&Parameters::out),
                         "what C is stored as; auto: the element type, i32 of i8, f32 of "
                         "8-bit floats. 16-bit types: also f32, 8-bit floats: also bf16"),
                     sms_option(core::options::at(&Parameters::sms)),
                     core::options::count(
                         "emulated_moduli",
                         core::options::at(&Parameters::moduli),
                         "products in i8 of compute = \"emulated\", 2 to 15; 0: as the "
                         "type's accuracy needs",
                         {.least = 0, .most = gemm::kMaxModuli}),
                     core::options::choice(
                         "scales",
                         core::options::at(&Parameters::scales),
                         "of e4m3 and e5m2: a factor for each 128 of k of a row of A and "
                         "each 128 x 128 of B"),
                     core::options::choice(
                         "weights", core::options::at(&Parameters::weights),
                         "of 16-bit types: B, stored n x k, is of whole numbers, times a "
                         "factor for each 128 of k of a column"),
                     core::options::count("groups", core::options::at(&Parameters::groups),
                                          "products of one call, each with m rows of A and C and a "
                                          "B of its own",
                                          {.least = 1, .most = kMaxGroups}),
                     core::options::choice("group_rows", core::options::at(&Parameters::group_rows),
                                           "rows of a group: m, or drawn by the seed with m on "
                                           "average"),
                     core::options::choice("groups_by", core::options::at(&Parameters::groups_by),
                                           "how a call finds A, B and C of a group")},
         .conflict = conflict},
    .summary = "C = alpha op(A) op(B) + beta C on each rank",
    .work = "2 m n k flop per rank",
    .local = true,
    .variants = rows_of(gemm::variants()),
    .make = measure::make<Gemm>,
    .secondary =
        {kBankConflicts,
         kGlobalMemory,
         kSectorsPerRequest,
         {"intensity as asked", "FLOP/B",
          "operations for each byte that threads ask of global memory: without caches the most "
          "that a kernel's own accesses allow. Above its roof there caches serve it."},
         {"loads per result", "k",
          "elements that threads load for each element of C, from global or from shared memory, as "
          "a multiple of the inner extent: the formula has 2k."},
         {"second-level cache", "B/s",
          "what blocks read of tiles and write of C, by the counts of bank conflicts."},
         {"first-level cache", "B/s",
          "every 32-byte sector that a request of a warp touches, by the same counts."},
         {"shared memory", "wavefronts", "wavefronts of shared memory, by the same counts."}},
});

}  // namespace entries

}  // namespace quadrille::workloads

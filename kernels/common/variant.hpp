// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/table.hpp"
#include "core/types.hpp"
#include "device/views.hpp"

#include <array>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <string_view>

namespace quadrille::kernels {

/// Why a variant is there.
enum class Role {
  own,            ///< a technique of this project
  reference,      ///< the textbook
  vendor,         ///< the vendor's library, one call for the whole operation
  peer,           ///< another program or library that does the same
  ceiling,        ///< moves the same bytes, or does the same work without communication
  demonstration,  ///< shows a mistake: its result is expected to be wrong
};
constexpr auto enum_names(Role) {
  return core::EnumNames<Role, 6>{{{Role::own, "own"},
                                   {Role::reference, "reference"},
                                   {Role::vendor, "vendor"},
                                   {Role::peer, "peer"},
                                   {Role::ceiling, "ceiling"},
                                   {Role::demonstration, "demonstration"}}};
}

/// What runs a variant.
enum class Where {
  host,    ///< threads of the host
  cuda,    ///< a GPU, by CUDA
  kokkos,  ///< what Kokkos was built for: the host, and GPUs where it has CUDA
  any,     ///< the host arranges what either kind of device does
};
constexpr auto enum_names(Where) {
  return core::EnumNames<Where, 4>{{{Where::host, "host"},
                                    {Where::cuda, "cuda"},
                                    {Where::kokkos, "kokkos"},
                                    {Where::any, "any"}}};
}

/// One combination of types that a variant takes.
struct Types {
  core::DataType in = core::DataType::f64;
  core::Compute compute = core::Compute::f64;  ///< what it multiplies and adds in
  core::DataType out = core::DataType::f64;

  constexpr Types() = default;
  /// Computed in what the type is computed in where nobody asks for anything else.
  constexpr Types(core::DataType type) : Types{type, core::compute_for(type)} {}
  constexpr Types(core::DataType type, core::Compute computed)
      : in{type}, compute{computed}, out{type} {}
  constexpr Types(core::DataType input, core::Compute computed, core::DataType output)
      : in{input}, compute{computed}, out{output} {}
  bool operator==(Types const&) const = default;
};
/// "f32", "f32:tf32" (computed in), "f16:f32:f32" (and stored as).
std::string to_text(Types const& types);

/// A short list of types; a constant.
class TypeList {
 public:
  constexpr TypeList() = default;
  constexpr TypeList(std::initializer_list<Types> types) : count_{types.size()} {
    std::size_t i = 0;
    for (Types const& one : types) types_[i++] = one;
  }
  constexpr auto begin() const { return types_.begin(); }
  constexpr auto end() const { return types_.begin() + static_cast<std::ptrdiff_t>(count_); }

 private:
  std::array<Types, 14> types_{};
  std::size_t count_ = 0;
};

/// Every type, for variants that move bits.
inline constexpr TypeList kEveryType{
    core::DataType::f64,  core::DataType::f32,  core::DataType::f16,
    core::DataType::bf16, core::DataType::i64,  core::DataType::i32,
    core::DataType::i8,   core::DataType::e4m3, core::DataType::e5m2};

/// How the two factors of a product are stored: n as they are, t transposed.
enum class Layout { nn, nt, tn, tt };
constexpr auto enum_names(Layout) {
  return core::EnumNames<Layout, 4>{
      {{Layout::nn, "nn"}, {Layout::nt, "nt"}, {Layout::tn, "tn"}, {Layout::tt, "tt"}}};
}

/// A set of layouts; by default all.
class Layouts {
 public:
  constexpr Layouts() = default;
  constexpr Layouts(std::initializer_list<Layout> layouts) : bits_{0} {
    for (Layout const layout : layouts) bits_ |= bit(layout);
  }
  constexpr bool contains(Layout layout) const { return (bits_ & bit(layout)) != 0; }

 private:
  static constexpr unsigned bit(Layout layout) { return 1U << static_cast<unsigned>(layout); }
  unsigned bits_ = 0b1111;
};

/// Rows and columns of a tile; 0: no tiles.
struct TileShape {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
};

inline constexpr std::int64_t kAnyExtent = std::numeric_limits<std::int64_t>::max();

/// What a variant asks of device and problem beyond the types. The defaults ask nothing.
struct Requirements {
  int compute_capability = 0;     ///< of a GPU, times ten, at least
  bool exact_capability = false;  ///< no later one either, nor code for it: sm_90a instructions
  int multiprocessors = 0;        ///< that it must have to itself, at least
  std::size_t shared_bytes = 0;   ///< of shared memory that a block may have, at least
  Layouts layouts{};
  int row_bytes = 1;  ///< columns and leading dimension of every operand are multiples of this
  int ld_bytes = 1;   ///< the leading dimension of every operand is a multiple of this
  int alignment = 1;  ///< of every operand, in bytes
  std::int64_t max_extent = kAnyExtent;  ///< rows and columns of every operand
  std::int64_t max_ld = kAnyExtent;      ///< leading dimension of every operand
  std::int64_t max_rows = kAnyExtent;    ///< of the result
  /// The smallest tiles of the result that a grid, or a league, has one block for each of: it counts
  /// in 31 bits.
  TileShape tile{};
  std::string_view other = {};  ///< for people: what Specifics::unsupported asks for
};
/// For people: "sm_90a, layout nn, rows of whole 16 bytes"; "none".
std::string to_text(Requirements const& needs);

struct Tunable;

/// What is known of a variant without its operation.
struct VariantInfo {
  std::string_view name;
  Role role = Role::own;
  Where where = Where::cuda;
  TypeList types{};
  Requirements needs{};
  Tunable const* tunable = nullptr;  ///< its kernel, where that has parameters to be tuned
  /// "best" without a search is the own variant that takes a problem and has the highest. One below 0,
  /// of those that show a mistake or are less accurate, keeps a variant out of the search.
  int preference = 0;
  bool in_place = false;         ///< works on one array: its input is its output
  bool any_order = false;        ///< adds up in another order every time: its last bits differ
  bool graph_capturable = true;  ///< no call of a library that a graph cannot record
  /// The bits of a row of the result depend neither on other rows nor on how many there are.
  bool batch_invariant = false;
  std::string_view source;       ///< where the technique comes from, or "own"
  std::string_view summary;      ///< what is different, in half a sentence
  std::string_view caveat = {};  ///< of a library's row: why the library may be faster than it
  std::string_view lacks = {};   ///< what it needs besides CUDA and this program was built without

  /// Whether it takes arrays of this type, whatever it computes in.
  bool supports(core::DataType type) const;
  bool runs_on(device::Kind kind) const;
  /// False for rows that need what this program was built without.
  bool is_built() const;
};

constexpr VariantInfo with_batch_invariance(VariantInfo info) {
  info.batch_invariant = true;
  return info;
}

/// An operand as requirements see it; a vector is one row.
struct Operand {
  std::string_view name;
  device::MatrixView view;
};

/// A problem as requirements see it.
struct ProblemFacts {
  Types types;
  Operand result;
  std::array<Operand, 4> inputs{};  ///< without a name: there is none
  Layout layout = Layout::nn;
};

/// Why a variant does not run on a device, whatever the problem; empty where it does. Begins with a
/// verb: "needs compute capability 9.0, this device has 8.0". In a build without CUDA a GPU is one that
/// is planned for, by a program with these kernels.
std::string unsupported_reason(VariantInfo const& variant, device::Kind kind,
                               device::Facts const& device);
/// The same for the device of a stream, which this program itself launches on.
std::string unsupported_reason(VariantInfo const& variant, device::StreamView stream);
/// Why it does not take a problem, by its types and requirements; empty where it does.
std::string unsupported_reason(VariantInfo const& variant, ProblemFacts const& problem);

/// What an operation keeps with each of its variants: Problem::Notes, if it has such a type.
template <class Problem>
struct NotesOf {
  struct Type {};
};
template <class Problem>
requires requires { typename Problem::Notes; }
struct NotesOf<Problem> {
  using Type = typename Problem::Notes;
};

/// What a variant knows of the problems of its operation.
template <class Problem>
struct Specifics {
  /// Why it does not take a problem for another reason than its requirements; empty where it does.
  std::string (*unsupported)(Problem const& problem) = nullptr;
  /// Device memory that it needs beside the operands.
  std::size_t (*scratch_bytes)(Problem const& problem, device::Facts const& device) = nullptr;
  /// The call that a library's row makes for a problem, where its first launch chose one.
  std::string (*implementation)(Problem const& problem) = nullptr;
  typename NotesOf<Problem>::Type notes{};
};

/// A row of an operation's table, defined in the technique's own file beside the function that
/// enqueues one execution on a stream. That function never allocates device memory, never
/// synchronises, and need not check: launch() does.
///
/// For Problem, its namespace has require_consistent(problem), which ends the job unless the
/// operands fit together, and facts_of(problem). Problem::kNeedsScratch: no variant does with less scratch
/// memory than it says.
template <class Problem>
struct Variant : VariantInfo {
  void (*enqueue)(Problem const& problem, device::StreamView stream) = nullptr;
  Specifics<Problem> specifics{};

  /// Why it does not take a problem on any device, alignment included where the operands have
  /// addresses; empty where it does.
  std::string unsupported_reason(Problem const& problem) const {
    std::string reason = kernels::unsupported_reason(*this, facts_of(problem));
    if (reason.empty() && specifics.unsupported != nullptr) reason = specifics.unsupported(problem);
    return reason;
  }

  std::size_t scratch_bytes(Problem const& problem, device::Facts const& device) const {
    return specifics.scratch_bytes == nullptr ? 0 : specifics.scratch_bytes(problem, device);
  }

  /// What the launches of a problem call; empty for most, and before the first.
  std::string implementation(Problem const& problem) const {
    return specifics.implementation == nullptr ? "" : specifics.implementation(problem);
  }

  /// Enqueues one execution; ends the job where the problem is inconsistent or the variant does not
  /// take it.
  void launch(Problem const& problem, device::StreamView stream) const {
    require_consistent(problem);
    std::string reason = kernels::unsupported_reason(*this, stream);
    if (reason.empty()) reason = unsupported_reason(problem);
    QUAD_REQUIRE(reason.empty(), std::string{Problem::kOperation} + "/" + std::string{name} + ": " +
                                     reason + "; take another variant");
    if constexpr (requires { Problem::kNeedsScratch; }) {
      std::size_t const needed = scratch_bytes(problem, stream.facts());
      QUAD_REQUIRE(problem.scratch_bytes >= needed,
                   std::string{Problem::kOperation} + "/" + std::string{name} + ": needs " +
                       std::to_string(needed) + " bytes of scratch memory, got " +
                       std::to_string(problem.scratch_bytes));
    }
    enqueue(problem, stream);
  }
};

/// The rows of an operation in reading order.
template <class Problem>
class Variants {
 public:
  class Iterator {
   public:
    using difference_type = std::ptrdiff_t;
    using value_type = Variant<Problem>;
    Iterator() = default;
    explicit Iterator(Variant<Problem> const* const* place) : place_{place} {}
    Variant<Problem> const& operator*() const { return **place_; }
    Variant<Problem> const* operator->() const { return *place_; }
    Iterator& operator++() {
      ++place_;
      return *this;
    }
    Iterator operator++(int) { return Iterator{place_++}; }
    bool operator==(Iterator const&) const = default;

   private:
    Variant<Problem> const* const* place_ = nullptr;
  };

  template <std::size_t n>
  Variants(Variant<Problem> const* const (&rows)[n]) : rows_{rows} {}
  Iterator begin() const { return Iterator{rows_.data()}; }
  Iterator end() const { return Iterator{rows_.data() + rows_.size()}; }

 private:
  std::span<Variant<Problem> const* const> rows_;
};

/// The row called `name` that runs on this kind of device, or nullptr.
template <class Problem>
Variant<Problem> const* find(Variants<Problem> const& table, std::string_view name,
                             device::Kind kind) {
  for (Variant<Problem> const& row : table) {
    if (row.name == name && row.runs_on(kind)) return &row;
  }
  return nullptr;
}

}  // namespace quadrille::kernels

/// A function behind which kernels for GPUs stand, which nvcc or the interpreter compiled.
#ifdef QUADRILLE_CUDA_KERNELS
#define QUAD_CUDA_LAUNCH(function) function
#else
#define QUAD_CUDA_LAUNCH(function) nullptr
#endif

/// The function of a row that needs the libraries of the CUDA toolkit.
#ifdef QUADRILLE_CUDA_TOOLKIT
#define QUAD_TOOLKIT_LAUNCH(...) __VA_ARGS__
#else
#define QUAD_TOOLKIT_LAUNCH(...) nullptr
#endif

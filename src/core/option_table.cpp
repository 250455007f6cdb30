// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "core/option_table.hpp"

#include "core/units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace quadrille::core {
namespace {

using Kind = Scalar::Kind;

/// Where an option lives.
template <class T>
using Access = std::function<T&(Draft&)>;

template <class T>
Access<T> in(T RunSettings::*member) {
  return [=](Draft& draft) -> T& { return draft.run.*member; };
}
template <class T>
Access<T> in(T Case::*member) {
  return [=](Draft& draft) -> T& { return draft.one.*member; };
}
template <class Group, class T, class Owner>
Access<T> in(Group Owner::*group, T Group::*member) {
  return [=, outer = in(group)](Draft& draft) -> T& { return outer(draft).*member; };
}

constexpr std::int64_t kMost = 1LL << 62;

std::vector<std::string> split(std::string_view text, std::string_view separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    std::size_t const at = std::min(text.find(separator), text.size());
    parts.emplace_back(text.substr(0, at));
    text.remove_prefix(std::min(at + separator.size(), text.size()));
  }
  return parts;
}

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (char const c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string show(Scalar const& value) {
  return value.kind == Kind::text ? quote(value.text) : value.text;
}

std::string expected(Option const& option, Scalar const& value) {
  return fmt::format("expects {}, not {}", option.type, show(value));
}

bool is_textual(Scalar const& value) {
  return value.kind == Kind::text || value.kind == Kind::bare;
}
bool is_countable(Scalar const& value) { return is_textual(value) || value.kind == Kind::number; }

std::function<std::string(Draft&)> get_text(Access<std::string> access) {
  return [=](Draft& draft) { return quote(access(draft)); };
}

/// Any setter (option, draft, value) of one value.
template <class Setter>
Row custom_row(Option const& option, Setter setter, std::function<std::string(Draft&)> getter) {
  return {option,
          [=](Draft& draft, std::span<Scalar const> values) {
            return setter(option, draft, values.front());
          },
          getter};
}

/// A count within [least, most].
template <class T>
Row count_row(Option const& option, Access<T> access, std::int64_t least,
              std::int64_t most = kMost) {
  return {option,
          [=](Draft& draft, std::span<Scalar const> values) -> std::string {
            Scalar const& value = values.front();
            if (!is_countable(value)) return expected(option, value);
            bool const bytes = option.type == "bytes";
            auto const count = bytes ? parse_bytes(value.text) : parse_count(value.text);
            if (!count) return count.why();
            if (*count < least || *count > most) {
              return most < kMost ? fmt::format("must be {} to {}, not {}", least, most, value.text)
                                  : fmt::format("must be at least {}, not {}", least, value.text);
            }
            access(draft) = static_cast<T>(*count);
            return "";
          },
          [=](Draft& draft) { return fmt::format("{}", access(draft)); }};
}

/// A count within [least, most], or "auto", which is kept as `automatic`.
Row count_or_auto_row(Option const& option, Access<std::int64_t> access, std::int64_t automatic,
                      std::int64_t least, std::int64_t most) {
  return {option,
          [=](Draft& draft, std::span<Scalar const> values) -> std::string {
            Scalar const& value = values.front();
            if (!is_countable(value)) return expected(option, value);
            if (value.text == "auto") {
              access(draft) = automatic;
              return "";
            }
            auto const count = parse_count(value.text);
            if (!count) return count.why() + ", or \"auto\"";
            if (*count < least || *count > most) {
              return fmt::format("must be {} to {} or \"auto\", not {}", least, most, value.text);
            }
            access(draft) = *count;
            return "";
          },
          [=](Draft& draft) {
            return access(draft) == automatic ? "\"auto\"" : fmt::format("{}", access(draft));
          }};
}

Row seconds_row(Option const& option, Access<double> access, bool may_be_zero) {
  return {option,
          [=](Draft& draft, std::span<Scalar const> values) -> std::string {
            Scalar const& value = values.front();
            if (!is_countable(value)) return expected(option, value);
            auto const seconds = parse_seconds(value.text);
            if (!seconds) return seconds.why();
            if (!(*seconds > 0 || may_be_zero)) return "must be more than 0";
            access(draft) = *seconds;
            return "";
          },
          [=](Draft& draft) { return fmt::format("\"{}s\"", access(draft)); }};
}

Row number_row(Option const& option, Access<double> access) {
  return {option,
          [=](Draft& draft, std::span<Scalar const> values) -> std::string {
            Scalar const& value = values.front();
            char const* const end = value.text.data() + value.text.size();
            double number = 0;
            auto const [next, problem] = std::from_chars(value.text.data(), end, number);
            bool const is_number = value.kind == Kind::number || value.kind == Kind::bare;
            if (!is_number || problem != std::errc{} || next != end || !std::isfinite(number)) {
              return expected(option, value);
            }
            access(draft) = number;
            return "";
          },
          [=](Draft& draft) { return fmt::format("{}", access(draft)); }};
}

Row flag_row(Option const& option, Access<bool> access) {
  return {option,
          [=](Draft& draft, std::span<Scalar const> values) -> std::string {
            Scalar const& value = values.front();
            bool const is_flag = value.kind == Kind::boolean || value.kind == Kind::bare;
            if (!is_flag || (value.text != "true" && value.text != "false")) {
              return expected(option, value);
            }
            access(draft) = value.text == "true";
            return "";
          },
          [=](Draft& draft) { return std::string{access(draft) ? "true" : "false"}; }};
}

/// Index into `choices`, or -1 with the problem.
int choose(Scalar const& value, std::vector<std::string> const& choices, std::string& problem) {
  auto const found = std::find(choices.begin(), choices.end(), value.text);
  if (is_textual(value) && found != choices.end()) {
    return static_cast<int>(found - choices.begin());
  }
  std::string const all = fmt::format("{}", fmt::join(choices, ", "));
  problem =
      fmt::format("{} is not one of {}{}", show(value), all, suggestion(value.text, choices, ""));
  return -1;
}

/// The choices are the words of `option.type`, separated by bars.
Row choice_row(Option const& option, Access<std::string> access) {
  return {option,
          [=, choices = split(option.type, " | ")](Draft& draft,
                                                   std::span<Scalar const> values) -> std::string {
            std::string problem;
            int const chosen = choose(values.front(), choices, problem);
            if (chosen >= 0) access(draft) = choices[static_cast<std::size_t>(chosen)];
            return problem;
          },
          get_text(access)};
}

/// As choice_row; the words stand in the order of the enumerators.
template <class E>
Row enum_row(Option const& option, Access<E> access) {
  auto const choices = split(option.type, " | ");
  return {option,
          [=](Draft& draft, std::span<Scalar const> values) -> std::string {
            std::string problem;
            int const chosen = choose(values.front(), choices, problem);
            if (chosen >= 0) access(draft) = static_cast<E>(chosen);
            return problem;
          },
          [=](Draft& draft) { return quote(choices[static_cast<std::size_t>(access(draft))]); }};
}

std::string set_operation(Draft& draft, std::span<Scalar const> values) {
  std::string problem;
  auto const choices = operations_of(draft.one.workload);
  int const chosen = choose(values.front(), choices, problem);
  if (chosen >= 0) draft.one.operation = choices[static_cast<std::size_t>(chosen)];
  return problem;
}

std::string set_text(Option const& option, std::string& target, Scalar const& value) {
  if (!is_textual(value)) return expected(option, value);
  if (value.text.empty()) return "must not be empty";
  target = value.text;
  return "";
}

Row text_row(Option const& option, Access<std::string> access) {
  return custom_row(
      option, [=](Option const& o, Draft& d, Scalar const& v) { return set_text(o, access(d), v); },
      get_text(access));
}

std::string set_published_on(Option const& option, Draft& draft, Scalar const& value) {
  if (!is_textual(value)) return expected(option, value);
  draft.one.published_on = value.text;
  return "";
}

std::string set_name(Option const& option, Draft& draft, Scalar const& value) {
  std::string const problem = set_text(option, draft.one.name, value);
  if (!problem.empty()) return problem;
  // Names become file names, and are what --set addresses.
  bool const plain = std::all_of(value.text.begin(), value.text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view{"_-+."}.find(c) != std::string_view::npos;
  });
  if (!plain || value.text.front() == '.' || value.text.size() > 100) {
    return fmt::format(
        "{} must consist of at most 100 letters, digits, '_', '-', '+', '.', and not begin with "
        "'.'",
        show(value));
  }
  if (value.text == "run" || value.text.starts_with("run.")) return "'run' means the table [run]";
  return "";
}

/// The number of extents that a workload uses.
int extents_of(std::string_view workload) {
  if (workload == "gemm" || workload == "summa") return 3;
  if (workload == "transpose" || workload == "ptrans" || workload == "field_io") return 2;
  return 1;
}

std::string set_size(Option const& option, Draft& draft, Scalar const& value) {
  if (!is_countable(value)) return expected(option, value);
  auto const size = parse_size(value.text);
  if (!size) return size.why();
  int const most = extents_of(draft.one.workload);
  if (size->count > most) {
    return fmt::format("{} has {} extents, {} uses {}", value.text, size->count, draft.one.workload,
                       most == 1 ? "one" : fmt::format("at most {}", most));
  }
  // Byte counts of every array must stay below 2^63.
  constexpr std::int64_t kMostElements = 1LL << 59;
  bool fits = (*size)[0] <= kMostElements;
  for (int i = 0; i < most; ++i) {
    for (int j = 0; j < i; ++j) {
      fits = fits && ((*size)[j] == 0 || (*size)[i] <= kMostElements / (*size)[j]);
    }
  }
  if (!fits) return fmt::format("{} has more than 2^59 elements", value.text);
  draft.one.size = *size;
  return "";
}

std::string get_size(Draft& draft) {
  Extents const& size = draft.one.size;
  if (size.auto_fraction > 0) return fmt::format("\"auto:{:.12g}%\"", size.auto_fraction * 100);
  if (size.count == 1) return fmt::format("{}", size[0]);
  return fmt::format("\"({})\"",
                     fmt::join(size.value.begin(), size.value.begin() + size.count, ","));
}

std::string quoted_list(std::vector<std::string> const& texts) {
  std::vector<std::string> quoted;
  for (std::string const& text : texts) quoted.push_back(quote(text));
  return quoted.size() == 1 ? quoted[0] : fmt::format("[{}]", fmt::join(quoted, ", "));
}

std::string set_variants(Draft& draft, std::span<Scalar const> values) {
  std::vector<std::string> names;
  for (Scalar const& value : values) {
    if (!is_textual(value)) return fmt::format("{} is not a name", show(value));
    if (value.text.empty()) return "must not be empty";
    if (std::find(names.begin(), names.end(), value.text) != names.end()) {
      return fmt::format("'{}' is given twice", value.text);
    }
    names.push_back(value.text);
  }
  draft.one.variants = names;
  return "";
}

std::string get_variants(Draft& draft) { return quoted_list(draft.one.variants); }

std::string set_published(Draft& draft, std::span<Scalar const> values) {
  std::vector<std::string> figures;
  for (Scalar const& value : values) {
    if (!is_textual(value)) return fmt::format("{} is not a text", show(value));
    if (value.text.empty()) continue;
    std::size_t const colon = value.text.find(": ");
    if (colon == std::string::npos || colon == 0 || colon + 2 == value.text.size()) {
      return fmt::format("{}: write \"VARIANT: FIGURE\"", show(value));
    }
    auto const figure = parse_figure(std::string_view{value.text}.substr(colon + 2), 1);
    if (!figure) return figure.why();
    figures.push_back(value.text);
  }
  draft.one.published = figures;
  return "";
}

std::string get_published(Draft& draft) {
  return draft.one.published.empty() ? "\"\"" : quoted_list(draft.one.published);
}

std::string set_grid(Option const& option, Draft& draft, Scalar const& value) {
  if (!is_textual(value)) return expected(option, value);
  if (value.text == "auto" || value.text == "all") {
    draft.one.grid = value.text == "all" ? kAllGrids : GridShape{};
    return "";
  }
  auto const parts = split(value.text, "x");
  if (parts.size() != 2 || value.text.ends_with('x')) return expected(option, value);
  auto const rows = parse_count(parts[0]);
  auto const cols = parse_count(parts[1]);
  constexpr std::int64_t kMostRanks = 1 << 24;
  if (!rows || !cols) return expected(option, value);
  if (*rows < 1 || *cols < 1 || *rows > kMostRanks || *cols > kMostRanks) {
    return fmt::format("{}: rows and columns must be 1 to {}", show(value), kMostRanks);
  }
  draft.one.grid = {static_cast<int>(*rows), static_cast<int>(*cols)};
  return "";
}

std::string get_grid(Draft& draft) {
  GridShape const grid = draft.one.grid;
  if (grid == GridShape{}) return "\"auto\"";
  if (grid == kAllGrids) return "\"all\"";
  return fmt::format("\"{}x{}\"", grid.rows, grid.cols);
}

std::string set_throttle(Option const& option, Draft& draft, Scalar const& value) {
  if (!is_textual(value)) return expected(option, value);
  if (value.text == "none") {
    draft.one.throttle = 0;
    return "";
  }
  auto const rate = parse_rate(value.text);
  if (!rate) return rate.why() + ", or \"none\"";
  draft.one.throttle = *rate;
  return "";
}

std::string get_throttle(Draft& draft) {
  return draft.one.throttle == 0 ? "\"none\"" : fmt::format("\"{} B/s\"", draft.one.throttle);
}

using enum Option::Scope;

// Kept in the order in which sweeps nest: the last key changes fastest.
std::vector<Row> make_rows() {
  return {
      choice_row({"device", "auto | cuda | host", "\"auto\"", run, false, "",
                  "what each rank drives; auto takes cuda where a driver is"},
                 in(&RunSettings::device)),
      count_row({"chunk_bytes", "bytes", "\"256Mi\"", run, false, "",
                 "largest single MPI message, NCCL call or HDF5 write, at least 1Ki"},
                in(&RunSettings::chunk_bytes), 1024),
      seconds_row({"timeout.init", "seconds", "\"120s\"", run, false, "",
                   "limit of start-up and of preparing a case"},
                  in(&RunSettings::timeout, &Timeouts::init_s), false),
      seconds_row({"timeout.repetition", "seconds", "\"60s\"", run, false, "",
                   "limit of one repetition and of its check"},
                  in(&RunSettings::timeout, &Timeouts::repetition_s), false),
      text_row(
          {"output", "a folder", "\"results\"", run, false, "", "where run directories are made"},
          in(&RunSettings::output)),
      flag_row({"allow_shared_gpu", "true | false", "false", run, false, "",
                "let several ranks drive one GPU"},
               in(&RunSettings::allow_shared_gpu)),

      custom_row({"name", "a name", "", only_case, false, "",
                  "what results and --set call the case; default: the workload"},
                 set_name, get_text(in(&Case::name))),
      text_row(
          {"workload", "a workload", "", only_case, false, "", "required; see `quadrille list`"},
          in(&Case::workload)),
      enum_row({"type", "f64 | f32 | f16 | bf16 | i64 | i32 | i8", "\"f64\"", run_and_case, true,
                "", "element type"},
               in(&Case::type)),
      custom_row({"size", "a count, \"(m,n,k)\" or \"auto:70%\"", "", only_case, true, "",
                  "required; elements of `type` per extent of the whole problem (integral: cells); "
                  "missing extents repeat the last; auto: share of the smallest free memory"},
                 set_size, get_size),
      {{"variant", "a name or a list of names", "\"best\"", run_and_case, false, "",
        "a list is measured alternately, as one case; also best, all, vendor"},
       set_variants,
       get_variants,
       true},
      {{"published", "a text or a list of texts", "\"\"", only_case, false, "",
        "\"VARIANT: FIGURE\" of the technique's source, shown beside the measured one"},
       set_published,
       get_published,
       true},
      custom_row({"published_on", "a text", "\"\"", only_case, false, "",
                  "the device of the published figures"},
                 set_published_on, get_text(in(&Case::published_on))),
      choice_row({"vendor", "auto | off", "\"auto\"", run_and_case, false, "",
                  "auto adds the vendor's library where there is one"},
                 in(&Case::vendor)),
      choice_row({"transport", "auto | nccl | mpi", "\"auto\"", run_and_case, true,
                  "integral reduction ptrans summa allreduce broadcast alltoall sendrecv",
                  "how device data travels between ranks"},
                 in(&Case::transport)),
      custom_row({"throttle", "a rate or \"none\"", "\"none\"", run_and_case, true,
                  "integral reduction ptrans summa allreduce broadcast alltoall sendrecv",
                  "\"500 MB/s\": modelled slow link for tests of overlap, marked in every output"},
                 set_throttle, get_throttle),
      custom_row({"grid", "\"PxQ\", \"auto\" or \"all\"", "\"auto\"", only_case, true,
                  "ptrans summa field_io",
                  "process grid; auto: nearly square; all: a case per factoring of the ranks"},
                 set_grid, get_grid),
      count_row({"panel", "a count", "256", only_case, true, "ptrans summa",
                 "width of a panel in elements"},
                in(&Case::panel), 1),
      count_row(
          {"buffers", "a count", "2", only_case, true, "ptrans summa", "panel buffers, 1 to 3"},
          in(&Case::buffers), 1, 3),
      count_row({"block", "a count", "0", only_case, true, "ptrans summa",
                 "block-cyclic block in elements; 0: one block per process"},
                in(&Case::block), 0),
      choice_row({"broadcast", "library | ring", "\"library\"", only_case, true, "summa broadcast",
                  "how a broadcast travels"},
                 in(&Case::broadcast)),
      {{"operation", "an operation", "", only_case, true, "vector copy reduction allreduce",
        "vector: add, quadratic; copy: d2d, h2d, d2h, both; reduction: sum, min, max, "
        "dot, norm2; allreduce: sum, min, max; default: the first"},
       set_operation,
       get_text(in(&Case::operation))},
      choice_row(
          {"host_memory", "pinned | registered | pageable", "\"pinned\"", only_case, true, "copy",
           "host side of h2d, d2h and both: page-locked when allocated, page-locked "
           "later, or plain"},
          in(&Case::host_memory)),
      count_row({"chunk", "bytes", "0", only_case, true, "copy reduction",
                 "bytes of each copy, at least 1; 0: all in one, for a reduction 64 MiB"},
                in(&Case::chunk), 0),
      choice_row(
          {"source", "device | host", "\"device\"", only_case, true, "reduction",
           "host: the vector lies in page-locked memory of the host and streams to the device "
           "chunk by chunk, each under the kernel of the one before"},
          in(&Case::source)),
      count_row({"volume", "bytes", "\"1Gi\"", only_case, true, "memory",
                 "bytes that all readers of a rank read together in an execution, at least 16Ki; "
                 "rounded up to whole 16Ki"},
                in(&Case::volume), 16 << 10, 1LL << 50),
      count_or_auto_row(
          {"carveout", "a percentage or \"auto\"", "\"auto\"", only_case, true, "memory",
           "share of the memory of L1 and shared memory that a GPU should make shared memory, "
           "0 to 100; auto: the driver's choice"},
          in(&Case::carveout), -1, 0, 100),
      count_row({"intervals", "a count", "8", only_case, true, "pipeline",
                 "parts of the integral that pass through the pipeline, 2 to 64"},
                in(&Case::intervals), 2, 64),
      choice_row({"accumulator", "f64 | f32", "\"f64\"", only_case, true, "reduction",
                  "type in which sums are formed"},
                 in(&Case::accumulator)),
      choice_row({"integrand", "sin2cos2 | arctan | gauss | runge", "\"sin2cos2\"", only_case, true,
                  "integral", "sin^2(2x) cos^2(x), 4/(1 + x^2), exp(-x^2), 1/(1 + 25 x^2)"},
                 in(&Case::integrand)),
      choice_row({"rule", "midpoint | simpson | gauss_legendre", "\"midpoint\"", only_case, true,
                  "integral", "quadrature rule of a cell"},
                 in(&Case::rule)),
      flag_row({"reproducible", "true | false", "false", only_case, true, "integral reduction",
                "the same bits for any number of ranks and any device"},
               in(&Case::reproducible)),
      number_row({"alpha", "a finite number", "1", only_case, true, "gemm summa",
                  "C = alpha A B + beta C"},
                 in(&Case::alpha)),
      number_row(
          {"beta", "a finite number", "0", only_case, true, "gemm summa", "C = alpha A B + beta C"},
          in(&Case::beta)),
      choice_row({"layout", "nn | nt | tn | tt", "\"nn\"", only_case, true, "gemm",
                  "n or t for A, then for B: as it is or transposed"},
                 in(&Case::layout)),
      flag_row({"legs", "true | false", "false", run_and_case, false, "ptrans summa",
                "measure compute, communicate, serial and overlapped"},
               in(&Case::legs)),
      flag_row({"save", "true | false", "false", run_and_case, false, "",
                "write inputs and outputs to fields/NAME.h5 beside the result"},
               in(&Case::save)),
      enum_row({"data", "uniform | normal | integer | constant | zeros", "\"uniform\"",
                run_and_case, true, "", "input values"},
               in(&Case::data)),
      count_row({"seed", "a count", "1", run_and_case, false, "", "selects the input values"},
                in(&Case::seed), 0),
      count_row({"repetitions", "a count", "20", run_and_case, false, "",
                 "timed repetitions, at least 1"},
                in(&Case::repetitions), 1),
      count_row({"warmup.count", "a count", "3", run_and_case, false, "",
                 "least number of untimed repetitions"},
                in(&Case::warmup, &Warmup::count), 0),
      seconds_row({"warmup.seconds", "seconds", "0.5", run_and_case, false, "",
                   "least time of untimed repetitions"},
                  in(&Case::warmup, &Warmup::seconds), true),
      enum_row({"check", "full | sample | off", "\"full\"", run_and_case, false, "",
                "how much of a result is checked"},
               in(&Case::check)),
      enum_row({"clock", "burst | sustained", "\"burst\"", run_and_case, false, "",
                "sustained measures for at least 3 s"},
               in(&Case::clock)),
      choice_row({"timing", "auto | device | synchronised | launch_only", "\"auto\"", run_and_case,
                  true, "",
                  "whose clock: events of the device, the host's after a synchronisation, or the "
                  "host's before it (SUSPECT); auto: device on a GPU, else synchronised"},
                 in(&Case::timing)),
      count_or_auto_row(
          {"batch", "a count or \"auto\"", "\"auto\"", run_and_case, true, "",
           "executions that each sample is the mean of; auto: 100 for kernels of a GPU below "
           "50 us, else 1"},
          in(&Case::batch), 0, 1, 1'000'000),
      choice_row({"cache", "cold | hot", "\"cold\"", run_and_case, true, "",
                  "cold: a batch on a GPU goes round over sets of buffers that together exceed the "
                  "last-level cache; hot: it uses one set again and again, and no rate is compared "
                  "with that of memory"},
                 in(&Case::cache)),
      flag_row({"demonstrate", "true | false", "false", run_and_case, false, "",
                "also run variants that are wrong on purpose"},
               in(&Case::demonstrate)),
  };
}

std::vector<Option> make_options() {
  std::vector<Option> table;
  for (Row const& row : rows()) table.push_back(row.option);
  return table;
}

}  // namespace

std::span<Row const> rows() {
  static std::vector<Row> const table = make_rows();
  return table;
}

Row const* find_row(std::string_view key) {
  auto const found =
      std::find_if(rows().begin(), rows().end(), [&](Row const& r) { return r.option.key == key; });
  return found == rows().end() ? nullptr : &*found;
}

std::span<Option const> options() {
  static std::vector<Option> const table = make_options();
  return table;
}

bool accepts(Option const& option, std::string_view workload) {
  if (option.scope == Option::Scope::run) return false;
  auto const names = split(option.workloads, " ");
  return names.empty() || std::find(names.begin(), names.end(), workload) != names.end();
}

std::string workload_list(Option const& option) {
  return fmt::format("{}", fmt::join(split(option.workloads, " "), ", "));
}

std::vector<std::string> operations_of(std::string_view workload) {
  if (workload == "vector") return {"add", "quadratic"};
  if (workload == "copy") return {"d2d", "h2d", "d2h", "both"};
  if (workload == "reduction") return {"sum", "min", "max", "dot", "norm2"};
  if (workload == "allreduce") return {"sum", "min", "max"};
  return {};
}

std::string options_help() {
  std::string text;
  auto const add = [&](std::string_view title, auto belongs) {
    text += fmt::format("{}\n", title);
    for (Option const& o : options()) {
      if (!belongs(o.scope)) continue;
      text += fmt::format("  {:<20}{}", o.key, o.type);
      if (!o.default_value.empty()) text += fmt::format("; default {}", o.default_value);
      if (o.sweeps) text += "; sweeps";
      text += fmt::format("\n{:22}{}\n", "", o.help);
      if (!o.workloads.empty()) {
        text += fmt::format("{:22}for {}\n", "", workload_list(o));
      }
    }
  };
  add("[run]", [](Option::Scope s) { return s == run; });
  add("[[case]], or for all cases [run]", [](Option::Scope s) { return s == run_and_case; });
  add("[[case]]", [](Option::Scope s) { return s == only_case; });
  return text;
}

std::string to_toml(Case const& one) {
  std::string text = "[[case]]\n";
  Draft draft{{}, one};
  for (Row const& row : rows()) {
    if (!accepts(row.option, one.workload)) continue;
    text += fmt::format("{} = {}\n", row.option.key, row.get(draft));
  }
  return text;
}

std::string to_toml(Config const& config) {
  std::string text = "[run]\n";
  Draft draft{config.run, {}};
  for (Row const& row : rows()) {
    if (row.option.scope != Option::Scope::run) continue;
    text += fmt::format("{} = {}\n", row.option.key, row.get(draft));
  }
  for (Case const& one : config.cases) {
    text += '\n';
    text += to_toml(one);
  }
  return text;
}

}  // namespace quadrille::core

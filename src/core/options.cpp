// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "core/options.hpp"

#include "core/published_launch.hpp"
#include "core/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace quadrille::core {
namespace {

using Kind = Scalar::Kind;
using Texts = std::vector<std::string>;

Texts split(std::string_view text, std::string_view separator) {
  Texts parts;
  while (!text.empty()) {
    std::size_t const at = std::min(text.find(separator), text.size());
    parts.emplace_back(text.substr(0, at));
    text.remove_prefix(std::min(at + separator.size(), text.size()));
  }
  return parts;
}

std::string show(Scalar const& value) {
  return value.kind == Kind::text ? quote(value.text) : value.text;
}

std::string expected(std::string_view type, Scalar const& value) {
  return fmt::format("expects {}, not {}", type, show(value));
}

bool is_textual(Scalar const& value) {
  return value.kind == Kind::text || value.kind == Kind::bare;
}
bool is_countable(Scalar const& value) { return is_textual(value) || value.kind == Kind::number; }

/// An option of one value, whose setter takes (target, value) and returns "" or the problem.
template <class Setter>
Option make(std::string_view key, std::string type, std::string_view help, Setter setter,
            std::function<std::string(OptionTarget&)> getter) {
  Option option{key, std::move(type), help};
  option.set = [=](OptionTarget& target, std::span<Scalar const> values) -> std::string {
    return setter(target, values.front());
  };
  option.get = std::move(getter);
  return option;
}

std::string check_limits(std::int64_t count, options::CountLimits const& limits,
                         std::string_view text, std::string_view otherwise = "") {
  if (count >= limits.least && count <= limits.most) return "";
  if (limits.most < options::CountLimits{}.most) {
    return fmt::format("must be {} to {}{}, not {}", limits.least, limits.most, otherwise, text);
  }
  return fmt::format("must be at least {}{}, not {}", limits.least, otherwise, text);
}

/// Index into `words`, or -1 with the problem.
int choose(Scalar const& value, Texts const& words, std::string& problem) {
  auto const found = std::find(words.begin(), words.end(), value.text);
  if (is_textual(value) && found != words.end()) return static_cast<int>(found - words.begin());
  problem = fmt::format("{} is not one of {}{}", show(value), fmt::join(words, ", "),
                        suggestion(value.text, words));
  return -1;
}

}  // namespace

namespace options {

Option detail::make_count(std::string_view key, std::string_view help, CountLimits limits,
                          bool bytes, StoreCount store, LoadCount load) {
  std::string const type = bytes ? "bytes" : "a count";
  Option option = make(
      key, type, help,
      [=](OptionTarget& target, Scalar const& value) -> std::string {
        if (!is_countable(value)) return expected(type, value);
        auto const count = bytes ? parse_bytes(value.text) : parse_count(value.text);
        if (!count) return count.why();
        std::string problem = check_limits(*count, limits, value.text);
        if (problem.empty()) store(target, *count);
        return problem;
      },
      [=](OptionTarget& target) { return fmt::format("{}", load(target)); });
  option.unit = limits.unit;
  option.is_bytes = bytes;
  return option;
}

Option detail::make_choice(std::string_view key, std::string_view help, Texts words,
                           StoreChoice store, LoadChoice load) {
  std::string type = fmt::format("{}", fmt::join(words, " | "));
  return make(
      key, std::move(type), help,
      [=](OptionTarget& target, Scalar const& value) {
        std::string problem;
        int const chosen = choose(value, words, problem);
        if (chosen >= 0) store(target, static_cast<std::size_t>(chosen));
        return problem;
      },
      [=](OptionTarget& target) { return quote(words[load(target)]); });
}

Option bytes(std::string_view key, Place<std::int64_t> place, std::string_view help,
             CountLimits limits) {
  return detail::make_count(
      key, help, limits, true,
      [=](OptionTarget& target, std::int64_t value) { place(target) = value; },
      [=](OptionTarget& target) { return place(target); });
}

Option count_or_auto(std::string_view key, Place<std::int64_t> place, std::string_view help,
                     std::int64_t automatic, CountLimits limits) {
  std::string const type = "a count or \"auto\"";
  Option option = make(
      key, type, help,
      [=](OptionTarget& target, Scalar const& value) -> std::string {
        if (!is_countable(value)) return expected(type, value);
        if (value.text == "auto") {
          place(target) = automatic;
          return "";
        }
        auto const count = parse_count(value.text);
        if (!count) return count.why() + ", or \"auto\"";
        std::string problem = check_limits(*count, limits, value.text, " or \"auto\"");
        if (problem.empty()) place(target) = *count;
        return problem;
      },
      [=](OptionTarget& target) {
        return place(target) == automatic ? "\"auto\"" : fmt::format("{}", place(target));
      });
  option.unit = limits.unit;
  return option;
}

Option seconds(std::string_view key, Place<double> place, std::string_view help, bool may_be_zero) {
  return make(
      key, "seconds", help,
      [=](OptionTarget& target, Scalar const& value) -> std::string {
        if (!is_countable(value)) return expected("seconds", value);
        auto const seconds = parse_seconds(value.text);
        if (!seconds) return seconds.why();
        if (!(*seconds > 0 || may_be_zero)) return "must be more than 0";
        place(target) = *seconds;
        return "";
      },
      [=](OptionTarget& target) { return fmt::format("\"{}s\"", place(target)); });
}

Option number(std::string_view key, Place<double> place, std::string_view help) {
  std::string const type = "a finite number";
  return make(
      key, type, help,
      [=](OptionTarget& target, Scalar const& value) -> std::string {
        char const* const end = value.text.data() + value.text.size();
        double number = 0;
        auto const [next, problem] = std::from_chars(value.text.data(), end, number);
        bool const is_number = value.kind == Kind::number || value.kind == Kind::bare;
        if (!is_number || problem != std::errc{} || next != end || !std::isfinite(number)) {
          return expected(type, value);
        }
        place(target) = number;
        return "";
      },
      [=](OptionTarget& target) { return fmt::format("{}", place(target)); });
}

Option flag(std::string_view key, Place<bool> place, std::string_view help) {
  std::string const type = "true | false";
  return make(
      key, type, help,
      [=](OptionTarget& target, Scalar const& value) -> std::string {
        bool const is_flag = value.kind == Kind::boolean || value.kind == Kind::bare;
        if (!is_flag || (value.text != "true" && value.text != "false")) {
          return expected(type, value);
        }
        place(target) = value.text == "true";
        return "";
      },
      [=](OptionTarget& target) { return std::string{place(target) ? "true" : "false"}; });
}

Option text(std::string_view key, std::string type, Place<std::string> place,
            std::string_view help) {
  return make(
      key, type, help,
      [=](OptionTarget& target, Scalar const& value) -> std::string {
        if (!is_textual(value)) return expected(type, value);
        if (value.text.empty()) return "must not be empty";
        place(target) = value.text;
        return "";
      },
      [=](OptionTarget& target) { return place(target).empty() ? "" : quote(place(target)); });
}

}  // namespace options

namespace {

using options::at;

Option name_option() {
  Option option = options::text("name", "a name", at(&Case::name),
                                "what results and --set call the case; default: the workload");
  option.set = [base = option.set](OptionTarget& target,
                                   std::span<Scalar const> values) -> std::string {
    std::string const problem = base(target, values);
    if (!problem.empty()) return problem;
    std::string const& name = target.spec.name;
    // Names become file names, and are what --set addresses.
    bool const plain = std::all_of(name.begin(), name.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             std::string_view{"_-+."}.find(c) != std::string_view::npos;
    });
    if (!plain || name.front() == '.' || name.size() > 100) {
      return fmt::format(
          "{} must consist of at most 100 letters, digits, '_', '-', '+', '.', and not begin with "
          "'.'",
          show(values.front()));
    }
    if (name == "run" || name.starts_with("run.")) return "'run' means the table [run]";
    return "";
  };
  return option;
}

/// The resolver replaces the name by the schema, for which it needs the table of names.
Option workload_option() {
  return make(
      "workload", "a workload", "required; see `quadrille list`",
      [](OptionTarget&, Scalar const& value) -> std::string {
        if (!is_textual(value)) return expected("a workload", value);
        return value.text.empty() ? "must not be empty" : "";
      },
      [](OptionTarget& target) {
        return target.spec.workload == nullptr ? "" : quote(target.spec.workload->name);
      });
}

std::string size_problem(Extents const& size, WorkloadSchema const& workload,
                         std::string_view text) {
  if (size.auto_fraction > 0 && !workload.has_auto) {
    return fmt::format("{}: {} has no auto size; write \"({})\"", text, workload.name,
                       fmt::join(workload.extents, ","));
  }
  for (int i = 0; i < size.count; ++i) {
    if (size[i] >= workload.min_extent && size[i] <= workload.max_extent) continue;
    return fmt::format("{}: {} takes {} to {}", text, workload.name, workload.min_extent,
                       workload.max_extent);
  }
  auto const most = static_cast<int>(workload.extents.size());
  if (size.count > most) {
    return fmt::format("{} has {} extents, {} uses {}", text, size.count, workload.name,
                       most == 1 ? "one" : fmt::format("at most {}", most));
  }
  // Byte counts of every array must stay below 2^63.
  constexpr std::int64_t kMaxElements = 1LL << 59;
  bool fits = size[0] <= kMaxElements;
  for (std::size_t i = 0; i < workload.extents.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      fits = fits && (size[j] == 0 || size[i] <= kMaxElements / size[j]);
    }
  }
  return fits ? "" : fmt::format("{} has more than 2^59 elements", text);
}

Option size_option(std::string_view key, std::string_view help, Extents Case::*member) {
  std::string const type = "a count, \"(m,n,k)\" or \"auto:70%\"";
  return make(
      key, type, help,
      [=](OptionTarget& target, Scalar const& value) -> std::string {
        if (!is_countable(value)) return expected(type, value);
        auto const size = parse_size(value.text);
        if (!size) return size.why();
        std::string problem = size_problem(*size, *target.spec.workload, value.text);
        if (problem.empty()) target.spec.*member = *size;
        return problem;
      },
      [=](OptionTarget& target) -> std::string {
        Extents const& size = target.spec.*member;
        if (size.count == 0) return "";
        if (size.auto_fraction > 0)
          return fmt::format("\"auto:{:.12g}%\"", size.auto_fraction * 100);
        if (size.count == 1) return fmt::format("{}", size[0]);
        return fmt::format("\"({})\"",
                           fmt::join(size.value.begin(), size.value.begin() + size.count, ","));
      });
}

std::string quoted_list(Texts const& texts) {
  Texts quoted;
  for (std::string const& text : texts) quoted.push_back(quote(text));
  return quoted.size() == 1 ? quoted[0] : fmt::format("[{}]", fmt::join(quoted, ", "));
}

Option variant_option() {
  Option option{"variant", "a name or a list of names",
                "a list is measured alternately, as one case; also best, all"};
  option.list = true;
  option.sweeps = false;
  option.set = [](OptionTarget& target, std::span<Scalar const> values) -> std::string {
    Texts names;
    for (Scalar const& value : values) {
      if (!is_textual(value)) return fmt::format("{} is not a name", show(value));
      if (value.text.empty()) return "must not be empty";
      if (std::find(names.begin(), names.end(), value.text) != names.end()) {
        return fmt::format("'{}' is given twice", value.text);
      }
      names.push_back(value.text);
    }
    target.spec.variants = names;
    return "";
  };
  option.get = [](OptionTarget& target) { return quoted_list(target.spec.variants); };
  return option;
}

/// A text or a list of them, each of which `problem` looks at; empty ones count for nothing.
Option texts(std::string_view key, std::string_view help, Texts Case::*member,
             std::string (*problem)(Scalar const&)) {
  Option option{key, "a text or a list of texts", help};
  option.list = true;
  option.sweeps = false;
  option.set = [member, problem](OptionTarget& target,
                                 std::span<Scalar const> values) -> std::string {
    Texts given;
    for (Scalar const& value : values) {
      if (!is_textual(value)) return fmt::format("{} is not a text", show(value));
      if (value.text.empty()) continue;
      if (std::string why = problem(value); !why.empty()) return why;
      given.push_back(value.text);
    }
    target.spec.*member = given;
    return "";
  };
  option.get = [member](OptionTarget& target) {
    Texts const& given = target.spec.*member;
    return given.empty() ? "\"\"" : quoted_list(given);
  };
  return option;
}

std::string figure_problem(Scalar const& value) {
  std::size_t const colon = value.text.find(": ");
  if (colon == std::string::npos || colon == 0 || colon + 2 == value.text.size()) {
    return fmt::format("{}: write \"VARIANT: FIGURE\"", show(value));
  }
  auto const figure = parse_figure(std::string_view{value.text}.substr(colon + 2), 1);
  return figure ? "" : figure.why();
}

std::string launch_problem(Scalar const& value) {
  auto const launch = parse_published_launch(value.text);
  return launch ? "" : launch.why();
}

std::string count_problem(Scalar const& value) {
  std::string_view const text = value.text;
  std::size_t const colon = std::min(text.rfind(": "), text.size());
  std::size_t const blank = text.find(' ');
  bool const is_count =
      blank > 0 && blank < colon && parse_real(text.substr(std::min(colon + 2, text.size())));
  return is_count ? "" : fmt::format("{}: write \"VARIANT COUNTER: NUMBER\"", show(value));
}

Option published_on_option() {
  return make(
      "published_on", "a text", "the device of the published figures",
      [](OptionTarget& target, Scalar const& value) -> std::string {
        if (!is_textual(value)) return expected("a text", value);
        target.spec.published_on = value.text;
        return "";
      },
      [](OptionTarget& target) { return quote(target.spec.published_on); });
}

Option config_option() {
  std::string const type = "\"VARIANT NAME=VALUE,...\" or \"auto\"";
  return make(
      "config", type,
      "parameters of a tunable variant, several variants by ';'; auto: what `quadrille tune` found "
      "for this device, type and shape, else the variant's own",
      [=](OptionTarget& target, Scalar const& value) -> std::string {
        if (!is_textual(value)) return expected(type, value);
        auto const read = parse_configurations(value.text);
        if (!read) return read.why();
        target.spec.config = value.text;
        return "";
      },
      [](OptionTarget& target) { return quote(target.spec.config); });
}

Option grid_option() {
  std::string const type = "\"PxQ\", \"auto\" or \"all\"";
  return make(
      "grid", type, "process grid; auto: nearly square; all: a case per factoring of the ranks",
      [=](OptionTarget& target, Scalar const& value) -> std::string {
        if (!is_textual(value)) return expected(type, value);
        if (value.text == "auto" || value.text == "all") {
          target.spec.grid = value.text == "all" ? kAllGrids : GridShape{};
          return "";
        }
        auto const parts = split(value.text, "x");
        if (parts.size() != 2 || value.text.ends_with('x')) return expected(type, value);
        auto const rows = parse_count(parts[0]);
        auto const cols = parse_count(parts[1]);
        constexpr std::int64_t kMaxRanks = 1 << 24;
        if (!rows || !cols) return expected(type, value);
        if (*rows < 1 || *cols < 1 || *rows > kMaxRanks || *cols > kMaxRanks) {
          return fmt::format("{}: rows and columns must be 1 to {}", show(value), kMaxRanks);
        }
        target.spec.grid = {static_cast<int>(*rows), static_cast<int>(*cols)};
        return "";
      },
      [](OptionTarget& target) -> std::string {
        GridShape const grid = target.spec.grid;
        if (grid == GridShape{}) return "\"auto\"";
        if (grid == kAllGrids) return "\"all\"";
        return fmt::format("\"{}x{}\"", grid.rows, grid.cols);
      });
}

Option throttle_option() {
  std::string const type = "a rate or \"none\"";
  return make(
      "throttle", type,
      "\"500 MB/s\": modelled slow link for tests of overlap, marked in every output",
      [=](OptionTarget& target, Scalar const& value) -> std::string {
        if (!is_textual(value)) return expected(type, value);
        if (value.text == "none") {
          target.spec.throttle = 0;
          return "";
        }
        auto const rate = parse_rate(value.text);
        if (!rate) return rate.why() + ", or \"none\"";
        target.spec.throttle = *rate;
        return "";
      },
      [](OptionTarget& target) {
        return target.spec.throttle == 0 ? "\"none\""
                                         : fmt::format("\"{} B/s\"", target.spec.throttle);
      });
}

/// A share of the median, or a word that stands for another number.
Option half_width_option(char const* key, double Case::*percent,
                         std::vector<std::pair<std::string_view, double>> const& words,
                         char const* text) {
  std::string type = "a percentage";
  for (auto const& [word, value] : words) type += fmt::format(" or \"{}\"", word);
  return make(
      key, type, text,
      [=](OptionTarget& target, Scalar const& value) -> std::string {
        if (!is_textual(value)) return expected(type, value);
        for (auto const& [word, stands_for] : words) {
          if (value.text == word) return target.spec.*percent = stands_for, "";
        }
        auto const parsed = parse_percent(value.text);
        if (!parsed) return fmt::format("{}; takes {}", parsed.why(), type);
        target.spec.*percent = *parsed;
        return "";
      },
      [=](OptionTarget& target) {
        auto const word = std::ranges::find(words, target.spec.*percent,
                                            &std::pair<std::string_view, double>::second);
        return word == words.end() ? fmt::format("\"{} %\"", target.spec.*percent)
                                   : fmt::format("\"{}\"", word->first);
      });
}

Option device_map_option() {
  std::string const type = "a list such as \"0,2,4,6\", or \"auto\"";
  return make(
      "device_map", type,
      "index, UUID or PCI address of the GPU that each rank of a node drives; auto: that of its "
      "index",
      [=](OptionTarget& target, Scalar const& value) -> std::string {
        if (!is_countable(value)) return expected(type, value);
        if (value.text == "auto") {
          target.run.device_map.clear();
          return "";
        }
        auto const map = parse_device_map(value.text);
        if (!map) return map.why();
        target.run.device_map = *map;
        return "";
      },
      [](OptionTarget& target) {
        return target.run.device_map.empty()
                   ? "\"auto\""
                   : quote(fmt::format("{}", fmt::join(target.run.device_map, ",")));
      });
}

Option of_run(Option option) {
  option.scope = Option::Scope::run;
  option.sweeps = false;
  return option;
}
Option everywhere(Option option) {
  option.scope = Option::Scope::run_and_case;
  return option;
}
Option single(Option option) {
  option.sweeps = false;
  return option;
}
Option with(bool OptionalKeys::*needs, Option option) {
  option.needs = needs;
  return option;
}

std::vector<Option> run_options() {
  return {
      of_run(options::choice("device", at(&RunSettings::device),
                             "what each rank drives; auto takes cuda where a driver is")),
      of_run(options::bytes("chunk_bytes", at(&RunSettings::chunk_bytes),
                            "largest single MPI message or HDF5 write, 1Ki to 1Gi; MPI "
                            "counts in int",
                            {.least = 1024, .most = 1 << 30})),
      of_run(options::seconds(
          "timeout.init", at(&RunSettings::timeout, &Timeouts::init_s),
          "limit of opening devices, and of the end; with --set also of MPI's start", false)),
      of_run(options::seconds("timeout.prepare", at(&RunSettings::timeout, &Timeouts::prepare_s),
                              "limit of allocating and filling what a case works on", false)),
      of_run(options::seconds("timeout.repetition",
                              at(&RunSettings::timeout, &Timeouts::repetition_s),
                              "limit of one repetition, or of a batch; a variant that takes longer "
                              "is TIMEOUT, the others go on",
                              false)),
      of_run(options::seconds("timeout.grace", at(&RunSettings::timeout, &Timeouts::grace_s),
                              "how long such a repetition is waited for: then the job ends",
                              false)),
      of_run(options::seconds("timeout.check", at(&RunSettings::timeout, &Timeouts::check_s),
                              "limit of one check", false)),
      of_run(options::seconds("timeout.write", at(&RunSettings::timeout, &Timeouts::write_s),
                              "limit of collecting samples, of saving and of the result", false)),
      of_run(options::text("output", "a folder", at(&RunSettings::output),
                           "where run directories are made")),
      of_run(options::flag("allow_shared_gpu", at(&RunSettings::allow_shared_gpu),
                           "let several ranks drive one GPU")),
      of_run(device_map_option()),
      of_run(options::count(
          "fake_nodes", at(&RunSettings::fake_nodes),
          "split the ranks of each node into so many parts and count each as a node, to try "
          "what joins nodes on one",
          {.least = 1})),
      of_run(
          options::choice("tuned", at(&RunSettings::tuned),
                          "whether `best` and tunable variants take what `quadrille tune` found")),
      of_run(options::seconds("duration", at(&RunSettings::duration_s),
                              "burn-in: repeat all cases, at least twice, until so much time is "
                              "over; results must be those of the first round; 0: once",
                              true)),
  };
}

/// Their sweeps nest outside of those of the workload's own keys.
std::vector<Option> outer_options() {
  return {
      single(name_option()),
      single(workload_option()),
      everywhere(options::choice("type", at(&Case::type), "element type of the arrays")),
      everywhere(with(&OptionalKeys::compute,
                      options::choice("compute", at(&Case::compute),
                                      "what products are multiplied and added in; auto: the "
                                      "element type, for 16-bit types f32"))),
      size_option(
          "size",
          "required; elements of `type` per extent of the whole problem (integral: cells); "
          "missing extents repeat the last; auto: share of the smallest free memory, where one "
          "number may be all extents",
          &Case::size),
      single(size_option("size_host", "what a host device takes in place of `size`",
                         &Case::size_host)),
      single(with(&OptionalKeys::weak,
                  options::flag("weak", at(&Case::weak),
                                "the size is for one rank: on P ranks a vector is P times as long, "
                                "each extent of a matrix sqrt(P) times, so that a rank holds as "
                                "much"))),
      everywhere(variant_option()),
      with(&OptionalKeys::config, config_option()),
      texts("published",
            "\"VARIANT: FIGURE\" of the technique's source, shown beside the measured one; "
            "\"VARIANT METRIC: FIGURE\" of a secondary metric",
            &Case::published, figure_problem),
      single(published_on_option()),
      everywhere(texts("published_launch",
                       "what the source of a technique launched for its figure, \"VARIANT: 512x512 "
                       "blocks, 8x8 threads\", with m/8 for the first extent divided by 8 and "
                       "rounded up, n and k for the second and the third; \"VARIANT: none, WHY\" "
                       "where there is nothing to compare with",
                       &Case::published_launch, launch_problem)),
      texts(
          "published_counts",
          "\"VARIANT COUNTER: NUMBER\" of a profile that the technique's source prints, for report "
          "--profile; the counters are those of `quadrille list counters`",
          &Case::published_counts, count_problem),
      everywhere(single(options::choice("vendor", at(&Case::vendor),
                                        "auto adds the vendor's library where there is one"))),
      options::method(everywhere(
          with(&OptionalKeys::transport,
               options::text("transport", "a transport", at(&Case::transport),
                             "how device data travels between ranks, see `quadrille list "
                             "transports`; auto: by measured times; all: a case for each")))),
      everywhere(with(&OptionalKeys::transport, throttle_option())),
      options::method(everywhere(
          with(&OptionalKeys::transport,
               options::count("nccl_ctas", at(&Case::nccl_ctas),
                              "thread blocks that an exchange of NCCL takes at most, each on "
                              "a multiprocessor; 0: as many as `sms` leaves, else NCCL's "
                              "choice",
                              {.least = 0, .most = 1024})))),
      options::method(with(&OptionalKeys::grid, grid_option())),
  };
}

/// Their sweeps nest inside.
std::vector<Option> inner_options() {
  return {
      everywhere(
          single(with(&OptionalKeys::legs,
                      options::flag("legs", at(&Case::legs),
                                    "measure compute, communicate, serial and overlapped")))),
      everywhere(
          single(options::flag("save", at(&Case::save),
                               "write inputs and outputs to fields/NAME.h5 beside the result"))),
      everywhere(options::choice("data", at(&Case::data), "input values")),
      everywhere(single(options::count("seed", at(&Case::seed), "selects the input values"))),
      everywhere(single(options::count("repetitions", at(&Case::repetitions),
                                       "timed repetitions, at least 1", {.least = 1}))),
      everywhere(single(half_width_option(
          "stop", &Case::stop_percent, {{"none", 0}},
          "\"1 %\": continue after `repetitions`, at most to 1000, until the 95 % interval of each "
          "variant's median is within so much of it on either side"))),
      everywhere(single(half_width_option(
          "suspect", &Case::suspect_percent, {{"auto", Case::kAutomaticPercent}, {"none", 0}},
          "a variant whose interval is wider gets more repetitions, up to 2 s, and is SUSPECT "
          "where that does not help; auto: 5 %, or 15 % where the host drives messages of GPUs; "
          "none: neither"))),
      everywhere(single(options::count("warmup.count", at(&Case::warmup, &Warmup::count),
                                       "least number of untimed repetitions of each variant"))),
      everywhere(
          single(options::seconds("warmup.seconds", at(&Case::warmup, &Warmup::seconds),
                                  "least time of untimed repetitions of each variant", true))),
      everywhere(
          single(options::choice("check", at(&Case::check), "how much of a result is checked"))),
      everywhere(single(
          options::choice("clock", at(&Case::clock),
                          "burst: variants in turn; sustained: each for 3 s of its own without a "
                          "pause, in samples of at least 50 ms, checked at the end"))),
      everywhere(options::choice(
          "timing", at(&Case::timing),
          "whose clock: events of the device, the host's after a synchronisation, or the "
          "host's before it (SUSPECT); auto: device on a GPU, else synchronised")),
      everywhere(options::count_or_auto(
          "batch", at(&Case::batch),
          "executions that each sample is the mean of; auto: as many as take 2 ms, at most 100, "
          "where one takes less than 200 us, else 1",
          0, {.least = 1, .most = 500})),
      everywhere(options::choice(
          "cache", at(&Case::cache),
          "cold: a batch on a GPU rotates over sets of buffers that together exceed the "
          "last-level cache; hot: it uses one set again and again, and no rate is compared "
          "with that of memory")),
      everywhere(single(options::flag("demonstrate", at(&Case::demonstrate),
                                      "also run variants that are wrong on purpose"))),
  };
}

struct Common {
  std::vector<Option> all = run_options();
  std::size_t outer = all.size();
  std::size_t inner;
  Common() {
    for (Option& option : outer_options()) all.push_back(std::move(option));
    inner = all.size();
    for (Option& option : inner_options()) all.push_back(std::move(option));
  }
};

Common const& common() {
  static Common const options;
  return options;
}

std::string describe(Option const& option, std::string const& preset) {
  std::string text = fmt::format("  {:<20}{}", option.key, option.type);
  if (!option.unit.empty()) text += fmt::format(", {}", option.unit);
  if (!preset.empty()) text += fmt::format("; default {}", written(option, preset));
  if (option.sweeps) text += "; sweeps";
  return text + fmt::format("\n{:22}{}\n", "", option.help);
}

}  // namespace

std::span<Option const> common_options() { return common().all; }

bool accepts(Option const& option, WorkloadSchema const& workload) {
  return option.scope != Option::Scope::run &&
         (option.needs == nullptr || workload.keys.*option.needs);
}

std::vector<Option const*> options_of(WorkloadSchema const& workload) {
  std::vector<Option const*> found;
  auto const add = [&](std::span<Option const> some) {
    for (Option const& option : some) {
      if (accepts(option, workload)) found.push_back(&option);
    }
  };
  std::span<Option const> const all = common().all;
  add(all.subspan(common().outer, common().inner - common().outer));
  add(workload.options);
  add(all.subspan(common().inner));
  return found;
}

std::string written(Option const& option, std::string const& toml) {
  auto const count = option.is_bytes ? parse_count(toml) : Parsed<std::int64_t>::error("");
  std::string const text = count ? format_count(*count) : toml;
  return text == toml ? toml : quote(text);
}

std::string default_of(Option const& option, WorkloadSchema const& workload) {
  OptionTarget target;
  target.spec.workload = &workload;
  target.spec.parameters = workload.defaults;
  return option.get(target);
}

std::string options_help() {
  using enum Option::Scope;
  std::string text;
  OptionTarget target;
  auto const add = [&](std::string_view title, Option::Scope scope) {
    text += fmt::format("{}\n", title);
    for (Option const& option : common_options()) {
      if (option.scope == scope) text += describe(option, option.get(target));
    }
  };
  add("[run]", run);
  add("[[case]], or for all cases [run]", run_and_case);
  add("[[case]]", only_case);
  return text + "Each workload has keys of its own: see `quadrille explain WORKLOAD`.\n";
}

std::string options_help(WorkloadSchema const& workload) {
  std::string text;
  for (Option const& option : workload.options)
    text += describe(option, default_of(option, workload));
  return text;
}

std::string to_toml(Case const& spec) {
  std::string text = "[[case]]\n";
  OptionTarget target;
  target.spec = spec;
  for (Option const* option : options_of(*spec.workload)) {
    std::string const value = option->get(target);
    if (!value.empty()) text += fmt::format("{} = {}\n", option->key, value);
  }
  return text;
}

std::string to_toml(Config const& config) {
  std::string text = "[run]\n";
  OptionTarget target;
  target.run = config.run;
  for (Option const& option : common_options()) {
    if (option.scope != Option::Scope::run) continue;
    text += fmt::format("{} = {}\n", option.key, option.get(target));
  }
  for (Case const& spec : config.cases) {
    text += '\n';
    text += to_toml(spec);
  }
  return text;
}

}  // namespace quadrille::core

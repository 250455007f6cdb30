// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "core/config.hpp"

#include "core/former_names.hpp"
#include "core/options.hpp"
#include "core/text.hpp"
#include "core/toml.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

namespace quadrille::core {
namespace {

using Kind = Scalar::Kind;
using Names = std::vector<std::string>;

constexpr std::size_t kMaxCases = 10000;
constexpr std::int64_t kMaxRanks = 100000;
// What a configuration never needs, and what hostile ones take all memory, time or stack with.
constexpr std::size_t kLongestText = 4096;
constexpr std::size_t kLongestListed = 256;
constexpr std::size_t kMaxListed = 64;

/// One key with its value as found, and where.
struct Setting {
  std::string key;  ///< with dots for members of tables
  std::vector<Scalar> values;
  bool is_list = false;
  std::int64_t line = 0;
  std::string where;  ///< "file.toml:7" or "--set a.b=c"
};
using Settings = std::vector<Setting>;

struct RawCase {
  Settings settings;
  std::string where;
  std::string name;
  WorkloadSchema const* workload = nullptr;
  bool named = false;
};

Setting const* find(Settings const& settings, std::string_view key) {
  auto const found = std::find_if(settings.begin(), settings.end(),
                                  [&](Setting const& s) { return s.key == key; });
  return found == settings.end() ? nullptr : &*found;
}

Scalar scalar_of(toml::node const& node) {
  if (auto const* const v = node.as_boolean()) {
    return {Kind::boolean, v->get() ? "true" : "false"};
  }
  if (auto const* const v = node.as_integer()) return {Kind::number, fmt::format("{}", v->get())};
  if (auto const* const v = node.as_floating_point()) {
    return {Kind::number, fmt::format("{}", v->get())};
  }
  if (auto const* const v = node.as_string()) return {Kind::text, v->get()};
  if (node.is_table()) return {Kind::other, "a table"};
  if (node.is_array()) return {Kind::other, "a list"};
  return {Kind::other, "a date or time"};
}

/// Appends a setting for every leaf under `node`.
void flatten(toml::node const& node, std::string const& key, std::string_view origin,
             Settings& out) {
  auto const* const table = node.as_table();
  if (table != nullptr && !table->empty()) {
    for (auto const& [member, child] : *table) {
      flatten(child, fmt::format("{}.{}", key, member.str()), origin, out);
    }
    return;
  }
  Setting setting{key, {}, node.is_array(), node.source().begin.line, ""};
  setting.where = fmt::format("{}:{}", origin, setting.line);
  if (auto const* const list = node.as_array()) {
    for (auto const& element : *list) setting.values.push_back(scalar_of(element));
  } else {
    setting.values.push_back(scalar_of(node));
  }
  out.push_back(std::move(setting));
}

/// The settings of a table in the order of the file.
Settings settings_of(toml::table const& table, std::string_view origin) {
  Settings settings;
  for (auto const& [key, node] : table) flatten(node, std::string{key.str()}, origin, settings);
  std::stable_sort(settings.begin(), settings.end(),
                   [](Setting const& a, Setting const& b) { return a.line < b.line; });
  return settings;
}

/// A list whose elements are words, such as [1Ki,(2Ki,1,1)], as TOML would have it: in quotes. Other
/// text as it is.
std::string with_quoted_words(std::string const& value) {
  if (!value.starts_with('[') || !value.ends_with(']') ||
      value.find_first_of("\"'[]", 1) != value.size() - 1) {
    return value;
  }
  std::string quoted = "[\"";
  int depth = 0;
  for (char const c : value.substr(1, value.size() - 2)) {
    depth += (c == '(' ? 1 : 0) - (c == ')' ? 1 : 0);
    if (c == ',' && depth == 0) {
      quoted += "\",\"";
    } else if (c != ' ') {
      quoted += c;
    }
  }
  return quoted + "\"]";
}

/// The right-hand side of --set: a TOML value if it is one, a list of words, else bare text.
Settings settings_of_text(std::string const& key, std::string const& value) {
  for (std::string const& toml : {value, with_quoted_words(value)}) {
    std::string const text = "v = " + toml;
    if (find_syntax_error(text).line != 0) continue;
    toml::parse_result const parsed = toml::parse(text);
    if (!parsed || parsed.table().size() != 1) continue;
    Settings settings;
    flatten(*parsed.table().get("v"), key, "", settings);
    bool is_usable = true;
    for (Setting& setting : settings) {
      for (Scalar& v : setting.values) {
        is_usable = is_usable && v.kind != Kind::other;
        if (v.kind != Kind::text || toml != value) v.kind = Kind::bare;
      }
    }
    if (is_usable) return settings;
  }
  return {{key, {{Kind::bare, value}}, false, 0, ""}};
}

/// Why a value of [about] is not what its key takes; "" where it is.
std::string value_problem(Setting const& setting, Kind kind, bool may_be_list) {
  if (setting.is_list && !may_be_list) return "takes one value, not a list";
  if (setting.values.empty() || setting.values.size() > kMaxListed) {
    return fmt::format("takes a list of 1 to {} values", kMaxListed);
  }
  for (Scalar const& value : setting.values) {
    if (value.kind != kind) return kind == Kind::text ? "takes text in quotes" : "takes numbers";
    if (value.text.empty() || value.text.size() > kLongestText) {
      return fmt::format("takes 1 to {} characters", kLongestText);
    }
  }
  return {};
}

std::string device_problem(std::string const& device, Names const& known) {
  if (std::ranges::find(known, device) != known.end()) return {};
  return fmt::format("unknown device '{}'{}", device,
                     suggestion(device, known, fmt::format("; one of {}", fmt::join(known, ", "))));
}

template <class T>
std::string store(Parsed<T> const& amount, double& place) {
  if (!amount) return amount.why();
  place = static_cast<double>(*amount);
  return {};
}

/// What a device takes: the member `device` of the table memory or seconds.
std::string read_amount(Setting const& setting, bool is_memory, std::string const& device,
                        Names const& devices, About& about) {
  std::string problem = device_problem(device, devices);
  if (problem.empty()) {
    problem = value_problem(setting, is_memory ? Kind::text : Kind::number, false);
  }
  if (!problem.empty()) return problem;
  std::string const& text = setting.values.front().text;
  return is_memory ? store(parse_bytes(text), about.memory[device])
                   : store(parse_seconds(text), about.seconds[device]);
}

/// Puts a setting of [about] into it. Returns "", or the problem.
std::string read_setting(Setting const& setting, Names const& devices, About& about) {
  Names const keys{"purpose", "devices", "ranks", "memory", "seconds", "covers"};
  std::size_t const dot = std::min(setting.key.find('.'), setting.key.size());
  std::string const key = setting.key.substr(0, dot);
  bool const is_memory = key == "memory";
  if (is_memory || key == "seconds") {
    if (dot == setting.key.size()) return "takes a table, such as { host = ... }";
    return read_amount(setting, is_memory, setting.key.substr(dot + 1), devices, about);
  }
  if (std::ranges::find(keys, setting.key) == keys.end()) {
    return fmt::format("unknown key{}",
                       suggestion(key, keys, fmt::format("; one of {}", fmt::join(keys, ", "))));
  }
  bool const is_count = key == "ranks";
  std::string problem =
      value_problem(setting, is_count ? Kind::number : Kind::text, key != "purpose");
  if (!problem.empty()) return problem;
  for (Scalar const& value : setting.values) {
    if (key == "purpose") about.purpose = value.text;
    if (key == "devices") {
      problem = device_problem(value.text, devices);
      if (!problem.empty()) return problem;
      about.devices.push_back(value.text);
    }
    if (is_count) {
      auto const ranks = parse_count(value.text);
      if (!ranks || *ranks < 1 || *ranks > kMaxRanks)
        return "takes numbers of ranks, from 1 to 100000";
      about.ranks.push_back(*ranks);
    }
  }
  return {};
}

/// "{ place = ..., item = ..., cases = ... }". Returns "", or the problem.
std::string read_covered(toml::node const& node, Covered& covered) {
  std::map<std::string_view, std::string*> const texts{{"place", &covered.place},
                                                       {"item", &covered.item},
                                                       {"cases", &covered.cases},
                                                       {"variant", &covered.variant},
                                                       {"command", &covered.command}};
  if (!node.is_table()) return "takes tables such as { place = ..., item = ..., cases = ... }";
  for (auto const& [key, value] : *node.as_table()) {
    auto const text = texts.find(key.str());
    if (text == texts.end() || !value.is_string()) {
      return fmt::format("place, item, cases, variant and command are texts, not '{}'", key.str());
    }
    *text->second = value.as_string()->get();
  }
  if (covered.place.empty() || covered.item.empty()) return "needs place and item";
  if (covered.cases.empty() == covered.command.empty()) return "needs either cases or a command";
  return {};
}

/// [about.covers]: a list for each document, by its title. Returns "", or the problem.
std::string read_covers(toml::node_view<toml::node const> covers, std::vector<Covered>& all) {
  if (!covers) return {};
  if (!covers.is_table()) return "takes a table with a list for each document";
  for (auto const& [document, list] : *covers.as_table()) {
    if (!list.is_array()) return fmt::format("'{}' takes a list", document.str());
    for (toml::node const& each : *list.as_array()) {
      all.push_back({.document = std::string{document.str()}, .place = {}, .item = {}});
      std::string const problem = read_covered(each, all.back());
      if (!problem.empty()) return fmt::format("'{}' {}", document.str(), problem);
    }
  }
  return {};
}

class Resolver {
 public:
  Resolver(std::string_view origin, NameTable const& name_table)
      : origin_{origin}, name_table_{name_table} {
    for (WorkloadSchema const* schema : name_table.workloads) workloads_.emplace_back(schema->name);
  }

  bool read(std::string_view text);
  bool apply(std::span<std::string const> sets, bool bare_case);
  bool build(Config& config);
  std::string const& error() const { return error_; }
  /// On each former name that was replaced, once.
  std::vector<std::string> notes() const;

 private:
  bool fail_at(std::string_view where, std::string_view problem) {
    error_ = one_line(fmt::format("{}: {}", where, problem));
    return false;
  }
  bool read_about(toml::table const& table, std::string_view where);
  bool identify_cases();
  void replace_former_names(Setting& setting, std::string_view workload);
  bool replace_former_names(Settings& settings, std::string_view workload);
  bool apply_one(std::string const& set, bool bare_case);
  Option const* find_option(std::string_view key, WorkloadSchema const* workload = nullptr) const;
  Names workloads_with(std::string_view key) const;
  bool check_key(Setting const& setting, WorkloadSchema const* workload, bool in_run);
  bool assign(Option const& option, Setting const& setting, std::span<Scalar const> values,
              OptionTarget& target);
  bool check_names(Setting const& setting, OptionTarget const& target);
  bool expand(Option const& option, Setting const& setting, OptionTarget const& target,
              std::vector<Scalar>& values);
  bool build_case(RawCase const& raw, RunSettings const& run, std::vector<Case>& cases);

  std::string_view origin_;
  NameTable const& name_table_;
  Names workloads_;
  std::optional<About> about_;
  Settings run_;
  std::vector<RawCase> cases_;
  std::vector<FormerName const*> former_;  ///< that were replaced
  std::string error_;
};

std::vector<std::string> Resolver::notes() const {
  std::vector<std::string> notes;
  for (FormerName const& name : former_names()) {
    if (std::ranges::find(former_, &name) != former_.end()) notes.push_back(note_of(name));
  }
  return notes;
}

/// Behind this nothing knows of former names.
void Resolver::replace_former_names(Setting& setting, std::string_view workload) {
  if (FormerName const* const former = find_former_key(workload, setting.key)) {
    setting.key = former->present;
    former_.push_back(former);
  }
  for (Scalar& value : setting.values) {
    value.text = with_present_variants(setting.key, value.text, &former_);
  }
}

/// ... of a table, which must not have a key by both of its names.
bool Resolver::replace_former_names(Settings& settings, std::string_view workload) {
  for (Setting& setting : settings) {
    FormerName const* const former = find_former_key(workload, setting.key);
    if (former != nullptr && find(settings, former->present) != nullptr) {
      return fail_at(setting.where, note_of(*former) + ", and both are given; leave out one");
    }
    replace_former_names(setting, workload);
  }
  return true;
}

bool Resolver::read(std::string_view text) {
  if (text.size() > kMaxConfigBytes) {
    return fail_at(origin_, "more than 32 MiB of text is no configuration");
  }
  if (SyntaxError const found = find_syntax_error(text); found.line > 0) {
    return fail_at(fmt::format("{}:{}", origin_, found.line), found.why);
  }
  toml::parse_result const parsed = toml::parse(text);
  if (!parsed) {
    toml::parse_error const& problem = parsed.error();
    return fail_at(fmt::format("{}:{}", origin_, problem.source().begin.line),
                   problem.description());
  }
  for (auto const& [key, node] : parsed.table()) {
    std::string const where = fmt::format("{}:{}", origin_, node.source().begin.line);
    if (key.str() == "about") {
      if (!node.is_table()) return fail_at(where, "'about' must be a table: [about]");
      if (!read_about(*node.as_table(), where)) return false;
    } else if (key.str() == "run") {
      if (!node.is_table()) return fail_at(where, "'run' must be a table: [run]");
      run_ = settings_of(*node.as_table(), origin_);
      if (!replace_former_names(run_, "")) return false;
    } else if (key.str() == "case") {
      auto const* const list = node.as_array();
      if (list == nullptr || !list->is_homogeneous<toml::table>()) {
        return fail_at(where, "'case' must be a list of tables: write [[case]]");
      }
      for (auto const& element : *list) {
        RawCase raw;
        raw.where = fmt::format("{}:{}", origin_, element.source().begin.line);
        raw.settings = settings_of(*element.as_table(), origin_);
        cases_.push_back(std::move(raw));
      }
    } else {
      Names const tables{"about", "run", "case"};
      return fail_at(where, fmt::format("unknown table or key '{}'{}", key.str(),
                                        suggestion(key.str(), tables,
                                                   "; a file has [about], [run] and [[case]]")));
    }
  }
  if (cases_.empty()) return fail_at(origin_, "there is no [[case]], so nothing to run");
  if (cases_.size() > kMaxCases) {
    return fail_at(origin_, fmt::format("there are more than {} cases", kMaxCases));
  }
  return identify_cases();
}

bool Resolver::read_about(toml::table const& table, std::string_view where) {
  About& about = about_.emplace();
  toml::node_view<toml::node const> const covers{table.get("covers")};
  if (std::string const problem = read_covers(covers, about.covers); !problem.empty()) {
    return fail_at(where, fmt::format("about.covers: {}", problem));
  }
  for (Setting const& setting : settings_of(table, origin_)) {
    if (setting.key == "covers" || setting.key.starts_with("covers.")) continue;
    std::string const problem = read_setting(setting, name_table_.devices, about);
    if (!problem.empty()) {
      return fail_at(setting.where, fmt::format("about.{}: {}", setting.key, problem));
    }
  }
  std::string_view const missing = about.purpose.empty()   ? "purpose"
                                   : about.devices.empty() ? "devices"
                                   : about.ranks.empty()   ? "ranks"
                                                           : "";
  if (!missing.empty()) return fail_at(where, fmt::format("[about] has no {}", missing));
  for (auto const* amounts : {&about.memory, &about.seconds}) {
    for (auto const& [device, amount] : *amounts) {
      if (std::ranges::find(about.devices, device) != about.devices.end()) continue;
      return fail_at(
          where, fmt::format("[about] says what '{}' takes, which is none of its devices", device));
    }
  }
  return true;
}

/// Fills in workloads and names, which --set and every later message need.
bool Resolver::identify_cases() {
  std::set<std::string> taken;
  for (RawCase& raw : cases_) {
    OptionTarget target;
    Setting const* const workload = find(raw.settings, "workload");
    if (workload == nullptr) {
      for (Setting const& s : raw.settings) {
        if (!check_key(s, nullptr, false)) return false;
      }
      return fail_at(raw.where, fmt::format("the case has no workload; one of {}",
                                            fmt::join(workloads_, ", ")));
    }
    if (!assign(*find_option("workload"), *workload, workload->values, target)) return false;
    std::string const& wanted = workload->values.front().text;
    auto const found = std::ranges::find(workloads_, wanted);
    if (found == workloads_.end()) {
      return fail_at(
          workload->where,
          fmt::format("unknown workload '{}'{}", wanted,
                      suggestion(wanted, workloads_,
                                 fmt::format("; one of {}", fmt::join(workloads_, ", ")))));
    }
    raw.workload = name_table_.workloads[static_cast<std::size_t>(found - workloads_.begin())];
    if (!replace_former_names(raw.settings, raw.workload->name)) return false;
    Setting const* const name = find(raw.settings, "name");
    raw.named = name != nullptr;
    if (!raw.named) continue;
    if (!assign(*find_option("name"), *name, name->values, target)) return false;
    raw.name = target.spec.name;
    if (!taken.insert(raw.name).second) {
      return fail_at(name->where,
                     fmt::format("two cases are called '{}'; names must differ", raw.name));
    }
  }
  std::map<WorkloadSchema const*, int> tried;  // names of a workload
  for (RawCase& raw : cases_) {
    if (raw.named) continue;
    do {
      int const i = ++tried[raw.workload];
      raw.name = i == 1 ? raw.workload->name : fmt::format("{}-{}", raw.workload->name, i);
    } while (!taken.insert(raw.name).second);
  }
  return true;
}

bool Resolver::apply(std::span<std::string const> sets, bool bare_case) {
  if (bare_case && cases_.size() != 1) {
    return fail_at(origin_, fmt::format("{} cases where one is expected", cases_.size()));
  }
  return std::all_of(sets.begin(), sets.end(),
                     [&](std::string const& set) { return apply_one(set, bare_case); });
}

bool Resolver::apply_one(std::string const& set, bool bare_case) {
  auto const trim = [](std::string text) {
    text.erase(0, text.find_first_not_of(' '));
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  };
  std::string const where = "--set " + set;
  // The resolved configuration is TOML, which has no other texts.
  if (!is_utf8(set)) return fail_at(where, "this is no text of UTF-8");
  std::size_t const equals = set.find('=');
  if (equals == std::string::npos) return fail_at(where, "write KEY=VALUE");
  std::string const path = trim(set.substr(0, equals));
  std::string const value = trim(set.substr(equals + 1));

  Settings* target = nullptr;
  std::string_view workload;  // of a case
  std::string key;
  Names names{"run"};
  if (path.starts_with("run.")) {
    target = &run_;
    key = path.substr(4);
  }
  // Names may contain dots, so the longest one that fits is meant.
  std::size_t longest = 0;
  for (RawCase& raw : cases_) {
    names.push_back(raw.name);
    if (path.starts_with(raw.name + ".") && raw.name.size() > longest) {
      longest = raw.name.size();
      target = &raw.settings;
      workload = raw.workload->name;
      key = path.substr(longest + 1);
    }
  }
  if (target == nullptr && bare_case) {
    target = &cases_.front().settings;
    workload = cases_.front().workload->name;
    key = path;
  }
  if (target == nullptr) {
    std::string const all = fmt::format("; write one of {} before the key", fmt::join(names, ", "));
    if (path.find('.') == std::string::npos) return fail_at(where, "it names no case" + all);
    std::string const head = path.substr(0, path.find('.'));
    return fail_at(where,
                   fmt::format("no case is called '{}'{}", head, suggestion(head, names, all)));
  }
  if (target != &run_ && (key == "name" || key == "workload")) {
    return fail_at(where, fmt::format("'{}' can only stand in a file", key));
  }
  for (Setting& setting : settings_of_text(key, value)) {
    setting.where = where;
    replace_former_names(setting, workload);
    std::erase_if(*target, [&](Setting const& old) { return old.key == setting.key; });
    target->push_back(std::move(setting));
  }
  return true;
}

/// The option of a key, the workload's own in front of those of others; nullptr where there is none.
Option const* Resolver::find_option(std::string_view key, WorkloadSchema const* workload) const {
  auto const find_in = [&](std::span<Option const> some) -> Option const* {
    auto const found = std::ranges::find(some, key, &Option::key);
    return found == some.end() ? nullptr : &*found;
  };
  Option const* found = find_in(common_options());
  if (found == nullptr && workload != nullptr) found = find_in(workload->options);
  for (WorkloadSchema const* other : name_table_.workloads) {
    if (found == nullptr) found = find_in(other->options);
  }
  return found;
}

/// The workloads that accept a key.
Names Resolver::workloads_with(std::string_view key) const {
  Names names;
  for (WorkloadSchema const* workload : name_table_.workloads) {
    if (std::ranges::any_of(options_of(*workload), [&](auto* o) { return o->key == key; })) {
      names.emplace_back(workload->name);
    }
  }
  return names;
}

bool Resolver::check_key(Setting const& setting, WorkloadSchema const* workload, bool in_run) {
  std::string const& key = setting.key;
  Option const* const option = find_option(key, workload);
  if (option == nullptr) {
    Names members;
    Names allowed;
    for (Option const& o : common_options()) {
      if (o.key.starts_with(key + ".")) members.emplace_back(o.key.substr(key.size() + 1));
      bool const fits =
          in_run ? o.scope != Option::Scope::only_case
                 : o.scope != Option::Scope::run && (workload == nullptr || accepts(o, *workload));
      if (fits) allowed.emplace_back(o.key);
    }
    if (!in_run && workload != nullptr) {
      for (Option const& o : workload->options) allowed.emplace_back(o.key);
    }
    if (!members.empty()) {
      return fail_at(setting.where,
                     fmt::format("'{}' is a table with {}", key, fmt::join(members, ", ")));
    }
    return fail_at(setting.where,
                   fmt::format("unknown key '{}'{}", key,
                               suggestion(key, allowed,
                                          fmt::format("; one of {}", fmt::join(allowed, ", ")))));
  }
  if (in_run && option->scope == Option::Scope::only_case) {
    return fail_at(setting.where, fmt::format("'{}' belongs in a [[case]], not in [run]", key));
  }
  if (!in_run && option->scope == Option::Scope::run) {
    return fail_at(setting.where, fmt::format("'{}' belongs in [run], not in a [[case]]", key));
  }
  if (in_run || workload == nullptr) return true;
  Names const accepting = workloads_with(key);
  if (std::ranges::find(accepting, workload->name) != accepting.end()) return true;
  return fail_at(setting.where, fmt::format("workload '{}' has no key '{}'; it belongs to {}",
                                            workload->name, key, fmt::join(accepting, ", ")));
}

bool Resolver::assign(Option const& option, Setting const& setting, std::span<Scalar const> values,
                      OptionTarget& target) {
  if (setting.is_list && setting.values.empty()) {
    return fail_at(setting.where, fmt::format("{}: the list is empty", setting.key));
  }
  if (setting.is_list && !option.list && !option.sweeps) {
    return fail_at(setting.where, fmt::format("{}: takes one value, not a list", setting.key));
  }
  if (option.list && values.size() > kMaxListed) {
    return fail_at(setting.where,
                   fmt::format("{}: a list of more than {} values", setting.key, kMaxListed));
  }
  std::size_t const longest = option.list ? kLongestListed : kLongestText;
  if (std::ranges::any_of(values, [=](Scalar const& v) { return v.text.size() > longest; })) {
    return fail_at(setting.where,
                   fmt::format("{}: longer than {} characters", setting.key, longest));
  }
  std::string const problem = option.set(target, values);
  if (problem.empty()) return true;
  return fail_at(setting.where, fmt::format("{}: {}", setting.key, problem));
}

/// Expands lists and ranges and tries every value on a copy of the target.
bool Resolver::expand(Option const& option, Setting const& setting, OptionTarget const& target,
                      std::vector<Scalar>& values) {
  for (Scalar const& value : setting.values) {
    bool const textual = value.kind == Kind::text || value.kind == Kind::bare;
    if (!textual || !option.sweeps) {
      values.push_back(value);
      continue;
    }
    auto const texts = expand_sweep(value.text);
    if (!texts) return fail_at(setting.where, fmt::format("{}: {}", setting.key, texts.why()));
    for (std::string const& text : *texts) values.push_back({value.kind, text});
    if (values.size() > kMaxCases) {
      return fail_at(setting.where, fmt::format("{}: more than {} values", setting.key, kMaxCases));
    }
  }
  OptionTarget scratch = target;
  if (!option.sweeps || values.empty()) return assign(option, setting, values, scratch);
  for (Scalar const& value : values) {
    if (!assign(option, setting, {&value, 1}, scratch)) return false;
  }
  return true;
}

/// Names of variants and transports, which the layers above have.
bool Resolver::check_names(Setting const& setting, OptionTarget const& target) {
  auto const check = [&](std::string const& what, std::string const& name, Names const& allowed) {
    if (std::ranges::find(allowed, name) != allowed.end()) return true;
    return fail_at(setting.where,
                   fmt::format("{}: unknown {}{}", setting.key, what,
                               suggestion(name, allowed,
                                          fmt::format("; one of {}", fmt::join(allowed, ", ")))));
  };
  Case const& spec = target.spec;
  Names variants;
  for (std::string_view const name : spec.workload->variants) {
    if (std::ranges::find(variants, name) == variants.end()) variants.emplace_back(name);
  }
  for (char const* const always : {"best", "all"}) {
    if (std::ranges::find(variants, always) == variants.end()) variants.emplace_back(always);
  }
  std::vector<NamedConfiguration> const configurations = configurations_of(spec);
  return std::ranges::all_of(
             configurations,
             [&](NamedConfiguration const& one) {
               return check(fmt::format("variant '{}' of {}", one.variant, spec.workload->name),
                            one.variant, variants);
             }) &&
         std::ranges::all_of(spec.variants,
                             [&](std::string const& name) {
                               return check(
                                   fmt::format("variant '{}' of {}", name, spec.workload->name),
                                   name, variants);
                             }) &&
         check(fmt::format("transport '{}'", spec.transport), spec.transport,
               name_table_.transports);
}

/// Why keys of a case do not go together; empty where they do.
std::string conflict(Case const& spec, NameTable const& name_table) {
  if (spec.clock == Clock::sustained && spec.timing == Timing::launch_only) {
    return "clock = \"sustained\" waits for the device, timing = \"launch_only\" does not; change "
           "one of them";
  }
  if (spec.clock == Clock::sustained && spec.stop_percent > 0) {
    return "stop ends the repetitions of a burst, clock = \"sustained\" has its seconds; leave out "
           "one of them";
  }
  bool const is_integer =
      visit_type(spec.type, [](auto zero) { return std::is_integral_v<decltype(zero)>; });
  if (is_any_bits(spec.data) && !(spec.workload->keys.any_bits && is_integer)) {
    Names accepting;
    for (WorkloadSchema const* workload : name_table.workloads) {
      if (workload->keys.any_bits) accepting.emplace_back(workload->name);
    }
    return fmt::format("data = \"{}\" is for integers of {}, not for {} of {}", to_text(spec.data),
                       fmt::join(accepting, ", "), spec.workload->name, to_text(spec.type));
  }
  return spec.workload->conflict == nullptr ? "" : spec.workload->conflict(spec);
}

bool Resolver::build_case(RawCase const& raw, RunSettings const& run, std::vector<Case>& cases) {
  OptionTarget base;
  base.run = run;
  base.spec.name = raw.name;
  base.spec.workload = raw.workload;
  base.spec.parameters = raw.workload->defaults;

  for (Setting const& setting : raw.settings) {
    if (!check_key(setting, raw.workload, false)) return false;
  }
  std::vector<OptionTarget> targets{base};
  bool swept = false;
  for (Option const* option : options_of(*raw.workload)) {
    Setting const* setting = find(raw.settings, option->key);
    if (setting == nullptr) setting = find(run_, option->key);
    if (setting == nullptr || option->key == "name" || option->key == "workload") continue;

    std::vector<Scalar> values;
    if (!expand(*option, *setting, base, values)) return false;
    if (!option->sweeps) {
      for (OptionTarget& target : targets) {
        if (!assign(*option, *setting, values, target)) return false;
      }
      if (!check_names(*setting, targets.front())) return false;
      continue;
    }
    if (cases.size() + targets.size() * values.size() > kMaxCases) {
      return fail_at(setting->where, fmt::format("{}: the sweep leads to more than {} cases",
                                                 option->key, kMaxCases));
    }
    swept = swept || values.size() > 1;
    std::vector<OptionTarget> crossed;
    for (OptionTarget const& target : targets) {
      for (Scalar const& value : values) {
        crossed.push_back(target);
        if (!assign(*option, *setting, {&value, 1}, crossed.back())) return false;
        if (!check_names(*setting, crossed.back())) return false;
      }
    }
    targets = std::move(crossed);
  }
  if (targets.front().spec.size.count == 0) {
    auto const& extents = targets.front().spec.workload->extents;
    std::string const form =
        extents.size() == 1
            ? "4096, or \"8Ki\""
            : fmt::format("\"({})\" with numbers such as 4096 or 8Ki", fmt::join(extents, ","));
    return fail_at(raw.where,
                   fmt::format("case '{}' has no size; write size = {}", raw.name, form));
  }
  for (OptionTarget const& target : targets) {
    std::string const problem = conflict(target.spec, name_table_);
    if (!problem.empty()) {
      return fail_at(raw.where, fmt::format("case '{}': {}", raw.name, problem));
    }
  }
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (swept) targets[i].spec.name = fmt::format("{}.{}", raw.name, i + 1);
    cases.push_back(std::move(targets[i].spec));
  }
  return true;
}

bool Resolver::build(Config& config) {
  OptionTarget target;
  for (Setting const& setting : run_) {
    if (!check_key(setting, nullptr, true)) return false;
    Option const& option = *find_option(setting.key);
    // Also where no case takes a default, it must be a possible one.
    std::vector<Scalar> values;
    if (!expand(option, setting, target, values)) return false;
    if (option.scope == Option::Scope::run && !assign(option, setting, values, target)) {
      return false;
    }
  }
  config.about = about_;
  config.run = target.run;
  if (config.run.device == DeviceChoice::host && !config.run.device_map.empty()) {
    return fail_at(
        find(run_, "device_map")->where,
        "device_map names GPUs, but device = \"host\" drives none; leave out one of them");
  }
  std::set<std::string> taken;
  for (RawCase const& raw : cases_) {
    std::size_t const first = config.cases.size();
    if (!build_case(raw, target.run, config.cases)) return false;
    for (std::size_t i = first; i < config.cases.size(); ++i) {
      if (taken.insert(config.cases[i].name).second) continue;
      return fail_at(raw.where, fmt::format("two cases are called '{}' once sweeps are expanded; "
                                            "names must differ",
                                            config.cases[i].name));
    }
  }
  return true;
}

}  // namespace

Parsed<Config> resolve(std::string_view text, std::string_view origin,
                       std::span<std::string const> sets, NameTable const& name_table,
                       bool bare_case, std::vector<std::string>* notes) {
  Resolver resolver{origin, name_table};
  Config config;
  bool const good =
      resolver.read(text) && resolver.apply(sets, bare_case) && resolver.build(config);
  if (notes != nullptr) *notes = resolver.notes();
  if (!good) return Parsed<Config>::error(resolver.error());
  return config;
}

}  // namespace quadrille::core

// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "io/result_file.hpp"

#include "core/text.hpp"
#include "io/hdf5.hpp"
#include "io/json.hpp"
#include "io/members.hpp"
#include "io/whole_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <hdf5_hl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

namespace quadrille::io {
namespace {

using measure::Record;
using measure::RunResult;
using Pairs = std::vector<std::pair<std::string, std::string>>;
using Extents = std::vector<hsize_t>;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

template <class T>
hid_t memory_type() {
  if constexpr (std::is_same_v<T, double>) return H5T_NATIVE_DOUBLE;
  if constexpr (std::is_same_v<T, int>) return H5T_NATIVE_INT;
  if constexpr (std::is_same_v<T, std::int64_t>) return H5T_NATIVE_INT64;
  if constexpr (std::is_same_v<T, std::uint64_t>) return H5T_NATIVE_UINT64;
  if constexpr (std::is_same_v<T, std::uint8_t>) return H5T_NATIVE_UINT8;
}
/// The same bytes in the file on every host.
template <class T>
hid_t file_type() {
  if constexpr (std::is_same_v<T, double>) return H5T_IEEE_F64LE;
  if constexpr (std::is_same_v<T, int>) return H5T_STD_I32LE;
  if constexpr (std::is_same_v<T, std::int64_t>) return H5T_STD_I64LE;
  if constexpr (std::is_same_v<T, std::uint64_t>) return H5T_STD_U64LE;
  if constexpr (std::is_same_v<T, std::uint8_t>) return H5T_STD_U8LE;
}

std::vector<char const*> pointers(std::vector<std::string> const& texts) {
  std::vector<char const*> result;
  for (std::string const& text : texts) result.push_back(text.c_str());
  return result;
}

Space list_space(std::size_t n) {
  hsize_t const extent = n;
  return Space{QUAD_HDF5(H5Screate_simple(1, &extent, nullptr))};
}

/// Links and attributes keep the order in which they were made.
Group make_group(hid_t parent, std::string const& name) {
  Properties const properties{QUAD_HDF5(H5Pcreate(H5P_GROUP_CREATE))};
  unsigned const order = H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED;
  QUAD_HDF5(H5Pset_link_creation_order(properties, order));
  QUAD_HDF5(H5Pset_attr_creation_order(properties, order));
  return Group{QUAD_HDF5(H5Gcreate2(parent, name.c_str(), H5P_DEFAULT, properties, H5P_DEFAULT))};
}

void write_dataset(hid_t parent, char const* name, hid_t in_file, hid_t in_memory, hid_t space,
                   void const* data) {
  Dataset const set{
      QUAD_HDF5(H5Dcreate2(parent, name, in_file, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT))};
  if (data == nullptr) return;  // an empty list
  QUAD_HDF5(H5Dwrite(set, in_memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, data));
}

/// Visits members and writes each as an attribute; a missing number has none.
struct WriteAttributes {
  hid_t at;
  bool as_f64 = false;  ///< whole numbers too

  void write(char const* name, hid_t in_file, hid_t in_memory, hid_t space,
             void const* data) const {
    Attribute const attribute{
        QUAD_HDF5(H5Acreate2(at, name, in_file, space, H5P_DEFAULT, H5P_DEFAULT))};
    if (data != nullptr) QUAD_HDF5(H5Awrite(attribute, in_memory, data));  // null: an empty list
  }
  template <class T>
  void write_scalar(char const* name, T const& value) const {
    Space const space{QUAD_HDF5(H5Screate(H5S_SCALAR))};
    write(name, file_type<T>(), memory_type<T>(), space, &value);
  }
  template <class T>
  void write_list(char const* name, std::vector<T> const& values) const {
    write(name, file_type<T>(), memory_type<T>(), list_space(values.size()), values.data());
  }

  void operator()(char const* name, std::string const& value) const {
    Space const space{QUAD_HDF5(H5Screate(H5S_SCALAR))};
    Type const type = string_type();
    char const* const text = value.c_str();
    write(name, type, type, space, &text);
  }
  void operator()(char const* name, std::vector<std::string> const& values) const {
    Type const type = string_type();
    write(name, type, type, list_space(values.size()), pointers(values).data());
  }
  void operator()(char const* name, double value) const { write_scalar(name, value); }
  void operator()(char const* name, int value) const { (*this)(name, std::int64_t{value}); }
  void operator()(char const* name, std::int64_t value) const {
    as_f64 ? write_scalar(name, static_cast<double>(value)) : write_scalar(name, value);
  }
  void operator()(char const* name, std::uint64_t value) const { write_scalar(name, value); }
  void operator()(char const* name, bool value) const {
    write_scalar(name, static_cast<std::uint8_t>(value));
  }
  void operator()(char const* name, measure::Outcome value) const {
    (*this)(name, std::string{core::to_text(value)});
  }
  void operator()(char const* name, measure::Resource value) const {
    (*this)(name, std::string{core::to_text(value)});
  }
  void operator()(char const* name, std::vector<std::int64_t> const& values) const {
    write_list(name, values);
  }
  void operator()(char const* name, std::optional<double> const& value) const {
    if (value) write_scalar(name, *value);
  }
  void operator()(char const*, std::optional<measure::LegSummary> const& legs) const {
    if (legs) visit_members(*legs, *this);
  }
  void operator()(char const*, std::vector<measure::SecondaryMetric> const& metrics) const {
    std::vector<std::string> names, units, series;
    std::vector<double> amounts, seconds;
    std::vector<std::int64_t> are_details;
    for (measure::SecondaryMetric const& metric : metrics) {
      names.push_back(metric.name);
      amounts.push_back(metric.amount);
      units.push_back(metric.unit);
      seconds.push_back(metric.seconds);
      are_details.push_back(metric.is_detail ? 1 : 0);
      series.push_back(metric.series);
    }
    (*this)("extra_names", names);
    write_list("extra_amounts", amounts);
    (*this)("extra_units", units);
    write_list("extra_seconds", seconds);
    write_list("extra_are_details", are_details);
    (*this)("extra_series", series);
  }
};

/// Names the dimensions of samples, as HDF5 and its readers do.
Dataset label(hid_t parent, char const* name, std::initializer_list<char const*> dimensions,
              std::string const& unit) {
  Dataset set{QUAD_HDF5(H5Dopen2(parent, name, H5P_DEFAULT))};
  unsigned i = 0;
  for (char const* const dimension : dimensions) QUAD_HDF5(H5DSset_label(set, i++, dimension));
  WriteAttributes{set}("unit", unit);
  return set;
}

/// Makes one of the list `name` for dimensions of other arrays.
Dataset make_scale(hid_t parent, char const* name) {
  Dataset set{QUAD_HDF5(H5Dopen2(parent, name, H5P_DEFAULT))};
  QUAD_HDF5(H5DSset_scale(set, name));
  return set;
}

/// `rank_scale`: see make_scale().
void write_samples(hid_t parent, char const* name, std::vector<double> const& samples, int ranks,
                   hid_t rank_scale, std::string const& unit) {
  std::size_t const n = samples.empty() ? 0 : samples.size() / static_cast<std::size_t>(ranks);
  Extents const extents{n, static_cast<hsize_t>(ranks), 1};
  Space const space{QUAD_HDF5(H5Screate_simple(3, extents.data(), nullptr))};
  write_dataset(parent, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, space, samples.data());
  Dataset const set = label(parent, name, {"repetition", "rank", "phase"}, unit);
  if (rank_scale >= 0) QUAD_HDF5(H5DSattach_scale(set, rank_scale, 1));
  WriteAttributes{set}("phases", std::vector<std::string>{"repetition"});
}

/// Legs may differ in length after an interruption: the rest is NaN, and `repetitions` says where.
void write_legs(hid_t parent, Record const& record, hid_t rank_scale) {
  if (record.legs.empty()) return;
  std::vector<std::string> names;
  std::vector<std::int64_t> repetitions;
  std::size_t longest = 0;
  for (measure::LegSamples const& samples : record.legs) {
    names.push_back(samples.leg);
    auto const width = static_cast<std::size_t>(std::max(record.ranks, 1));
    repetitions.push_back(static_cast<std::int64_t>(samples.seconds.size() / width));
    longest = std::max(longest, samples.seconds.size());
  }
  std::vector<double> padded(record.legs.size() * longest, kNaN);
  for (std::size_t i = 0; i < record.legs.size(); ++i) {
    std::ranges::copy(record.legs[i].seconds,
                      padded.begin() + static_cast<std::ptrdiff_t>(i * longest));
  }
  auto const ranks = static_cast<hsize_t>(record.ranks);
  Extents const extents{record.legs.size(), longest == 0 ? 0 : longest / ranks, ranks};
  Space const space{QUAD_HDF5(H5Screate_simple(3, extents.data(), nullptr))};
  write_dataset(parent, "legs", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, space, padded.data());
  Dataset const set = label(parent, "legs", {"leg", "repetition", "rank"}, "s");
  if (rank_scale >= 0) QUAD_HDF5(H5DSattach_scale(set, rank_scale, 2));
  WriteAttributes const attribute{set};
  attribute("legs", names);
  attribute("repetitions", repetitions);
}

template <class T>
void write_numbers(hid_t parent, char const* name, std::vector<T> const& values) {
  write_dataset(parent, name, file_type<T>(), memory_type<T>(), list_space(values.size()),
                values.data());
}

// What pairs are, in lists that stand before their samples.
constexpr char const* kPairScales[]{"from", "to", "link"};

/// A row for each pair, of the samples of each repetition.
void write_by_pair(hid_t parent, char const* name, Record const& record,
                   std::vector<double> measure::PairTimes::*samples) {
  std::vector<double> all;
  for (measure::PairTimes const& pair : record.pairs) {
    all.insert(all.end(), (pair.*samples).begin(), (pair.*samples).end());
  }
  Extents const extents{record.pairs.size(), all.size() / record.pairs.size()};
  Space const space{QUAD_HDF5(H5Screate_simple(2, extents.data(), nullptr))};
  write_dataset(parent, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, space, all.data());
  Dataset const set = label(parent, name, {"pair", "repetition"}, "s");
  for (char const* const scale : kPairScales) {
    QUAD_HDF5(H5DSattach_scale(set, Dataset{H5Dopen2(parent, scale, H5P_DEFAULT)}, 0));
  }
}

void write_pairs(hid_t parent, Record const& record) {
  if (record.pairs.empty()) return;
  std::vector<int> from, to;
  std::vector<std::string> links;
  std::vector<double> bytes, latencies, rates;
  for (measure::PairTimes const& pair : record.pairs) {
    from.push_back(pair.from);
    to.push_back(pair.to);
    links.push_back(pair.link);
    bytes.push_back(pair.bytes);
    latencies.push_back(latency_of(pair));
    rates.push_back(rate_of(pair));
  }
  Group const at = make_group(parent, "pairs");
  write_numbers(at, "from", from);
  write_numbers(at, "to", to);
  Type const type = string_type();
  write_dataset(at, "link", type, type, list_space(links.size()), pointers(links).data());
  for (char const* const scale : kPairScales) make_scale(at, scale);
  write_numbers(at, "bytes", bytes);
  write_by_pair(at, "latency", record, &measure::PairTimes::latency_s);
  write_by_pair(at, "transfer", record, &measure::PairTimes::transfer_s);
  // Shown on the screen too, but not kept in a record.
  write_numbers(at, "median_latency", latencies);
  write_numbers(at, "rate", rates);
}

void write_case(hid_t cases, Record const& record) {
  QUAD_REQUIRE(has_whole_repetitions(record),
               fmt::format("{}: samples are not whole repetitions of all ranks", record.id));
  // A group name cannot hold a slash; the attribute `id` keeps the true one.
  std::string name = record.id;
  std::ranges::replace(name, '/', '|');
  Group const at = make_group(cases, name);
  visit_case(record, WriteAttributes{at});
  Dataset rank_scale;
  if (!record.seconds.empty()) {
    std::vector<int> ranks(static_cast<std::size_t>(record.ranks));
    std::iota(ranks.begin(), ranks.end(), 0);
    write_numbers(at, "rank", ranks);
    rank_scale = make_scale(at, "rank");
  }
  auto const write = [&](char const* of, std::vector<double> const& samples, char const* unit) {
    write_samples(at, of, samples, record.ranks, rank_scale, unit);
  };
  write("time", record.seconds, "s");
  if (!record.clock_hz.empty()) write("clock", record.clock_hz, "Hz");
  if (!record.power_w.empty()) write("power", record.power_w, "W");
  if (!record.energy_counter_j.empty()) write("energy", record.energy_counter_j, "J");
  write_legs(at, record, rank_scale);
  write_pairs(at, record);
  visit_members(record.check, WriteAttributes{make_group(at, "check")});
  Group const summary = make_group(at, "summary");
  WriteAttributes const attribute{summary, true};
  visit_summary(record, attribute);
  // Shown on the screen too, but not kept in a record.
  attribute("percent_of_peak", percent_of_peak(record));
  attribute("percent_of_peak_at_clock", percent_of_peak_at_clock(record));
  attribute("intensity", intensity(record));
  if (auto const ceiling = ceiling_of(record)) {
    attribute("ceiling", ceiling->rate);
    attribute("limit", ceiling->limit);
  }
  attribute("percent_of_ceiling", percent_of_ceiling(record));
  std::vector<double> rates;
  for (measure::SecondaryMetric const& metric : record.extras)
    rates.push_back(rate_of(metric, record));
  attribute.write_list("extra_rates", rates);
}

/// A member of a rank, or another row of a table, as HDF5 sees it in memory: texts by pointer.
union Slot {
  int whole;
  std::int64_t wide;
  double real;
  char* text;
};
void put(int value, Slot& slot) { slot.whole = value; }
void put(std::int64_t value, Slot& slot) { slot.wide = value; }
void put(double value, Slot& slot) { slot.real = value; }
void put(std::string& text, Slot& slot) { slot.text = text.data(); }
void take(Slot const& slot, int& value) { value = slot.whole; }
void take(Slot const& slot, std::int64_t& value) { value = slot.wide; }
void take(Slot const& slot, double& value) { value = slot.real; }
/// Of a text that HDF5 allocated.
void take(Slot const& slot, std::string& text) {
  text = slot.text == nullptr ? "" : slot.text;
  H5free_memory(slot.text);
}

/// What a table has rows of.
template <class Row>
concept TableRow = requires(Row& row) {
  visit_members(row, [](auto&&...) {});
};

template <TableRow Row>
std::size_t slots_of() {
  Row const any;
  std::size_t n = 0;
  visit_members(any, [&](auto&&...) { ++n; });
  return n;
}

/// A row of slots, or the columns as the file has them.
template <TableRow Row>
Type row_type(bool in_file) {
  Type type{QUAD_HDF5(H5Tcreate(H5T_COMPOUND, slots_of<Row>() * sizeof(Slot)))};
  Row const any;
  std::size_t offset = 0;
  visit_members(any, [&]<class T>(char const* name, T const&) {
    if constexpr (std::is_same_v<T, std::string>) {
      QUAD_HDF5(H5Tinsert(type, name, offset, string_type()));
    } else {
      QUAD_HDF5(H5Tinsert(type, name, offset, in_file ? file_type<T>() : memory_type<T>()));
    }
    offset += sizeof(Slot);
  });
  if (in_file) QUAD_HDF5(H5Tpack(type));
  return type;
}

// What is more than an attribute of a run, each under its name in the file.
void write_part(hid_t file, char const* name, std::string const& text) {
  Type const type = string_type();
  Space const scalar{QUAD_HDF5(H5Screate(H5S_SCALAR))};
  char const* const data = text.c_str();
  write_dataset(file, name, type, type, scalar, &data);
}
void write_part(hid_t file, char const* name, Pairs const& pairs) {
  Group const group = make_group(file, name);
  for (auto const& [key, value] : pairs) WriteAttributes{group}(key.c_str(), value);
}
void write_part(hid_t file, char const* name, std::vector<std::string> const& texts) {
  Type const type = string_type();
  write_dataset(file, name, type, type, list_space(texts.size()), pointers(texts).data());
}
template <TableRow Row>
void write_part(hid_t file, char const* name, std::vector<Row> rows) {
  std::vector<Slot> slots;
  for (Row& row : rows) {
    visit_members(row, [&](char const*, auto& member) { put(member, slots.emplace_back()); });
  }
  write_dataset(file, name, row_type<Row>(true), row_type<Row>(false), list_space(rows.size()),
                slots.data());
}

/// The first reason why a file cannot be read; after it, every reading function does nothing.
class ReadStatus {
 public:
  bool good() const { return why_.empty(); }
  std::string const& why() const { return why_; }
  /// Notes `what` unless `fine`; returns good().
  bool expect(bool fine, std::string_view what) {
    if (!fine && good()) why_ = fmt::format("{}; {}", what, hdf5_error("HDF5"));
    return good();
  }

 private:
  std::string why_;
};

/// Number of elements, if a file can hold that many: nothing larger is ever allocated.
std::size_t element_count(hid_t space, ReadStatus& status) {
  constexpr hssize_t kMax = hssize_t{1} << 32;
  hssize_t const n = H5Sget_simple_extent_npoints(space);
  return status.expect(n >= 0 && n <= kMax, "an array has an impossible size")
             ? static_cast<std::size_t>(n)
             : 0;
}

/// Copies strings that `read(type, to)` gets from an attribute or a dataset.
template <class Read>
std::vector<std::string> read_texts(hid_t type_in_file, hid_t space, ReadStatus& status,
                                    Read const& read) {
  std::size_t const n = element_count(space, status);
  status.expect(H5Tis_variable_str(type_in_file) > 0, "a text is not a variable-length string");
  if (!status.good() || n == 0) return {};
  std::vector<char*> raw(n);
  Type const type = string_type();
  if (!status.expect(read(type, raw.data()) >= 0, "a text cannot be read")) return {};
  std::vector<std::string> texts;
  for (char* const text : raw) {
    texts.emplace_back(text == nullptr ? "" : text);
    H5free_memory(text);
  }
  return texts;
}

/// Visits members and reads each from its attribute, if there is one.
struct ReadAttributes {
  hid_t at;
  ReadStatus& status;

  Attribute open(char const* name) const {
    if (!status.good() || H5Aexists(at, name) <= 0) return {};
    Attribute attribute{H5Aopen(at, name, H5P_DEFAULT)};
    status.expect(static_cast<bool>(attribute), "an attribute cannot be opened");
    return attribute;
  }
  template <class T>
  void read_list(char const* name, std::vector<T>& values) const {
    Attribute const attribute = open(name);
    if (!attribute) return;
    Type const type{H5Aget_type(attribute)};
    Space const space{H5Aget_space(attribute)};
    H5T_class_t const kind = H5Tget_class(type);
    status.expect(kind == H5T_INTEGER || kind == H5T_FLOAT,
                  fmt::format("'{}' is not a number", name));
    std::size_t const n = element_count(space, status);
    status.expect(n <= H5Aget_storage_size(attribute), fmt::format("'{}' is damaged", name));
    if (!status.good()) return;
    values.resize(n);
    if (n == 0) return;
    status.expect(H5Aread(attribute, memory_type<T>(), values.data()) >= 0,
                  fmt::format("'{}' cannot be read", name));
  }
  template <class T>
  bool read_scalar(char const* name, T& value) const {
    std::vector<T> values;
    read_list(name, values);
    if (!status.good() || values.empty()) return false;
    value = values.front();
    return true;
  }

  void operator()(char const* name, std::vector<std::string>& values) const {
    Attribute const attribute = open(name);
    if (!attribute) return;
    Type const type{H5Aget_type(attribute)};
    Space const space{H5Aget_space(attribute)};
    values = read_texts(type, space, status,
                        [&](hid_t as, void* to) { return H5Aread(attribute, as, to); });
  }
  void operator()(char const* name, std::string& value) const {
    std::vector<std::string> values;
    (*this)(name, values);
    if (!values.empty()) value = values.front();
  }
  void operator()(char const* name, double& value) const { read_scalar(name, value); }
  void operator()(char const* name, int& value) const { read_scalar(name, value); }
  void operator()(char const* name, std::int64_t& value) const { read_scalar(name, value); }
  void operator()(char const* name, std::uint64_t& value) const { read_scalar(name, value); }
  void operator()(char const* name, bool& value) const {
    std::uint8_t number = 0;
    if (read_scalar(name, number)) value = number != 0;
  }
  void operator()(char const* name, measure::Outcome& value) const {
    std::string text;
    (*this)(name, text);
    auto const outcome = core::parse_enum<measure::Outcome>(text);
    if (status.expect(outcome.has_value(), "a case without a known verdict")) value = *outcome;
  }
  void operator()(char const* name, measure::Resource& value) const {
    std::string text;
    (*this)(name, text);
    if (text.empty()) return;  // a file from before it was added
    auto const resource = core::parse_enum<measure::Resource>(text);
    if (status.expect(resource.has_value(), "a case that measures what is not known")) {
      value = *resource;
    }
  }
  void operator()(char const* name, std::vector<std::int64_t>& values) const {
    read_list(name, values);
  }
  void operator()(char const* name, std::optional<double>& value) const {
    if (double number = 0; read_scalar(name, number)) value = number;
  }
  void operator()(char const*, std::optional<measure::LegSummary>& legs) const {
    if (status.good() && H5Aexists(at, "compute_s") > 0) visit_members(legs.emplace(), *this);
  }
  void operator()(char const*, std::vector<measure::SecondaryMetric>& metrics) const {
    std::vector<std::string> names, units, series;
    std::vector<double> amounts, seconds;
    std::vector<std::int64_t> are_details;
    (*this)("extra_names", names);
    (*this)("extra_units", units);
    read_list("extra_amounts", amounts);
    read_list("extra_seconds", seconds);
    read_list("extra_are_details", are_details);
    (*this)("extra_series", series);
    std::size_t const n = names.size();
    // A file from before they were added has none.
    if (are_details.empty()) are_details.resize(n);
    if (series.empty()) series.resize(n);
    status.expect(units.size() == n && amounts.size() == n && seconds.size() == n &&
                      are_details.size() == n && series.size() == n,
                  "the extra rates do not fit together");
    for (std::size_t i = 0; status.good() && i < n; ++i) {
      metrics.push_back(
          {names[i], amounts[i], units[i], seconds[i], are_details[i] != 0, series[i]});
    }
  }
};

/// Whether a group has an object of this name: one of the same file, where a link may name another.
bool has_object(hid_t parent, char const* name, ReadStatus& status) {
  if (!status.good() || H5Lexists(parent, name, H5P_DEFAULT) <= 0) return false;
  H5L_info_t link{};
  bool const is_here =
      H5Lget_info(parent, name, &link, H5P_DEFAULT) >= 0 && link.type == H5L_TYPE_HARD;
  return status.expect(is_here, fmt::format("'{}' is a link", name));
}

/// Whether a dataset's elements lie in its own file.
bool is_self_contained(hid_t set) {
  Properties const created{H5Dget_create_plist(set)};
  return H5Pget_external_count(created) == 0 && H5Pget_layout(created) != H5D_VIRTUAL;
}

/// Empty where there is none.
Group open_group(hid_t parent, char const* name, ReadStatus& status) {
  if (!has_object(parent, name, status)) return {};
  Group group{H5Gopen2(parent, name, H5P_DEFAULT)};
  status.expect(static_cast<bool>(group), fmt::format("'{}' cannot be opened", name));
  return group;
}

Dataset open_dataset(hid_t parent, char const* name, ReadStatus& status) {
  if (!has_object(parent, name, status)) return {};
  Dataset set{H5Dopen2(parent, name, H5P_DEFAULT)};
  if (status.expect(static_cast<bool>(set), fmt::format("'{}' cannot be opened", name))) {
    status.expect(is_self_contained(set), fmt::format("'{}' lies in other files", name));
  }
  return set;
}

template <class T>
std::vector<T> read_numbers(hid_t set, ReadStatus& status) {
  Type const type{H5Dget_type(set)};
  Space const space{H5Dget_space(set)};
  std::size_t const n = element_count(space, status);
  H5T_class_t const kind = std::is_integral_v<T> ? H5T_INTEGER : H5T_FLOAT;
  status.expect(H5Tget_class(type) == kind && n <= H5Dget_storage_size(set),
                "an array of samples is damaged");
  if (!status.good() || n == 0) return {};
  std::vector<T> values(n);
  status.expect(H5Dread(set, memory_type<T>(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >= 0,
                "an array of samples cannot be read");
  return values;
}

template <class T = double>
std::vector<T> read_samples(hid_t parent, char const* name, ReadStatus& status) {
  Dataset const set = open_dataset(parent, name, status);
  return set ? read_numbers<T>(set, status) : std::vector<T>{};
}

std::vector<std::string> read_list_of_texts(hid_t file, char const* name, ReadStatus& status) {
  Dataset const set = open_dataset(file, name, status);
  if (!set) return {};
  Type const type{H5Dget_type(set)};
  Space const space{H5Dget_space(set)};
  return read_texts(type, space, status, [&](hid_t as, void* to) {
    return H5Dread(set, as, H5S_ALL, H5S_ALL, H5P_DEFAULT, to);
  });
}

void read_legs(hid_t parent, Record& record, ReadStatus& status) {
  Dataset const set = open_dataset(parent, "legs", status);
  if (!set) return;
  std::vector<double> const padded = read_numbers<double>(set, status);
  std::vector<std::string> names;
  std::vector<std::int64_t> repetitions;
  ReadAttributes const attribute{set, status};
  attribute("legs", names);
  attribute("repetitions", repetitions);
  status.expect(!names.empty() && names.size() == repetitions.size() && record.ranks >= 0,
                "the legs do not fit together");
  for (std::size_t i = 0; status.good() && i < names.size(); ++i) {
    std::size_t const longest = padded.size() / names.size();
    auto const n = static_cast<std::uint64_t>(repetitions[i]);
    auto const ranks = static_cast<std::size_t>(record.ranks);
    if (!status.expect(n <= longest && n * ranks <= longest, "a leg has too few samples")) return;
    auto const first = padded.begin() + static_cast<std::ptrdiff_t>(i * longest);
    record.legs.push_back({names[i], {first, first + static_cast<std::ptrdiff_t>(n * ranks)}});
  }
}

void read_pairs(hid_t parent, Record& record, ReadStatus& status) {
  Group const at = open_group(parent, "pairs", status);
  if (!at) return;
  auto const from = read_samples<int>(at, "from", status);
  auto const to = read_samples<int>(at, "to", status);
  auto const links = read_list_of_texts(at, "link", status);
  auto const bytes = read_samples(at, "bytes", status);
  auto const latency = read_samples(at, "latency", status);
  auto const transfer = read_samples(at, "transfer", status);
  std::size_t const n = from.size();
  bool const fits = n > 0 && to.size() == n && links.size() == n && bytes.size() == n &&
                    latency.size() % n == 0 && transfer.size() % n == 0;
  status.expect(fits, "the pairs of ranks do not fit together");
  auto const row = [n](std::vector<double> const& all, std::size_t i) {
    std::span<double const> const samples =
        std::span{all}.subspan(i * (all.size() / n), all.size() / n);
    return std::vector<double>{samples.begin(), samples.end()};
  };
  for (std::size_t i = 0; status.good() && i < n; ++i) {
    record.pairs.push_back({from[i], to[i], links[i], bytes[i], row(latency, i), row(transfer, i)});
  }
}

Record read_case(hid_t at, ReadStatus& status) {
  Record record;
  visit_case(record, ReadAttributes{at, status});
  take_present_names(record);
  record.seconds = read_samples(at, "time", status);
  record.clock_hz = read_samples(at, "clock", status);
  record.power_w = read_samples(at, "power", status);
  record.energy_counter_j = read_samples(at, "energy", status);
  read_legs(at, record, status);
  read_pairs(at, record, status);
  if (Group const check = open_group(at, "check", status)) {
    visit_members(record.check, ReadAttributes{check, status});
  }
  if (Group const summary = open_group(at, "summary", status)) {
    visit_summary(record, ReadAttributes{summary, status});
  }
  status.expect(!record.id.empty() && has_whole_repetitions(record),
                "a case lacks its id, or samples of some ranks");
  return record;
}

std::vector<Record> read_cases(hid_t file, ReadStatus& status) {
  std::vector<Record> records;
  Group const cases = open_group(file, "cases", status);
  if (!status.expect(static_cast<bool>(cases), "there is no group 'cases'")) return records;
  H5G_info_t info{};
  if (!status.expect(H5Gget_info(cases, &info) >= 0, "the group 'cases' is damaged")) return {};
  for (hsize_t i = 0; status.good() && i < info.nlinks; ++i) {
    H5L_info_t link{};
    bool const is_here = H5Lget_info_by_idx(cases, ".", H5_INDEX_CRT_ORDER, H5_ITER_INC, i, &link,
                                            H5P_DEFAULT) >= 0 &&
                         link.type == H5L_TYPE_HARD;
    if (!status.expect(is_here, "a case is a link")) break;
    Group const at{H5Oopen_by_idx(cases, ".", H5_INDEX_CRT_ORDER, H5_ITER_INC, i, H5P_DEFAULT)};
    if (status.expect(H5Iget_type(at) == H5I_GROUP, "a case cannot be opened")) {
      records.push_back(read_case(at, status));
    }
  }
  return records;
}

// Parts that a file lacks are left alone.
void read_part(hid_t file, char const* name, std::vector<std::string>& texts, ReadStatus& status) {
  if (has_object(file, name, status)) texts = read_list_of_texts(file, name, status);
}
void read_part(hid_t file, char const* name, std::string& text, ReadStatus& status) {
  std::vector<std::string> texts;
  read_part(file, name, texts, status);
  if (!texts.empty()) text = texts.front();
}
void read_part(hid_t file, char const* name, Pairs& pairs, ReadStatus& status) {
  Group const group = open_group(file, name, status);
  if (!group) return;
  auto const collect = [](hid_t, char const* key, H5A_info_t const*, void* to) -> herr_t {
    static_cast<Pairs*>(to)->emplace_back(key, "");
    return 0;
  };
  herr_t const seen = H5Aiterate2(group, H5_INDEX_CRT_ORDER, H5_ITER_INC, nullptr, collect, &pairs);
  status.expect(seen >= 0, fmt::format("'{}' is damaged", name));
  for (auto& [key, value] : pairs) ReadAttributes{group, status}(key.c_str(), value);
}
template <TableRow Row>
void read_part(hid_t file, char const* name, std::vector<Row>& rows, ReadStatus& status) {
  Dataset const set = open_dataset(file, name, status);
  if (!set) return;
  Type const in_file{H5Dget_type(set)};
  Space const space{H5Dget_space(set)};
  std::size_t const n = element_count(space, status);
  status.expect(n <= H5Dget_storage_size(set), fmt::format("the table '{}' is damaged", name));
  if (!status.good() || n == 0) return;
  std::vector<Slot> slots(n * slots_of<Row>());
  bool const read =
      H5Dread(set, row_type<Row>(false), H5S_ALL, H5S_ALL, H5P_DEFAULT, slots.data()) >= 0;
  if (!status.expect(read, fmt::format("the table '{}' cannot be read", name))) return;
  rows.resize(n);
  auto slot = slots.begin();
  for (Row& row : rows) {
    visit_members(row, [&](char const* column, auto& member) {
      if (H5Tget_member_index(in_file, column) >= 0) take(*slot, member);
      ++slot;
    });
  }
}

/// Why a path is no file that can be read; empty where it may be one. Opened, a pipe may wait for ever.
std::string unreadable_reason(std::string const& path) {
  struct stat file {};
  if (stat(path.c_str(), &file) != 0) return std::strerror(errno);
  return S_ISREG(file.st_mode) ? "" : "it is no regular file";
}

core::Parsed<RunResult> refuse(std::string const& path, std::string const& why) {
  return core::Parsed<RunResult>::error(
      core::one_line(fmt::format("{}: not a Quadrille result ({})", path, why)));
}

// HDF5 reads some damage as data. So a finished result ends with a seal behind HDF5's own bytes, which
// is checked before HDF5 sees the file. Tools that change the file drop the seal; such a file is read
// without.
constexpr std::string_view kSealMark = "QUADSEAL";
constexpr std::size_t kSealSize = kSealMark.size() + 16;

/// core::fnv1a() of the first `bytes` bytes, in hexadecimal digits.
std::string digest_of(std::istream& file, std::uint64_t bytes) {
  std::uint64_t hash = core::fnv1a({});
  std::vector<char> chunk(std::size_t{1} << 20);
  file.seekg(0);
  while (bytes > 0 && file) {
    file.read(chunk.data(), static_cast<std::streamsize>(std::min<std::uint64_t>(
                                bytes, static_cast<std::uint64_t>(chunk.size()))));
    hash = core::fnv1a({chunk.data(), static_cast<std::size_t>(file.gcount())}, hash);
    bytes -= static_cast<std::uint64_t>(file.gcount());
  }
  return fmt::format("{:016x}", hash);
}

/// Appends the digest of the bytes.
void seal(std::string& bytes) {
  std::istringstream before{bytes};
  bytes += std::string{kSealMark} + digest_of(before, bytes.size());
}

enum class Seal { none, intact, broken, unreadable };

/// errno says why one is unreadable.
Seal examine_seal(std::string const& path) {
  std::error_code none;
  std::uint64_t const size = std::filesystem::file_size(path, none);
  std::ifstream file{path, std::ios::binary};
  if (!file || none) return Seal::unreadable;
  if (size < kSealSize) return Seal::none;
  std::string seal(kSealSize, ' ');
  file.seekg(static_cast<std::streamoff>(size - kSealSize));
  file.read(seal.data(), kSealSize);
  bool const is_sealed = seal.starts_with(kSealMark);
  bool const intact =
      is_sealed && seal.substr(kSealMark.size()) == digest_of(file, size - kSealSize);
  if (file.bad()) return Seal::unreadable;
  return !is_sealed ? Seal::none : intact ? Seal::intact : Seal::broken;
}

core::Parsed<RunResult> read_hdf5_unguarded(std::string const& path, Seal seal) {
  File const file{H5Fopen(path.c_str(), H5F_ACC_RDONLY, file_access())};
  if (!file) return refuse(path, hdf5_error("H5Fopen"));
  haddr_t end = 0;
  hsize_t size = 0;
  bool const sized = H5Fget_eoa(file, &end) >= 0 && H5Fget_filesize(file, &size) >= 0;
  if (!sized || (seal == Seal::none && size > end)) return refuse(path, "its end is damaged");
  ReadStatus status;
  ReadAttributes const attribute{file, status};
  std::string schema;
  int version = 0;
  attribute("schema", schema);
  attribute("schema_version", version);
  if (!status.good()) return refuse(path, status.why());
  if (schema != kResultSchema) {
    return refuse(path, fmt::format("an HDF5 file whose schema is '{}'", schema));
  }
  if (version > kResultSchemaVersion) {
    return refuse(path, fmt::format("schema version {}; this program reads up to {}", version,
                                    kResultSchemaVersion));
  }
  RunResult result;
  visit_run(result.info, attribute);
  visit_run_parts(result.info,
                  [&](char const* name, auto& part) { read_part(file, name, part, status); });
  take_present_names(result.info);
  result.records = read_cases(file, status);
  if (!status.good()) return refuse(path, status.why());
  return result;
}

// HDF5 does not survive every file: it crashes on damaged heaps of strings, asks for all memory, or goes
// round in circles. So another process tries before, for as long as a whole file of this size may take.
/// Empty, or why it cannot be read.
std::string trial_problem(std::string const& path, Seal seal) {
  struct stat file {};
  stat(path.c_str(), &file);
  auto const mebibytes = static_cast<rlim_t>(file.st_blocks) * 512 >> 20;
  rlim_t const cpu_s = 3 + mebibytes / 20, wall_s = 20 + mebibytes;
  pid_t const parent = getpid();
  pid_t const child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    // What it dies of is no news for the terminal, nor for a file of its memory.
    rlimit const none{0, 0}, seconds{cpu_s, cpu_s};
    setrlimit(RLIMIT_CORE, &none);
    setrlimit(RLIMIT_CPU, &seconds);
    for (int const signal : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGALRM})
      std::signal(signal, SIG_DFL);
    alarm(static_cast<unsigned>(wall_s));
    core::set_fail_handler([](core::Failure const&) { _exit(0); });
    int const nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDERR_FILENO);
    read_hdf5_unguarded(path, seal);
    _exit(0);
  }
  if (child < 0) {
    return fmt::format("no process can be started to try it: {}", std::strerror(errno));
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  bool const survives = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return survives ? "" : "HDF5 does not survive it: it is damaged";
}

core::Parsed<RunResult> read_hdf5(std::string const& path) {
  Seal const seal = examine_seal(path);
  if (seal == Seal::broken) return refuse(path, "its bytes changed since it was written");
  if (seal == Seal::unreadable) return refuse(path, std::strerror(errno));
  std::string const why = trial_problem(path, seal);
  if (!why.empty()) return refuse(path, why);
  return read_hdf5_unguarded(path, seal);
}

struct Journaled {
  RunResult result;
  std::int64_t lines = 0;           ///< that were understood
  bool is_incomplete = false;       ///< a line behind them
  std::size_t finished = 0;         ///< cases that a whole line says so of
  std::int64_t finished_bytes = 0;  ///< up to the end of that line
};

/// The next line, without its end, or as much of it as fits; false where there is none.
bool read_line(std::istream& file, std::string& line) {
  constexpr std::size_t kMaxBytes = std::size_t{1} << 31;
  std::array<char, std::size_t{1} << 16> part;
  for (line.clear(); line.size() < kMaxBytes; file.clear()) {
    file.getline(part.data(), part.size());
    bool const has_end = file.good();
    line.append(part.data(), static_cast<std::size_t>(file.gcount()) - (has_end ? 1 : 0));
    if (has_end || file.eof() || file.bad()) return has_end || !line.empty();
  }
  return true;
}

core::Parsed<Journaled> read_lines(std::string const& path) {
  if (std::string const why = unreadable_reason(path); !why.empty()) {
    return core::Parsed<Journaled>::error(why);
  }
  errno = 0;
  std::ifstream file{path, std::ios::binary};
  Journaled journal;
  std::string line;
  std::int64_t bytes = 0;
  while (read_line(file, line)) {
    bool const is_whole = file.good();
    if (file.bad()) break;
    bytes += static_cast<std::int64_t>(line.size()) + 1;
    std::string const why = add_json_line(line, journal.result);
    if (!why.empty()) {
      bool const is_last = !is_whole || file.peek() == std::ifstream::traits_type::eof();
      if (file.bad()) break;
      if (!is_last || journal.lines == 0) {
        return core::Parsed<Journaled>::error(fmt::format("line {}: {}", journal.lines + 1, why));
      }
      journal.is_incomplete = true;
      break;
    }
    ++journal.lines;
    std::size_t const finished = journal.result.finished_cases.size();
    if (is_whole && (journal.lines == 1 || finished > journal.finished)) {
      journal.finished = finished;
      journal.finished_bytes = bytes;
    }
  }
  // What cannot be read now is not lost: a run that went on without it would remove it.
  if (file.bad() || !file.is_open()) {
    return core::Parsed<Journaled>::error(
        fmt::format("it cannot be read behind line {}: {}", journal.lines, std::strerror(errno)));
  }
  return journal;
}

core::Parsed<RunResult> read_journal(std::string const& path) {
  core::Parsed<Journaled> const journal = read_lines(path);
  if (!journal) return refuse(path, journal.why());
  RunResult result = journal->result;
  if (journal->is_incomplete) {
    result.info.events.push_back(
        fmt::format("line {} of the journal is incomplete and was left out", journal->lines + 1));
  }
  return result;
}

constexpr char const* kFinished = "result.h5";
constexpr char const* kJournal = "result.jsonl";

bool holds_run(std::filesystem::path const& directory) {
  std::error_code none;
  return std::filesystem::exists(directory / kFinished, none) ||
         std::filesystem::exists(directory / kJournal, none);
}

/// When a run started, as it says itself, and was written to: a copy has other times, and a directory's
/// changes with every file that is put there.
using Start = std::pair<std::string, std::filesystem::file_time_type>;

core::Parsed<Start> start_of(std::filesystem::path const& directory) {
  std::filesystem::path const journal = directory / kJournal, finished = directory / kFinished;
  std::error_code none;
  bool const has_journal = std::filesystem::is_regular_file(journal, none);
  std::filesystem::path const& path = has_journal ? journal : finished;
  RunResult result;
  bool is_readable = true;  // damage is no error of reading
  if (has_journal) {
    std::ifstream file{path, std::ios::binary};
    std::string line;
    if (read_line(file, line)) add_json_line(line, result);
    is_readable = file.is_open() && !file.bad();
  } else if (core::Parsed<RunResult> const read = read_result(path.string())) {
    result = *read;
  } else if (std::filesystem::is_regular_file(path, none)) {
    is_readable = examine_seal(path.string()) != Seal::unreadable;
  }
  if (!is_readable) {
    return core::Parsed<Start>::error(core::one_line(fmt::format(
        "{}: {}; so the latest run is not known, name one", path.string(), std::strerror(errno))));
  }
  return Start{result.info.started, std::filesystem::last_write_time(path, none)};
}

core::Parsed<RunResult> read_directory(std::filesystem::path const& directory) {
  if (!holds_run(directory)) {
    core::Parsed<std::filesystem::path> const latest = latest_run(directory);
    if (!latest) return core::Parsed<RunResult>::error(latest.why());
    if (latest->empty()) return refuse(directory.string(), "neither a run nor a directory of runs");
    return read_directory(*latest);
  }
  std::error_code none;
  std::string damage;
  if (std::filesystem::exists(directory / kFinished, none)) {
    core::Parsed<RunResult> result = read_result((directory / kFinished).string());
    if (result || !std::filesystem::exists(directory / kJournal, none)) return result;
    damage = result.why();
  }
  core::Parsed<RunResult> journal = read_result((directory / kJournal).string());
  if (!journal || damage.empty()) return journal;
  RunResult result = *journal;
  result.info.events.push_back(damage + "; read from the journal");
  return result;
}

}  // namespace

core::Parsed<std::filesystem::path> latest_run(std::filesystem::path const& directory) {
  std::filesystem::path latest;
  Start last;
  std::error_code none;
  for (auto const& entry : std::filesystem::directory_iterator{directory, none}) {
    if (!holds_run(entry.path())) continue;
    core::Parsed<Start> const start = start_of(entry.path());
    if (!start) return core::Parsed<std::filesystem::path>::error(start.why());
    if (!latest.empty() && *start <= last) continue;
    latest = entry.path();
    last = *start;
  }
  return latest;
}

core::Parsed<FinishedCases> read_finished_cases(std::string const& journal) {
  core::Parsed<Journaled> const read = read_lines(journal);
  if (!read) return core::Parsed<FinishedCases>::error(refuse(journal, read.why()).why());
  FinishedCases kept{read->result, read->finished_bytes};
  auto& names = kept.result.finished_cases;
  names.resize(read->finished);
  std::erase_if(kept.result.records, [&](Record const& record) {
    return std::ranges::find(names, record.name) == names.end();
  });
  if (kept.bytes > 0) return kept;
  return core::Parsed<FinishedCases>::error(journal + ": not even its first line is whole");
}

std::string write_result(std::string const& path, RunResult const& result) {
  silence_hdf5();
  if (access(path.c_str(), F_OK) == 0) {
    return fmt::format("{}: exists already; remove it or choose another output", path);
  }
  // In memory: a full disk then meets plain bytes, not a library amid its own structures.
  // Since this version, HDF5 guards most of its own structures by checksums.
  Properties const properties = file_access();
  QUAD_HDF5(H5Pset_libver_bounds(properties, H5F_LIBVER_V18, H5F_LIBVER_V18));
  QUAD_HDF5(H5Pset_fapl_core(properties, std::size_t{1} << 20, false));
  File file{QUAD_HDF5(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, properties))};
  WriteAttributes const attribute{file};
  attribute("schema", std::string{kResultSchema});
  attribute("schema_version", kResultSchemaVersion);
  visit_run(result.info, attribute);
  visit_run_parts(result.info,
                  [&](char const* name, auto const& part) { write_part(file, name, part); });
  {
    Group const cases = make_group(file, "cases");
    for (Record const& record : result.records) write_case(cases, record);
  }
  QUAD_HDF5(H5Fflush(file, H5F_SCOPE_GLOBAL));
  // Where it lies: H5Fget_file_image() of HDF5 1.10 changes bytes behind their checksums.
  void* memory = nullptr;
  hsize_t size = 0;
  QUAD_HDF5(H5Fget_vfd_handle(file, properties, &memory));
  QUAD_HDF5(H5Fget_filesize(file, &size));
  std::string bytes{*static_cast<char**>(memory), static_cast<std::size_t>(size)};
  seal(bytes);
  return write_whole_file(path, bytes);
}

core::Parsed<RunResult> read_result(std::string const& path) {
  silence_hdf5();
  if (std::error_code none; std::filesystem::is_directory(path, none)) return read_directory(path);
  std::string const why = unreadable_reason(path);
  std::ifstream file;
  if (why.empty()) file.open(path, std::ios::binary);
  if (!file.is_open()) {
    return core::Parsed<RunResult>::error(core::one_line(
        fmt::format("{}: cannot be opened: {}", path, why.empty() ? std::strerror(errno) : why)));
  }
  constexpr std::string_view kSignature{"\x89HDF\r\n\x1a\n"};
  std::array<char, kSignature.size()> start{};
  file.read(start.data(), start.size());
  std::string_view const seen{start.data(), static_cast<std::size_t>(file.gcount())};
  if (file.bad()) return refuse(path, std::strerror(errno));
  if (seen.empty()) return refuse(path, "the file is empty");
  if (seen == kSignature) return read_hdf5(path);
  if (seen.front() == '{') return read_journal(path);
  return refuse(path, "neither HDF5 nor a journal");
}

}  // namespace quadrille::io

// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/exchange.hpp"

#include "core/text.hpp"
#include "core/types.hpp"
#include "measure/pair_schedule.hpp"
#include "report/cells.hpp"
#include "report/columns.hpp"
#include "report/settings.hpp"
#include "report/tables.hpp"
#include "workloads/exchange.hpp"
#include "workloads/registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

namespace quadrille::report {

std::optional<ExchangeCall> exchange_of(measure::Record const& record) {
  if (!record.spec || record.size.empty()) return {};
  core::Case const& spec = *record.spec;
  std::optional<comm::Operation> const operation =
      workloads::operation_of(workloads::entry_of(*spec.workload));
  if (!operation) return {};
  auto const bytes_of = [&](std::int64_t elements) {
    return static_cast<double>(elements) * static_cast<double>(core::size_of(spec.type));
  };
  std::int64_t const n = record.size[0];
  bool const is_divided = *operation == comm::Operation::alltoall && record.ranks > 0;
  std::int64_t const message = is_divided ? core::split_evenly(n, record.ranks, 0).count : n;
  return ExchangeCall{*operation, bytes_of(n), bytes_of(message)};
}

namespace {

using measure::Record;

/// Records that differ in their size alone.
struct Sizes {
  std::string what;  ///< all that they have in common
  std::vector<Record const*> records;

  Record const& first() const { return *records.front(); }
};

std::vector<Sizes> by_size(measure::RunResult const& result) {
  std::vector<Sizes> all;
  for (Record const& r : result.records) {
    std::string what = fmt::format("{}: variant {}, transport {}, {}, {}", r.workload, r.variant,
                                   r.transport.empty() ? "none" : r.transport, r.type,
                                   counted(static_cast<std::size_t>(std::max(r.ranks, 0)), "rank"));
    for (auto const& [key, value] : settings_of(r)) what += fmt::format(", {} = {}", key, value);
    auto found = std::ranges::find(all, what, &Sizes::what);
    if (found == all.end()) found = all.insert(found, Sizes{std::move(what), {}});
    found->records.push_back(&r);
  }
  return all;
}

/// Of what has no speed, in place of its row.
std::string comment(Record const& r) {
  std::string const reason = why(r);
  return fmt::format("# {} {}: {}{}{}\n", name_of(r), size_text(r.size), core::to_text(r.outcome),
                     reason.empty() ? "" : "; ", reason);
}

/// A row for each record that has a speed.
std::string rows_of(Sizes const& sizes, auto&& row) {
  std::string text;
  for (Record const* r : sizes.records) text += has_speed(*r) ? row(*r) : comment(*r);
  return text;
}

/// What `write` makes of each table; or the first case that has none, which is empty.
core::Parsed<std::string> write_all(measure::RunResult const& result, std::string_view program,
                                    auto&& write) {
  std::string text;
  for (Sizes const& sizes : by_size(result)) {
    std::string table = write(sizes);
    Record const& first = sizes.first();
    if (table.empty() &&
        std::ranges::none_of(sizes.records, [](auto* r) { return has_speed(*r); })) {
      table = rows_of(sizes, [](Record const&) { return std::string{}; });
    }
    if (table.empty()) {
      return core::Parsed<std::string>::error(fmt::format(
          "case '{}': {} has no test of {}; choose other cases by --only", first.name, program,
          first.unreadable.empty() ? first.workload : "what cannot be read: " + first.unreadable));
    }
    text += (text.empty() ? "" : "\n") + table;
  }
  return text;
}

/// Where the numbers are from, which readers of the tables skip.
std::string origin(measure::RunInfo const& info, Sizes const& sizes) {
  return fmt::format("# {}, run {}, {}\n# {}\n", version_line(info), info.run_id,
                     placement_line(info), core::one_line(sizes.what));
}

std::string osu_table(measure::RunInfo const& info, Sizes const& sizes, std::string_view test,
                      std::string_view head, std::string const& rows) {
  auto const name = [&] {
    using enum core::DataType;
    core::DataType const type = sizes.first().spec->type;
    return type == f64 ? "MPI_DOUBLE" : type == f32 ? "MPI_FLOAT" : "MPI_INT";
  };
  return fmt::format("# OSU MPI {} Test\n{}# Datatype: {}.\n# Size {:>21}\n{}", test,
                     origin(info, sizes), name(), head, rows);
}

std::string osu_row(double bytes, double value) {
  return fmt::format("{:<10.0f}{:>18.2f}\n", bytes, value);
}

std::string_view osu_name(comm::Operation operation) {
  using enum comm::Operation;
  switch (operation) {
    case allreduce: return "Allreduce Latency";
    case alltoall: return "All-to-All Personalized Exchange Latency";
    case broadcast: return "Broadcast Latency";
    case reduce_scatter:
    case allgather:
    case sendrecv: break;  // a ring that both sends and receives is no test of OSU
  }
  return {};
}

/// From rank 0 to rank 1.
measure::PairTimes const* first_pair(Record const& record) {
  auto const found = std::ranges::find_if(
      record.pairs, [](measure::PairTimes const& pair) { return pair.from == 0 && pair.to == 1; });
  return found == record.pairs.end() ? nullptr : &*found;
}

/// Of pairs two tables.
std::string osu_pairs(measure::RunInfo const& info, Sizes const& sizes) {
  std::vector<double> latencies;
  for (Record const* r : sizes.records) {
    measure::PairTimes const* const pair = first_pair(*r);
    if (pair != nullptr && has_speed(*r)) latencies.push_back(latency_of(*pair));
  }
  if (latencies.empty()) return {};
  return osu_table(info, sizes, "Latency", "Avg Latency(us)",
                   osu_row(static_cast<double>(measure::PairSchedule{}.small_bytes),
                           1e6 * core::summarize(latencies).median)) +
         "\n" +
         osu_table(info, sizes, "Bandwidth", "Bandwidth (MB/s)",
                   rows_of(sizes, [](Record const& r) {
                     measure::PairTimes const* const pair = first_pair(r);
                     return pair == nullptr ? "" : osu_row(pair->bytes, rate_of(*pair) / 1e6);
                   }));
}

std::string_view nccl_name(comm::Operation operation) {
  using enum comm::Operation;
  switch (operation) {
    case allreduce: return "all_reduce_perf";
    case alltoall: return "alltoall_perf";
    case broadcast: return "broadcast_perf";
    case sendrecv: return "sendrecv_perf";
    case reduce_scatter: return "reduce_scatter_perf";
    case allgather: return "all_gather_perf";
  }
  return {};
}

std::string_view nccl_type(core::DataType type) {
  using enum core::DataType;
  return type == f64 ? "double" : type == f32 ? "float" : "int32";
}

/// What is done with the elements of all ranks.
std::string reduction_of(core::Case const& spec) {
  for (core::Option const& option : spec.workload->options) {
    if (option.key == "operation") return value_of(option, spec);
  }
  return "none";
}

/// Three digits or more, as nccl-tests writes them.
std::string microseconds(double seconds) {
  double const us = 1e6 * seconds;
  return fmt::format("{:.{}f}", us, us < 100 ? 2 : us < 1e4 ? 1 : 0);
}

std::string nccl_table(measure::RunInfo const& info, Sizes const& sizes) {
  Record const& first = sizes.first();
  std::optional<ExchangeCall> const call = exchange_of(first);
  if (!call) return {};
  double sum = 0;
  std::size_t wrong = 0, rows = 0;
  std::string const body = rows_of(sizes, [&](Record const& r) {
    ExchangeCall const one = *exchange_of(r);
    double const algbw = one.row_bytes / r.time.median / 1e9;
    double const busbw = algbw * workloads::bus_share(one.operation, r.ranks);
    sum += busbw;
    ++rows;
    double const count = one.message_bytes / static_cast<double>(core::size_of(r.spec->type));
    return fmt::format("{:>12.0f}{:>14.0f}{:>10}{:>8}{:>8}{:>9}{:>8.2f}{:>8.2f}{:>8}\n",
                       one.row_bytes, count, nccl_type(r.spec->type), reduction_of(*r.spec),
                       one.operation == comm::Operation::broadcast ? 0 : -1,
                       microseconds(r.time.median), algbw, busbw,
                       std::isnan(r.check.error) ? "N/A" : fmt::to_string(r.check.wrong));
  });
  for (Record const* r : sizes.records) wrong += r->outcome == measure::Outcome::fail ? 1 : 0;
  return fmt::format(
      "# Collective test starting: {0}\n{1}#\n#{2:>74}\n"
      "#{3:>11}{4:>14}{5:>10}{6:>8}{7:>8}{8:>9}{9:>8}{10:>8}{11:>8}\n"
      "#{12:>11}{13:>14}{14:>35}{15:>8}{15:>8}\n{16}"
      "# Out of bounds values : {17} {18}\n# Avg bus bandwidth    : {19:.6g}\n#\n"
      "# Collective test concluded: {0}\n",
      nccl_name(call->operation), origin(info, sizes), "out-of-place", "size", "count", "type",
      "redop", "root", "time", "algbw", "busbw", "#wrong", "(B)", "(elements)", "(us)", "(GB/s)",
      body, wrong, wrong == 0 ? "OK" : "FAILED", rows == 0 ? 0 : sum / static_cast<double>(rows));
}

}  // namespace

core::Parsed<std::string> render_osu(measure::RunResult const& result) {
  return write_all(result, "OSU", [&](Sizes const& sizes) -> std::string {
    std::optional<ExchangeCall> const call = exchange_of(sizes.first());
    if (!call) return osu_pairs(result.info, sizes);
    std::string_view const name = osu_name(call->operation);
    if (name.empty()) return {};
    return osu_table(result.info, sizes, name, "Avg Latency(us)",
                     rows_of(sizes, [](Record const& r) {
                       return osu_row(exchange_of(r)->message_bytes, 1e6 * r.time.median);
                     }));
  });
}

core::Parsed<std::string> render_nccl_tests(measure::RunResult const& result) {
  return write_all(result, "nccl-tests",
                   [&](Sizes const& sizes) { return nccl_table(result.info, sizes); });
}

}  // namespace quadrille::report

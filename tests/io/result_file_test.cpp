// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "io/result_file.hpp"

#include "core/former_names.hpp"
#include "io/hdf5.hpp"
#include "io/journal.hpp"
#include "io/json.hpp"
#include "io/whole_file.hpp"
#include "support/sample_result.hpp"
#include "support/temporary_folder.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <string>

namespace quadrille::io {
namespace {

namespace fs = std::filesystem;
using test::all_of;
using test::sample_result;

class ResultFile : public testing::Test {
 protected:
  std::string at(std::string const& name) const { return (folder_ / name).string(); }
  std::string put(std::string const& name, std::string const& bytes) const {
    std::ofstream{at(name), std::ios::binary} << bytes;
    return at(name);
  }
  std::string bytes_of(std::string const& path) const {
    std::ifstream file{path, std::ios::binary};
    return {std::istreambuf_iterator<char>{file}, {}};
  }
  std::string journal_of(measure::RunResult const& result) const { return all_of(result) + "\n"; }

  test::TemporaryFolder const temporary_;
  fs::path const folder_ = temporary_.path();
};

std::string why(core::Parsed<measure::RunResult> const& result) {
  return result ? "read without complaint" : result.why();
}

TEST_F(ResultFile, JsonLineKeepsEveryMember) {
  measure::Record wrote = test::sample_record();
  wrote.is_host_timed = true;
  wrote.roofline.is_hot = wrote.vendor_is_suspect = wrote.copy_is_suspect = wrote.local_is_suspect =
      true;
  measure::RunResult result;

  ASSERT_EQ(add_json_line(to_json_line(wrote), result), "");

  measure::Record const& r = result.records.at(0);
  EXPECT_EQ(r.id, wrote.id);
  EXPECT_EQ(r.name, wrote.name);
  EXPECT_EQ(r.workload, wrote.workload);
  EXPECT_EQ(r.type, wrote.type);
  EXPECT_EQ(r.variant, wrote.variant);
  EXPECT_EQ(r.backend, wrote.backend);
  EXPECT_EQ(r.role, wrote.role);
  EXPECT_EQ(r.transport, wrote.transport);
  EXPECT_EQ(r.grid, wrote.grid);
  EXPECT_EQ(r.device, wrote.device);
  EXPECT_EQ(r.source, wrote.source);
  EXPECT_EQ(r.size, wrote.size);
  EXPECT_EQ(r.config, wrote.config);
  EXPECT_EQ(r.data, wrote.data);
  EXPECT_EQ(r.seed, wrote.seed);
  EXPECT_EQ(r.ranks, wrote.ranks);
  EXPECT_EQ(r.outcome, wrote.outcome);
  EXPECT_EQ(r.reason, wrote.reason);
  EXPECT_EQ(r.suspect, wrote.suspect);
  EXPECT_EQ(r.modelled_link, wrote.modelled_link);
  EXPECT_EQ(r.is_host_timed, wrote.is_host_timed);
  EXPECT_EQ(r.amount, wrote.amount);
  EXPECT_EQ(r.unit, wrote.unit);
  EXPECT_EQ(r.implementation, wrote.implementation);
  EXPECT_EQ(r.searched_s, wrote.searched_s);
  EXPECT_EQ(r.peak, wrote.peak);
  EXPECT_EQ(r.roofline.flop, wrote.roofline.flop);
  EXPECT_EQ(r.roofline.bytes, wrote.roofline.bytes);
  EXPECT_EQ(r.roofline.compute_peak, wrote.roofline.compute_peak);
  EXPECT_EQ(r.roofline.memory_peak, wrote.roofline.memory_peak);
  EXPECT_EQ(r.roofline.compute_is_measured, wrote.roofline.compute_is_measured);
  EXPECT_EQ(r.roofline.memory_is_measured, wrote.roofline.memory_is_measured);
  EXPECT_TRUE(r.roofline.is_hot);
  EXPECT_EQ(r.roofline.pcie_bytes, wrote.roofline.pcie_bytes);
  EXPECT_EQ(r.roofline.pcie_peak, wrote.roofline.pcie_peak);
  EXPECT_EQ(r.measures, wrote.measures);
  ASSERT_EQ(r.extras.size(), 2U);
  EXPECT_EQ(r.extras[0].name, "bus bandwidth");
  EXPECT_EQ(r.extras[0].amount, 1.0 / 3);
  EXPECT_EQ(r.extras[0].unit, "B/s");
  EXPECT_EQ(r.extras[0].seconds, 0.125);
  EXPECT_FALSE(r.extras[0].is_detail);
  EXPECT_EQ(r.extras[0].series, "");
  EXPECT_TRUE(r.extras[1].is_detail);
  EXPECT_EQ(r.extras[1].series, "traffic");
  EXPECT_EQ(r.seconds, wrote.seconds);
  EXPECT_EQ(r.first_use_s, wrote.first_use_s);
  EXPECT_EQ(r.warmups, wrote.warmups);
  EXPECT_EQ(r.warmup_s, wrote.warmup_s);
  EXPECT_EQ(r.energy_counter_j, wrote.energy_counter_j);
  EXPECT_EQ(r.energy_j, wrote.energy_j);
  EXPECT_EQ(r.rate_per_watt, wrote.rate_per_watt);
  ASSERT_EQ(r.legs.size(), 4U);
  EXPECT_EQ(r.legs[0].leg, "compute");
  EXPECT_EQ(r.legs[0].seconds, wrote.legs[0].seconds);
  ASSERT_EQ(r.pairs.size(), 6U);
  EXPECT_EQ(r.pairs[1].from, 0);
  EXPECT_EQ(r.pairs[1].to, 2);
  EXPECT_EQ(r.pairs[1].link, "network");
  EXPECT_EQ(r.pairs[1].bytes, 1e6);
  EXPECT_EQ(r.pairs[1].latency_s, wrote.pairs[1].latency_s);
  EXPECT_EQ(r.pairs[1].transfer_s, wrote.pairs[1].transfer_s);
  EXPECT_EQ(r.check.error, wrote.check.error);
  EXPECT_EQ(r.check.bound, wrote.check.bound);
  EXPECT_EQ(r.check.wrong, wrote.check.wrong);
  EXPECT_EQ(r.check.first_wrong, wrote.check.first_wrong);
  EXPECT_EQ(r.check.digest, wrote.check.digest);
  EXPECT_EQ(r.time.n, wrote.time.n);
  EXPECT_EQ(r.time.min, wrote.time.min);
  EXPECT_EQ(r.time.median, wrote.time.median);
  EXPECT_EQ(r.time.p95, wrote.time.p95);
  EXPECT_EQ(r.time.max, wrote.time.max);
  EXPECT_EQ(r.time.mean, wrote.time.mean);
  EXPECT_EQ(r.time.cv, wrote.time.cv);
  EXPECT_EQ(r.time.median_low, wrote.time.median_low);
  EXPECT_EQ(r.time.median_high, wrote.time.median_high);
  EXPECT_EQ(r.rate, wrote.rate);
  EXPECT_EQ(r.imbalance, wrote.imbalance);
  EXPECT_EQ(r.slowest_rank, wrote.slowest_rank);
  EXPECT_EQ(r.ratio_to_vendor, 1.43);
  EXPECT_EQ(r.ratio_to_vendor_low, 1.4);
  EXPECT_EQ(r.ratio_to_vendor_high, 1.46);
  EXPECT_TRUE(r.vendor_is_suspect);
  EXPECT_EQ(r.ratio_to_copy, 0.9);
  EXPECT_TRUE(r.copy_is_suspect);
  EXPECT_TRUE(r.local_is_suspect);
  EXPECT_EQ(r.share_of_local, 0.95);
  EXPECT_EQ(r.share_of_local_low, 0.94);
  EXPECT_EQ(r.share_of_local_high, 0.96);
  ASSERT_TRUE(r.leg_summary);
  EXPECT_EQ(r.leg_summary->compute_s, wrote.leg_summary->compute_s);
  EXPECT_EQ(r.leg_summary->communicate_s, wrote.leg_summary->communicate_s);
  EXPECT_EQ(r.leg_summary->serial_s, wrote.leg_summary->serial_s);
  EXPECT_EQ(r.leg_summary->overlapped_s, wrote.leg_summary->overlapped_s);
  EXPECT_EQ(r.leg_summary->hidden, wrote.leg_summary->hidden);
  EXPECT_EQ(r.leg_summary->hidden_low, wrote.leg_summary->hidden_low);
  EXPECT_EQ(r.leg_summary->hidden_high, wrote.leg_summary->hidden_high);
  EXPECT_EQ(r.leg_summary->overlapped_over_max, wrote.leg_summary->overlapped_over_max);
  EXPECT_EQ(r.leg_summary->slowdown_compute, wrote.leg_summary->slowdown_compute);
  EXPECT_EQ(r.leg_summary->slowdown_communicate, wrote.leg_summary->slowdown_communicate);
}

TEST_F(ResultFile, JournalToHdf5AndBackIsEqual) {
  measure::RunResult wrote = sample_result();
  wrote.records[0].seconds[4] = std::numeric_limits<double>::quiet_NaN();
  wrote.records[0].seconds[5] = -std::numeric_limits<double>::infinity();
  wrote.records[0].check.error = std::numeric_limits<double>::infinity();
  {
    Journal journal{at("result.jsonl")};
    journal.append(to_json_line(wrote.info));
    for (auto const& record : wrote.records) journal.append(to_json_line(record));
  }

  auto const journal = read_result(at("result.jsonl"));
  ASSERT_TRUE(journal) << why(journal);
  ASSERT_EQ(write_result(at("result.h5"), *journal), "");
  auto const back = read_result(at("result.h5"));

  ASSERT_TRUE(back) << why(back);
  EXPECT_EQ(all_of(*journal), all_of(wrote));
  EXPECT_EQ(all_of(*back), all_of(wrote));
}

// As version 0.1.0 wrote it: names and types may not change.
TEST_F(ResultFile, AJournalFromBeforeIsRead) {
  constexpr char const* kLines =
      R"({"schema":"quadrille-result","schema_version":1,"run_id":"r","started":"s","finished":"",)"
      R"("status":"running","config":"[run]\n","build":[["version","0.1.0"]],"environment":[],)"
      R"("ranks":[{"rank":3,"node":"vm","local_rank":1,"device":"H100","uuid":"GPU-1",)"
      R"("pci":"0000:17:00.0","numa":2,"cpu_mask":"0-3","memory":23967715328,"threads":4}],)"
      R"("events":[]})"
      "\n"
      R"({"id":"gemm:kokkos","name":"gemm","workload":"gemm","sizes":[64],"type":"f64",)"
      R"("variant":"kokkos","backend":"kokkos","transport":"none","grid":"","ranks":2,)"
      R"("device":"AMD EPYC","source":"own","seed":1,"data":"uniform","config":"[[case]]\n",)"
      R"("verdict":"PASS","reason":"","suspect":[],"modelled_link":false,"host_timed":false,"amount":1048576.0,)"
      R"("unit":"FLOP/s","peak":0.0,"extras":[{"name":"a","amount":2.0,"unit":"B/s","seconds":1.0}],)"
      R"("timing":"synchronised","batch":1,"buffer_sets":1,"kernels":[],"published":0.0,)"
      R"("published_on":"","check":{"error":0.5,"bound":1.0,"wrong_count":0,"first_wrong":"",)"
      R"("digest":""},"summary":{"n":1,"min_s":3e-05,"median_s":3e-05,"p95_s":3e-05,"max_s":3e-05,)"
      R"("mean_s":3e-05,"cv":0.0,"median_low_s":3e-05,"median_high_s":3e-05,"first_use_s":0.1,)"
      R"("rate":3.5e10,"imbalance":1.0,"slowest_rank":1,"ratio_to_vendor":1.05,)"
      R"("ratio_to_vendor_low":1.0,"ratio_to_vendor_high":1.1,"ratio_to_copy":null,"legs":null},)"
      R"("seconds":[2.9e-05,3e-05],"warmup":[],"clock_hz":[],"power_w":[],)"
      R"("legs":[{"leg":"compute","seconds":[1.0,2.0]}]})"
      "\n";

  auto const result = read_result(put("result.jsonl", kLines));

  ASSERT_TRUE(result) << why(result);
  comm::Placement const& rank = result->info.ranks.at(0);
  EXPECT_EQ(rank.rank, 3);
  EXPECT_EQ(rank.node, "vm");
  EXPECT_EQ(rank.local_rank, 1);
  EXPECT_EQ(rank.device, "H100");
  EXPECT_EQ(rank.uuid, "GPU-1");
  EXPECT_EQ(rank.pci, "0000:17:00.0");
  EXPECT_EQ(rank.numa, 2);
  EXPECT_EQ(rank.cpus, "0-3");
  EXPECT_EQ(rank.free_memory, 23967715328);
  EXPECT_EQ(rank.threads, 4);
  measure::Record const& record = result->records.at(0);
  EXPECT_EQ(record.variant, "kokkos");
  EXPECT_EQ(record.check.error, 0.5);
  EXPECT_EQ(record.rate, 3.5e10);
  EXPECT_EQ(record.ratio_to_vendor_high, 1.1);
  EXPECT_EQ(record.extras.at(0).unit, "B/s");
  EXPECT_FALSE(record.extras.at(0).is_detail);
  EXPECT_EQ(record.legs.at(0).leg, "compute");
  EXPECT_EQ(record.legs.at(0).seconds, (std::vector<double>{1, 2}));
}

/// As a version wrote it in which the name was `used`.
measure::RunResult result_with(core::FormerName const& name, std::string_view used) {
  measure::RunResult result = sample_result();
  measure::Record& record = result.records[0];
  bool const is_key = name.kind == core::FormerName::Kind::key;
  result.info.config = record.config =
      fmt::format("[[case]]\nworkload = \"{}\"\n{} = \"{}\"\n", name.workload,
                  is_key ? used : "variant", is_key ? "1s" : used);
  if (name.workload.empty() && is_key) result.info.config = fmt::format("[run]\n{} = 1\n", used);
  if (!is_key) {
    record.variant = used;
    record.id = fmt::format("{}:{}", record.name, used);
    record.reason = fmt::format("variant '{}' runs elsewhere", used);
  }
  return result;
}

TEST_F(ResultFile, FormerNamesAreReadAsThoseOfNow) {
  for (core::FormerName const& name : core::former_names()) {
    measure::RunResult const former = result_with(name, name.former);
    std::string const present = all_of(result_with(name, name.present));
    auto const journal = read_result(put("result.jsonl", journal_of(former)));
    ASSERT_TRUE(journal) << why(journal);
    EXPECT_EQ(all_of(*journal), present);

    fs::remove(at("result.h5"));
    ASSERT_EQ(write_result(at("result.h5"), former), "");
    auto const finished = read_result(at("result.h5"));
    ASSERT_TRUE(finished) << why(finished);
    EXPECT_EQ(all_of(*finished), present);
  }
}

TEST_F(ResultFile, ATableOfRanksWithFewerColumnsIsRead) {
  ASSERT_EQ(write_result(at("result.h5"), sample_result()), "");
  {
    struct Row {
      int rank;
      std::int64_t memory;
    };
    std::array<Row, 3> const rows{{{0, 7}, {1, 8}, {2, 9}}};
    hsize_t const n = rows.size();
    Type const type{H5Tcreate(H5T_COMPOUND, sizeof(Row))};
    H5Tinsert(type, "rank", offsetof(Row, rank), H5T_NATIVE_INT);
    H5Tinsert(type, "memory", offsetof(Row, memory), H5T_NATIVE_INT64);
    Space const space{H5Screate_simple(1, &n, nullptr)};
    File const file{H5Fopen(at("result.h5").c_str(), H5F_ACC_RDWR, H5P_DEFAULT)};
    ASSERT_GE(H5Ldelete(file, "ranks", H5P_DEFAULT), 0);
    Dataset const set{
        H5Dcreate2(file, "ranks", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)};
    ASSERT_GE(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows.data()), 0);
  }

  auto const back = read_result(at("result.h5"));

  ASSERT_TRUE(back) << why(back);
  ASSERT_EQ(back->info.ranks.size(), 3U);
  EXPECT_EQ(back->info.ranks[2].rank, 2);
  EXPECT_EQ(back->info.ranks[2].free_memory, 9);
  EXPECT_EQ(back->info.ranks[2].node, "");
  EXPECT_EQ(back->info.ranks[2].numa, -1);
}

TEST_F(ResultFile, PairsOfARunThatWasInterruptedBeforeTheirSamplesSurvive) {
  measure::RunResult wrote = sample_result();
  for (measure::PairTimes& pair : wrote.records[0].pairs) {
    pair.latency_s.clear();
    pair.transfer_s.clear();
  }
  ASSERT_EQ(write_result(at("result.h5"), wrote), "");
  auto const back = read_result(at("result.h5"));
  ASSERT_TRUE(back) << why(back);
  EXPECT_EQ(all_of(*back), all_of(wrote));
}

TEST_F(ResultFile, AnEmptyRunSurvives) {
  ASSERT_EQ(write_result(at("result.h5"), {}), "");
  auto const back = read_result(at("result.h5"));
  ASSERT_TRUE(back) << why(back);
  EXPECT_EQ(all_of(*back), all_of({}));
}

TEST_F(ResultFile, ADirectoryStandsForTheResultInIt) {
  put("result.jsonl", journal_of(sample_result()));
  auto const interrupted = read_result(folder_.string());
  ASSERT_TRUE(interrupted) << why(interrupted);
  EXPECT_EQ(interrupted->records.size(), 2U);

  ASSERT_EQ(write_result(at("result.h5"), {}), "");
  auto const finished = read_result(folder_.string());
  ASSERT_TRUE(finished) << why(finished);
  EXPECT_EQ(finished->records.size(), 0U);
}

TEST_F(ResultFile, LaterLinesOfAJournalReplaceEarlierOnes) {
  measure::RunResult wrote = sample_result();
  std::string text = journal_of(wrote);
  wrote.info.status = "interrupted";
  wrote.records[0].reason = "again";
  auto const back = read_result(put("result.jsonl", text + journal_of(wrote)));
  ASSERT_TRUE(back) << why(back);
  EXPECT_EQ(all_of(*back), all_of(wrote));
}

TEST_F(ResultFile, AHalfWrittenLastLineIsLeftOutAndNoted) {
  measure::RunResult const wrote = sample_result();
  std::string const text = journal_of(wrote);
  std::string const first = to_json_line(wrote.info) + "\n" + to_json_line(wrote.records[0]) + "\n";
  for (std::size_t cut : {text.size() - 2, text.size() - 100, first.size() + 1}) {
    auto const back = read_result(put("result.jsonl", text.substr(0, cut)));
    ASSERT_TRUE(back) << why(back);
    EXPECT_EQ(back->records.size(), 1U);
    EXPECT_EQ(back->info.events.back(), "line 3 of the journal is incomplete and was left out");
  }
  auto const whole = read_result(put("result.jsonl", text.substr(0, text.size() - 1)));
  ASSERT_TRUE(whole) << why(whole);
  EXPECT_EQ(whole->records.size(), 2U);
}

TEST_F(ResultFile, OfAJournalThatEndsAnywhereTheFinishedCasesAreKept) {
  measure::RunResult const wrote = sample_result();
  measure::Record begun = wrote.records[1];
  begun.name = "begun";
  std::string const head = to_json_line(wrote.info) + "\n";
  std::string const first = head + to_json_line(wrote.records[0]) + "\n" +
                            finished_case_line(wrote.records[0].name) + "\n";
  std::string const record = first + to_json_line(begun) + "\n";
  std::string const text = record + head;
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    // Each byte around the ends of lines.
    bool const is_near =
        std::ranges::any_of(std::array{head.size(), first.size(), record.size(), text.size()},
                            [&](std::size_t end) { return cut + 40 > end && cut < end + 3; });
    if (!is_near && cut % 1001 != 0) continue;
    auto const kept = read_finished_cases(put("result.jsonl", text.substr(0, cut)));
    ASSERT_EQ(static_cast<bool>(kept), cut >= head.size()) << cut;
    if (!kept) continue;
    std::size_t const finished = cut >= first.size() ? 1 : 0;
    ASSERT_EQ(kept->result.records.size(), finished) << cut;
    ASSERT_EQ(kept->result.finished_cases.size(), finished) << cut;
    ASSERT_EQ(kept->bytes, static_cast<std::int64_t>((finished > 0 ? first : head).size())) << cut;
  }
  EXPECT_FALSE(read_finished_cases(put("result.jsonl", head + "{}\n" + first)));
}

TEST_F(ResultFile, DamageInsideAJournalIsAnError) {
  std::string text = journal_of(sample_result());
  text[to_json_line(sample_result().info).size() + 5] = '\0';
  EXPECT_NE(why(read_result(put("a.jsonl", text))).find("not a Quadrille result (line 2"),
            std::string::npos);

  for (std::string const line :
       {"{", "{}", "{\"id\": 3}", "[1]",
        "{\"schema\": \"quadrille-result\", \"schema_version\": 99}",
        "{\"schema\": \"quadrille-result\", \"ranks\": 1}",
        "{\"schema\": \"quadrille-result\", \"ranks\": [1]}", "{\"schema\": [1]}"}) {
    EXPECT_NE(why(read_result(put("b.jsonl", line))).find("b.jsonl: not a Quadrille result ("),
              std::string::npos)
        << line;
  }
}

TEST_F(ResultFile, SamplesMustFitTheRanks) {
  measure::Record record = test::sample_record();
  record.seconds.pop_back();
  measure::RunResult result;
  EXPECT_NE(add_json_line(to_json_line(record), result), "");
}

TEST_F(ResultFile, TruncatedFilesAreErrors) {
  ASSERT_EQ(write_result(at("result.h5"), sample_result()), "");
  std::string const whole = bytes_of(at("result.h5"));
  ASSERT_GT(whole.size(), 2048U);
  for (std::size_t const length :
       {std::size_t{1}, std::size_t{8}, std::size_t{47}, std::size_t{96}, std::size_t{512},
        std::size_t{2048}, whole.size() / 2, whole.size() - 1}) {
    std::string const text = why(read_result(put("cut.h5", whole.substr(0, length))));
    EXPECT_NE(text.find("cut.h5: not a Quadrille result ("), std::string::npos) << text;
  }
}

TEST_F(ResultFile, DamagedFilesNeverCrash) {
  ASSERT_EQ(write_result(at("result.h5"), sample_result()), "");
  std::string const whole = bytes_of(at("result.h5"));
  std::mt19937 random{1};
  int refused = 0;
  for (int i = 0; i < 300; ++i) {
    std::string bytes = whole;
    for (int k = 0; k < 8; ++k) bytes[random() % bytes.size()] = static_cast<char>(random());
    refused += read_result(put("damaged.h5", bytes)) ? 0 : 1;
  }
  EXPECT_GT(refused, 150);
}

TEST_F(ResultFile, FilesThatAnotherToolAddedToAreRead) {
  ASSERT_EQ(write_result(at("result.h5"), sample_result()), "");
  {
    File const file{H5Fopen(at("result.h5").c_str(), H5F_ACC_RDWR, H5P_DEFAULT)};
    Group const note{H5Gcreate2(file, "my_notes", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)};
    ASSERT_TRUE(note);
  }
  auto const back = read_result(at("result.h5"));
  ASSERT_TRUE(back) << why(back);
  EXPECT_EQ(all_of(*back), all_of(sample_result()));
}

TEST_F(ResultFile, LegsThatDoNotFitTogetherAreErrors) {
  std::string const legs = "cases/" + test::sample_record().id + "/legs";
  for (hsize_t const size : {1, 8}) {
    fs::remove(at("result.h5"));
    ASSERT_EQ(write_result(at("result.h5"), sample_result()), "");
    {
      File const file{H5Fopen(at("result.h5").c_str(), H5F_ACC_RDWR, H5P_DEFAULT)};
      Dataset const set{H5Dopen2(file, legs.c_str(), H5P_DEFAULT)};
      ASSERT_TRUE(set) << legs;
      ASSERT_GE(H5Adelete(set, "repetitions"), 0);
      Space const space{H5Screate_simple(1, &size, nullptr)};
      Attribute const counts{
          H5Acreate2(set, "repetitions", H5T_NATIVE_INT64, space, H5P_DEFAULT, H5P_DEFAULT)};
      std::array<std::int64_t, 8> const values{};
      ASSERT_GE(H5Awrite(counts, H5T_NATIVE_INT64, values.data()), 0);
      Group const note{H5Gcreate2(file, "my_notes", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)};
    }
    std::string const text = why(read_result(at("result.h5")));
    EXPECT_NE(text.find("legs"), std::string::npos) << size << ": " << text;
  }
}

TEST_F(ResultFile, ForeignFilesAreErrors) {
  silence_hdf5();
  { File const foreign{H5Fcreate(at("foreign.h5").c_str(), H5F_ACC_TRUNC, 0, 0)}; }
  EXPECT_NE(why(read_result(at("foreign.h5"))).find("an HDF5 file whose schema is ''"),
            std::string::npos);
  EXPECT_NE(why(read_result(put("empty.h5", ""))).find("the file is empty"), std::string::npos);
  EXPECT_NE(why(read_result(put("text.h5", "a poem\n"))).find("neither HDF5 nor a journal"),
            std::string::npos);
  EXPECT_NE(why(read_result(at("none.h5"))).find("No such file"), std::string::npos);
  EXPECT_NE(why(read_result(folder_.string())).find("neither a run nor a directory of runs"),
            std::string::npos);
}

TEST_F(ResultFile, ADirectoryOfRunsIsReadAsTheOneThatStartedLast) {
  silence_hdf5();
  std::filesystem::file_time_type const time{};
  auto const put_run = [&](std::string const& id, std::string const& started, bool has_journal) {
    measure::RunResult result = sample_result();
    result.info.run_id = id;
    result.info.started = started;
    fs::create_directory(folder_ / id);
    std::string const file = at(id + (has_journal ? "/result.jsonl" : "/result.h5"));
    if (has_journal) put(id + "/result.jsonl", to_json_line(result.info) + "\n");
    if (!has_journal) {
      EXPECT_EQ(write_result(file, result), "");
    }
    return file;
  };
  auto const latest = [&] { return latest_run(folder_)->filename().string(); };
  std::string const first = put_run("first", "2026-01-02T00:00:00Z", true);
  put_run("second", "2026-01-02T00:00:01Z", true);

  // A report is written beside a run, and copies have times of their own.
  put("first/report.html", "later");
  fs::last_write_time(first, time + std::chrono::hours{3});
  fs::last_write_time(folder_ / "first", time + std::chrono::hours{3});
  EXPECT_EQ(latest(), "second");
  std::string const third = put_run("third", "2026-01-02T00:00:02Z", false);
  EXPECT_EQ(latest(), "third") << "by its result.h5";
  std::string const twin = put_run("twin", "2026-01-02T00:00:02Z", true);
  fs::last_write_time(third, time + std::chrono::hours{2});
  fs::last_write_time(twin, time + std::chrono::hours{1});
  EXPECT_EQ(latest(), "third") << "written after its twin";
  put("fourth.jsonl", "no directory");
  EXPECT_EQ(latest(), "third");
  auto const read = read_result(folder_.string());
  ASSERT_TRUE(read) << why(read);
  EXPECT_EQ(read->info.run_id, "third");
}

TEST_F(ResultFile, ADamagedResultHidesNoJournal) {
  silence_hdf5();
  fs::create_directory(folder_ / "first");
  measure::RunResult result = sample_result();
  result.info.run_id = "first";
  put("first/result.jsonl", to_json_line(result.info));
  std::ofstream{folder_ / "first/result.h5"} << "damaged";
  auto const first = read_result((folder_ / "first").string());
  ASSERT_TRUE(first) << why(first);
  EXPECT_EQ(first->info.run_id, "first");
  EXPECT_NE(first->info.events.back().find("read from the journal"), std::string::npos);

  put("first/result.jsonl", "{\"id\": 3}\n{}\n");
  EXPECT_NE(why(read_result(at("first/result.jsonl"))).find("a member is missing"),
            std::string::npos);
}

TEST_F(ResultFile, WhatCannotBeReadIsNoShorterRun) {
  silence_hdf5();
  std::string const journal = put("whole.jsonl", journal_of(sample_result()));
  ASSERT_TRUE(read_finished_cases(journal));
  // Opens, but gives nothing: a file of another process, which is not there at this address.
  fs::create_symlink("/proc/self/mem", folder_ / "result.jsonl");
  ASSERT_EQ(mkfifo(at("pipe.jsonl").c_str(), 0600), 0);
  fs::create_directory(folder_ / "folder.jsonl");
  for (char const* const name : {"result.jsonl", "pipe.jsonl", "folder.jsonl", "none.jsonl"}) {
    EXPECT_FALSE(read_finished_cases(at(name))) << name;
    EXPECT_FALSE(read_result(at(name))) << name;
  }
  EXPECT_NE(read_finished_cases(at("result.jsonl")).why().find("Input/output error"),
            std::string::npos);
  // No more descriptors.
  rlimit before{}, none{};
  getrlimit(RLIMIT_NOFILE, &before);
  none.rlim_max = before.rlim_max;
  setrlimit(RLIMIT_NOFILE, &none);
  auto const finished = read_finished_cases(journal);
  auto const result = read_result(journal);
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_NE(finished.why().find("Too many open files"), std::string::npos);
  EXPECT_NE(why(result).find("Too many open files"), std::string::npos);
}

TEST_F(ResultFile, NothingOfOtherFilesIsShown) {
  silence_hdf5();
  ASSERT_EQ(write_result(at("other.h5"), sample_result()), "");
  ASSERT_EQ(mkfifo(at("pipe").c_str(), 0600), 0);
  std::string const secret = put("secret", std::string(80, 's'));
  measure::RunResult result = sample_result();
  result.records.resize(1);
  std::string const id = result.records[0].id;
  auto const damaged = [&](auto const& change) {
    fs::remove(at("made.h5"));
    EXPECT_EQ(write_result(at("made.h5"), result), "");
    {
      File const file{H5Fopen(at("made.h5").c_str(), H5F_ACC_RDWR, file_access())};
      change(file, Group{H5Gopen2(file, ("cases/" + id).c_str(), 0)});
    }
    return read_result(at("made.h5"));
  };
  hsize_t const extents[]{10, 1, 1};
  Space const space{H5Screate_simple(3, extents, nullptr)};
  Properties outside{H5Pcreate(H5P_DATASET_CREATE)}, virtually{H5Pcreate(H5P_DATASET_CREATE)};
  H5Pset_external(outside, secret.c_str(), 0, 80);
  H5Pset_virtual(virtually, space, at("other.h5").c_str(), "time", space);

  EXPECT_TRUE(damaged([](hid_t, hid_t) {}));
  EXPECT_FALSE(damaged([&](hid_t file, hid_t) {
    H5Ldelete(file, "cases", 0);
    EXPECT_GE(H5Lcreate_external(at("other.h5").c_str(), "/cases", file, "cases", 0, 0), 0);
  }));
  EXPECT_FALSE(damaged([&](hid_t file, hid_t) {
    EXPECT_GE(H5Lcreate_external(at("pipe").c_str(), "/", file, "cases/x", 0, 0), 0);
  }));
  for (hid_t const created : {hid_t{outside}, hid_t{virtually}}) {
    auto const read = damaged([&](hid_t, hid_t at) {
      H5Ldelete(at, "time", 0);
      EXPECT_TRUE(Dataset{H5Dcreate2(at, "time", H5T_IEEE_F64LE, space, 0, created, 0)});
    });
    EXPECT_NE(why(read).find("lies in other files"), std::string::npos) << why(read);
  }
}

TEST_F(ResultFile, NothingIsOverwritten) {
  std::string const path = put("taken", "mine");
  EXPECT_NE(write_result(path, {}).find("taken: exists already"), std::string::npos);
  EXPECT_EXIT(Journal{path}, testing::ExitedWithCode(3), "taken: cannot create.*File exists");
  put("new", "yours");
  EXPECT_NE(publish(at("new"), path), "");
  EXPECT_EQ(bytes_of(path), "mine");
}

TEST_F(ResultFile, PlacesThatCannotBeWrittenAreNamed) {
  std::string const path = put("file", "") + "/result";
  EXPECT_NE(write_result(path, {}).find("result: cannot create"), std::string::npos);
  EXPECT_EXIT(Journal{path}, testing::ExitedWithCode(3), "result: cannot create.*choose an output");
}

TEST_F(ResultFile, WritesNothingBesideTheResult) {
  ASSERT_EQ(write_result(at("result.h5"), sample_result()), "");
  EXPECT_EQ(std::distance(fs::directory_iterator{folder_}, fs::directory_iterator{}), 1);
}

TEST_F(ResultFile, ErrorsOfHdf5BeginAndEndWithItsCauses) {
  silence_hdf5();
  ASSERT_LT(H5Fopen(at("absent").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), 0);
  std::string const text = hdf5_error("H5Fopen(and more)");
  std::size_t const first = text.find(": "), last = text.find(": ", first + 2);
  EXPECT_EQ(text.substr(0, first), "H5Fopen");
  ASSERT_NE(last, std::string::npos) << text;
  EXPECT_NE(text.find("No such file", last), std::string::npos) << text;
}

// Run by h5py_test.py, which reads what is written here.
TEST_F(ResultFile, WritesForOthers) {
  char const* const path = std::getenv("QUADRILLE_TEST_RESULT");
  if (path == nullptr) GTEST_SKIP() << "QUADRILLE_TEST_RESULT names no file";
  ASSERT_EQ(write_result(path, sample_result()), "");
}

}  // namespace
}  // namespace quadrille::io

// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "core/config.hpp"
#include "workloads/checks/product.hpp"
#include "workloads/registry.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>

namespace quadrille::workloads {
namespace {

/// What the smallest configuration of a workload with these keys describes, on three ranks.
measure::Description described(std::string const& keys, measure::Selection const& rows = {}) {
  auto const config = core::resolve("[[case]]\n" + keys, "test", {}, name_table());
  EXPECT_TRUE(config) << config.why();
  core::Case const& spec = config->cases.at(0);
  return entry_of(*spec.workload).make(spec, 3, 0)->describe(rows);
}

// nvbandwidth counts so: a link of 55 GB/s must not show 110.
TEST(Work, OfACopyIsReadAndWrittenInADeviceAndCarriedOnceOverALink) {
  auto const copy = [](char const* operation) {
    return described(fmt::format(
        "workload = \"copy\"\ntype = \"f64\"\nsize = 1000\noperation = \"{}\"\n", operation));
  };
  EXPECT_EQ(copy("d2d").amount, 3 * 16000);
  EXPECT_EQ(copy("d2d").device_bytes, 3 * 16000);
  for (char const* way : {"h2d", "d2h"}) {
    EXPECT_EQ(copy(way).amount, 3 * 8000);
    EXPECT_EQ(copy(way).device_bytes, 0) << "the link is the limit";
  }
  EXPECT_EQ(copy("both").amount, 3 * 16000);
  ASSERT_EQ(copy("both").extras.size(), 1U);
  EXPECT_EQ(copy("both").extras[0].amount, 3 * 8000) << "each way";
}

TEST(Work, HasTheOperationsAndBytesOfItsRoofline) {
  auto const of = [](char const* keys) {
    return described(fmt::format("{}\ntype = \"f32\"\n", keys));
  };
  measure::Description const product = of("workload = \"gemm\"\nsize = \"(10,20,30)\"");
  EXPECT_EQ(product.flop, 3 * 2 * 6000);
  EXPECT_EQ(product.device_bytes, 3 * 4 * (300 + 600 + 200));
  measure::Description const turned = of("workload = \"transpose\"\nsize = \"(10,20)\"");
  EXPECT_EQ(turned.flop, 0);
  EXPECT_EQ(turned.device_bytes, 3 * 2 * 4 * 200);
  EXPECT_EQ(of("workload = \"reduction\"\nsize = 100").flop, 100);
  EXPECT_EQ(of("workload = \"reduction\"\nsize = 100\noperation = \"dot\"").flop, 200);
  measure::Description const streamed =
      of("workload = \"reduction\"\nsize = 100\nsource = \"host\"");
  EXPECT_EQ(streamed.flop + streamed.device_bytes, 0) << "the link is the limit";

  auto const integral = [](char const* keys) {
    return described(fmt::format("workload = \"integral\"\nsize = 100\n{}\n", keys));
  };
  for (char const* type : {"f32", "f64"}) {
    auto const d = integral(fmt::format("type = \"{}\"", type).c_str());
    EXPECT_EQ(d.gpu_flop, 100 * 10) << "5 multiply-adds";
    EXPECT_EQ(d.flop, 0) << "hosts evaluate otherwise";
  }
  EXPECT_EQ(integral("type = \"f64\"\nrule = \"simpson\"").gpu_flop, 200 * 10);
  EXPECT_EQ(integral("type = \"f64\"\nreproducible = true").flop, 100 * 62);
  EXPECT_EQ(integral("type = \"f64\"\nintegrand = \"gauss\"").gpu_flop, 100 * 31);
  EXPECT_EQ(integral("type = \"f32\"\nintegrand = \"gauss\"").gpu_flop, 0)
      << "by units of their own";
  EXPECT_EQ(integral("type = \"f64\"\nintegrand = \"runge\"").gpu_flop, 0) << "a division";
}

TEST(Work, OfAPipelineCrossesTheLinkWhereEveryRowCopies) {
  std::string const keys = "workload = \"pipeline\"\ntype = \"f64\"\nsize = 6400\n";
  EXPECT_EQ(described(keys).gpu_flop, 3 * 8 * 6400 * 10.0);
  auto const all = workloads();
  auto const entry = std::ranges::find_if(
      all, [](auto const* workload) { return workload->schema.name == "pipeline"; });
  auto const bytes = [&](std::set<std::string_view> const& names) {
    measure::Selection rows;
    for (kernels::VariantInfo const* row : (*entry)->variants) {
      if (names.contains(row->name)) rows.push_back(row);
    }
    return described(keys, rows).pcie_bytes;
  };
  EXPECT_EQ(bytes({"serial"}), 3 * 8 * 100 * 8);
  EXPECT_EQ(bytes({"serial", "host_thread"}), 3 * 8 * 100 * 8);
  for (char const* name : {"sum_on_device", "sum_in_place", "small_grid"}) {
    EXPECT_EQ(bytes({"serial", name}), 0) << name;
  }
}

TEST(Work, OfASummaWithLayersIsLessOfInputsAndMoreOfC) {
  auto const bytes = [](char const* keys) {
    return described(
               fmt::format("workload = \"summa\"\ntype = \"f64\"\nsize = \"(3,5,7)\"\n{}\n", keys))
        .network_bytes;
  };
  for (char const* schedule : {"broadcast", "cannon"}) {
    std::string const key = fmt::format("schedule = \"{}\"\n", schedule);
    EXPECT_EQ(bytes(key.c_str()), 8 * 2 * 3 * 7) << "A to two other columns of 1 x 3";
    EXPECT_EQ(bytes((key + "layers = 3").c_str()), 8 * 2 * 3 * 5) << "C of two other layers";
  }
}

TEST(Work, WhatCommunicatesTellsOfItsMessagesTheSameOnAllRanks) {
  std::ifstream file{QUADRILLE_SOURCE "/tests/workloads/small.toml"};
  std::string const text{std::istreambuf_iterator<char>{file}, {}};
  auto const config = core::resolve(text, "small.toml", {}, name_table());
  ASSERT_TRUE(config) << config.why();
  std::set<std::string_view> told;
  for (core::Case const& spec : config->cases) {
    auto const describe = [&](int rank) {
      return entry_of(*spec.workload).make(spec, 3, rank)->describe({});
    };
    measure::Description const first = describe(0);
    ASSERT_EQ(first.traffic.has_value(), first.traits.communicates) << spec.name;
    if (!first.traffic) continue;
    told.insert(spec.workload->name);
    EXPECT_GT(first.traffic->bytes, 0) << spec.name;
    for (int const rank : {1, 2}) {
      measure::Description const other = describe(rank);
      ASSERT_TRUE(other.traffic) << spec.name;
      EXPECT_EQ(other.traffic->operation, first.traffic->operation) << spec.name;
      EXPECT_EQ(other.traffic->bytes, first.traffic->bytes) << spec.name;
    }
  }
  for (measure::WorkloadEntry const* entry : workloads()) {
    EXPECT_EQ(told.contains(entry->schema.name), entry->schema.keys.transport)
        << entry->schema.name;
  }
}

TEST(Work, MessagesAreThoseThatChannelsMove) {
  auto const of = [](char const* keys) {
    auto const traffic = described(fmt::format("type = \"f64\"\n{}\n", keys)).traffic;
    return traffic ? fmt::format("{} {}", core::to_text(traffic->operation), traffic->bytes) : "-";
  };
  EXPECT_EQ(of("workload = \"allreduce\"\nsize = 10"), "allreduce 80");
  EXPECT_EQ(of("workload = \"alltoall\"\nsize = 30"), "alltoall 240") << "a rank's row";
  EXPECT_EQ(of("workload = \"pairs\"\nsize = 10"), "sendrecv 80");
  EXPECT_EQ(of("workload = \"reduction\"\nsize = 10"), "allreduce 8");
  EXPECT_EQ(of("workload = \"reduction\"\nsize = 10\nreproducible = true"), "allgather 32768");
  // On 1 x 3 parts of A alone travel, 30 rows of each.
  std::string const product = "workload = \"summa\"\nsize = \"(30,60,90)\"\n";
  EXPECT_EQ(of((product + "panel = 10").c_str()), "broadcast 2400");
  EXPECT_EQ(of((product + "panel = 1000").c_str()), "broadcast 21600") << "all of k";
  EXPECT_EQ(of((product + "schedule = \"cannon\"").c_str()), "sendrecv 7200");
  EXPECT_EQ(of((product + "layers = 3").c_str()), "reduce_scatter 14400") << "C";
  EXPECT_EQ(of("workload = \"ptrans\"\nsize = \"(30,60)\"\npanel = 15"), "alltoall 2400");
  EXPECT_EQ(of("workload = \"transpose\"\nsize = 8"), "-");
}

TEST(Work, GridsAreOfTheRanksOfALayer) {
  auto const config =
      core::resolve("[[case]]\nworkload = \"summa\"\nsize = 8\ngrid = \"all\"\nlayers = [1, 2]\n",
                    "test", {}, name_table());
  ASSERT_TRUE(config) << config.why();

  auto const four = core::expand_grids(*config, 4);
  ASSERT_TRUE(four) << four.why();
  std::string names;
  for (core::Case const& spec : four->cases) names += " " + spec.name;
  EXPECT_EQ(names, " summa.1.1x4 summa.1.2x2 summa.1.4x1 summa.2.1x2 summa.2.2x1");
  EXPECT_EQ(core::expand_grids(*config, 3).why(),
            "case 'summa.2': layers = 2 do not divide 3 ranks; take a divisor of 3");
}

TEST(Work, RowsOfOneNameAreOfDifferentDevices) {
  // Two measurements of one name would be one in the result.
  for (measure::WorkloadEntry const* entry : workloads()) {
    for (device::Kind const kind : {device::Kind::host, device::Kind::cuda}) {
      std::set<std::string_view> names;
      for (kernels::VariantInfo const* row : entry->variants) {
        if (!row->runs_on(kind)) continue;
        EXPECT_TRUE(names.insert(row->name).second) << entry->schema.name << " " << row->name;
      }
    }
  }
}

TEST(Work, SmsAreOfPersistentVariantsAlone) {
  auto const device = device::make_host_device(1);
  for (char const* workload : {"gemm", "summa"}) {
    auto const config = core::resolve(
        fmt::format("[[case]]\nworkload = \"{}\"\ntype = \"f32\"\nsize = 256\nsms = 8\n", workload),
        "test", {}, name_table());
    ASSERT_TRUE(config) << config.why();
    measure::WorkloadEntry const& entry = entry_of(*config->cases.at(0).workload);
    auto const product = entry.make(config->cases.at(0), 1, 0);
    auto const reason = [&](std::string_view name) {
      auto const row = std::ranges::find_if(
          entry.variants, [&](auto const* variant) { return variant->name == name; });
      return product->unsupported_reason(**row, *device);
    };
    EXPECT_EQ(
        reason("host_simd"),
        "takes as many multiprocessors as it gets; leave sms out, or take a persistent variant");
    EXPECT_EQ(reason("stream_k"), "sms = 8, of a device with 1 multiprocessors");
  }
}

TEST(Work, ExchangesTakeTheMultiprocessorsThatProductsLeave) {
  device::Facts facts;
  facts.multiprocessors = 132;
  EXPECT_EQ(ctas_beside_products(0, 0, facts), 0) << "no limit";
  EXPECT_EQ(ctas_beside_products(0, 120, facts), 12);
  EXPECT_EQ(ctas_beside_products(0, 132, facts), 0);
  EXPECT_EQ(ctas_beside_products(0, 200, facts), 0) << "of another device";
  EXPECT_EQ(ctas_beside_products(4, 120, facts), 4);
  EXPECT_EQ(ctas_beside_products(4, 0, facts), 4);
}

TEST(Work, ACannonOfARectangularGridIsRefusedWithWhatFits) {
  auto const device = device::make_host_device(1);
  auto const reason = [&](char const* grid) {
    auto const config = core::resolve(
        fmt::format(
            "[[case]]\nworkload = \"summa\"\nsize = 9\nschedule = \"cannon\"\ngrid = \"{}\"\n",
            grid),
        "test", {}, name_table());
    core::Case const& spec = config->cases.at(0);
    measure::WorkloadEntry const& entry = entry_of(*spec.workload);
    int const ranks = spec.grid.rows * spec.grid.cols;
    return entry.make(spec, ranks, 0)->unsupported_reason(*entry.variants.front(), *device);
  };
  EXPECT_EQ(reason("2x3"),
            "cannon shifts on P x P, 1 x P and P x 1, not on 2x3; change grid, or take schedule = "
            "\"broadcast\"");
  for (char const* grid : {"2x2", "1x3", "3x1"}) EXPECT_EQ(reason(grid), "") << grid;
}

TEST(Work, OfACopyBeyondCachesIsWhatTheMemoryCanDo) {
  auto const measured = [](char const* size, char const* operation) {
    return described(fmt::format(
                         "workload = \"copy\"\ntype = \"f64\"\nsize = \"{}\"\noperation = \"{}\"\n",
                         size, operation))
        .measures;
  };
  EXPECT_EQ(measured("32Mi", "d2d"), measure::Resource::memory);
  EXPECT_EQ(measured("31Mi", "d2d"), measure::Resource::none) << "a cache may hold it";
  EXPECT_EQ(measured("32Mi", "h2d"), measure::Resource::none);
}

TEST(Work, OfAProductCountsCInTheTypeThatItIsStoredAs) {
  auto const product = [](char const* keys) {
    return described(
        fmt::format("workload = \"gemm\"\ntype = \"f16\"\nsize = \"(3,5,7)\"\n{}\n", keys));
  };
  EXPECT_EQ(product("").device_bytes, 3 * 2 * (21 + 35 + 15));
  EXPECT_EQ(product("out = \"f32\"").device_bytes, 3 * (2 * (21 + 35) + 4 * 15));
  EXPECT_EQ(product("out = \"f32\"\nbeta = 1").memory_bytes, 2 * (21 + 35) + 2 * 4 * 15);
  EXPECT_EQ(product("out = \"f32\"").amount, product("").amount);
}

TEST(Work, OfAConvolutionCountsEveryTapOfEveryWindow) {
  auto const convolution = [](char const* keys) {
    return described(fmt::format(
        "workload = \"conv2d\"\ntype = \"f32\"\nsize = \"(2,6,5,4,8,3,2)\"\n{}\n", keys));
  };
  EXPECT_EQ(convolution("").flop, 3 * 2 * (2 * 8 * 9) * (6 * 6));
  EXPECT_EQ(convolution("").device_bytes, 3 * 4 * (2 * 6 * 20 + 8 * 36 + 2 * 8 * 9));
  EXPECT_EQ(convolution("padding = 1").flop, 3 * 2 * (2 * 8 * 25) * (6 * 6));
  EXPECT_EQ(convolution("stride = 2").flop, 3 * 2 * (2 * 8 * 4) * (6 * 6));
  EXPECT_EQ(convolution("groups = 2").flop, convolution("").flop / 2);
  EXPECT_EQ(convolution("layout = \"nhwc\"").amount, convolution("").amount);
}

TEST(Work, OfASplitConvolutionIsThatOfTheWhole) {
  // Three ranks, 5 x 7 outputs: 1x3 gives 3, 3 and 1 columns, of which each sees two more than it owns.
  auto const convolution = [](char const* keys) {
    return described(fmt::format(
        "workload = \"conv2d_halo\"\ntype = \"f32\"\nsize = \"(2,6,5,7,8,3,3)\"\npadding = 1\n{}\n",
        keys));
  };
  EXPECT_EQ(convolution("").flop, 2 * (2 * 8 * 35) * (6 * 9));
  // Between two neighbours a column each way, with the rows of the padding; none by batch.
  EXPECT_EQ(convolution("").network_bytes, 4 * (2 * 6) * (5 + 2) * (2 * 2));
  EXPECT_EQ(convolution("split = \"batch\"").network_bytes, 0);
  EXPECT_EQ(convolution("split = \"batch\"").flop, convolution("").flop);
}

TEST(Work, OfAttentionCountsThePairsThatTheMaskLeaves) {
  auto const attention = [](char const* keys) {
    return described(fmt::format(
        "workload = \"attention\"\ntype = \"f16\"\nsize = \"(2,6,3,40,40,64)\"\n{}\n", keys));
  };
  EXPECT_EQ(attention("").flop, 3 * 4.0 * 64 * (2 * 6) * (40 * 40));
  EXPECT_EQ(attention("mask = \"causal\"").flop, 3 * 4.0 * 64 * (2 * 6) * (40 * 41 / 2));
  EXPECT_EQ(attention("").device_bytes, 3 * 2.0 * 2 * 64 * 40 * (2 * 6 + 2 * 3));
}

TEST(Work, OfRingAttentionIsThatOfTheWholeSequence) {
  auto const attention = [](char const* keys) {
    return described(fmt::format(
        "workload = \"ring_attention\"\ntype = \"f16\"\nsize = \"(2,6,3,40,64)\"\n{}\n", keys));
  };
  EXPECT_EQ(attention("").flop, 4.0 * 64 * (2 * 6) * (120 * 120));
  EXPECT_EQ(attention("mask = \"causal\"").flop, 4.0 * 64 * (2 * 6) * (120 * 121 / 2));
  EXPECT_EQ(attention("sequence = \"whole\"").flop, 4.0 * 64 * (2 * 6) * (40 * 40));
  // Keys and values of each rank reach the two others.
  EXPECT_EQ(attention("").network_bytes, 2.0 * 2 * 64 * (2 * 3) * 120 * 2);
}

TEST(Work, OfDecodingCountsTheTokensOfAllSequences) {
  auto const decoding = [](char const* keys) {
    return described(fmt::format(
        "workload = \"paged_decode\"\ntype = \"f16\"\nsize = \"(100,8,2,256,64)\"\n{}\n", keys));
  };
  double const of_queries = 100 * 8, of_sequences = 100;
  auto const bytes = [&](double tokens) {
    return 3 * (2.0 * 2 * 64 * (tokens * 2 + of_queries) + 4 * (tokens / 16 + of_sequences));
  };
  EXPECT_EQ(decoding("lengths = \"equal\"").amount, bytes(25600));
  // Means of 128, and of 255 / log(256) tokens.
  EXPECT_NEAR(decoding("").amount, bytes(12800), bytes(2000));
  EXPECT_NEAR(decoding("lengths = \"long_tail\"").amount, bytes(4600), bytes(1500));
}

TEST(Work, OfACacheCountsKeysAndValuesThatMove) {
  auto const moved = [](char const* keys) {
    return described(
               fmt::format("workload = \"kv_cache\"\ntype = \"f16\"\nsize = \"(100,7,2,64)\"\n{}\n",
                           keys))
        .amount;
  };
  // Read and written, with a slot for each token, and two places for each block; seven tokens that begin
  // anywhere in a block of 16 take two.
  EXPECT_EQ(moved("operation = \"write\""), 3 * (4.0 * 700 * 2 * 64 * 2 + 4.0 * 700));
  EXPECT_EQ(moved("operation = \"copy\""), 3 * (4.0 * 200 * 16 * 2 * 64 * 2 + 8.0 * 200));
}

TEST(Work, OfRowsCountsTensors) {
  auto const moved = [](char const* keys) {
    return described(fmt::format(
                         "workload = \"rowwise\"\ntype = \"f16\"\nsize = \"(100,64)\"\n{}\n", keys))
        .amount;
  };
  EXPECT_EQ(moved("operation = \"gelu\""), 3 * (2.0 * 2 * 100 * 64));
  EXPECT_EQ(moved("operation = \"rms_norm\"\nresidual = true"), 3 * (2.0 * (4 * 100 * 64 + 64)));
}

TEST(Work, OfADecoderCountsItsLayers) {
  auto const described_as = [](char const* keys) {
    return described(
        fmt::format("workload = \"decoder\"\ntype = \"f16\"\nlayers = 3\n"
                    "size = \"(5,48,256,4,2,600)\"\n{}\n",
                    keys));
  };
  // Weights of a layer: q, k and v, the product behind attention, gates and factors, and down.
  double const weights = 256.0 * 512 + 256 * 256 + 3.0 * 256 * 600;
  measure::Description const decode = described_as("phase = \"decode\"");
  EXPECT_EQ(decode.amount, 3 * 5);
  EXPECT_EQ(decode.flop, 3 * 3 * (2 * 5 * weights + 4.0 * 5 * 48 * 256));
  measure::Description const prefill = described_as("phase = \"prefill\"");
  EXPECT_EQ(prefill.amount, 3 * 5 * 48);
  EXPECT_EQ(prefill.flop, 3 * 3 * (2 * 5 * 48 * weights + 4.0 * 5 * (48 * 49 / 2) * 256));
}

}  // namespace
}  // namespace quadrille::workloads

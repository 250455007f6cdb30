// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "core/units.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace quadrille::core {
namespace {

TEST(Units, CountsRead) {
  EXPECT_EQ(*parse_count("0"), 0);
  EXPECT_EQ(*parse_count("4096"), 4096);
  EXPECT_EQ(*parse_count("8Ki"), 8192);
  EXPECT_EQ(*parse_count("2Gi"), 2LL << 30);
  EXPECT_EQ(*parse_count("1Ti"), 1LL << 40);
  EXPECT_EQ(*parse_count("64k"), 64000);
  EXPECT_EQ(*parse_count("3M"), 3000000);
  EXPECT_EQ(*parse_count("1T"), 1000000000000);
  EXPECT_EQ(*parse_count("1e6"), 1000000);
  EXPECT_EQ(*parse_count("1e+6"), 1000000);
  EXPECT_EQ(*parse_count("1.5Ki"), 1536);
  EXPECT_EQ(*parse_count("1.001k"), 1001);
  EXPECT_EQ(*parse_count("2500e-2"), 25);
  EXPECT_EQ(*parse_count("4611686018427387904"), 1LL << 62);
  EXPECT_EQ(*parse_count("4194304Ti"), 1LL << 62);
}

TEST(Units, CountsThatAreNone) {
  struct Row {
    char const* text;
    char const* why;
  };
  for (Row const& row : {Row{"8K", "'8K': use Ki (1024) or k (1000)"},
                         {"-1", "negative"},
                         {"2.5", "not a whole number"},
                         {"0.3Ki", "not a whole number"},
                         {"1e-3", "not a whole number"},
                         {"4611686018427387905", "beyond 2^62"},
                         {"4194305Ti", "beyond 2^62"},
                         {"1e30", "beyond 2^62"},
                         {"99999999999999999999", "more than 19 digits"},
                         {"", "not a count"},
                         {"Ki", "not a count"},
                         {"1e", "not a count"},
                         {"1e+-2", "not a count"},
                         {"1.", "not a count"},
                         {"+5", "not a count"},
                         {" 5", "not a count"},
                         {"0x10", "unknown unit 'x10'"},
                         {"5 ", "unknown unit"},
                         {"5 Ki", "unknown unit"},
                         {"5Kib", "unknown unit"},
                         {"5B", "unknown unit"},
                         {"5m", "unknown unit"}}) {
    auto const count = parse_count(row.text);
    ASSERT_FALSE(count) << row.text;
    EXPECT_NE(count.why().find(row.why), std::string::npos) << count.why();
    EXPECT_FALSE(count.why().ends_with('.'));
  }
}

TEST(Units, BytesMayEndInB) {
  EXPECT_EQ(*parse_bytes("256MiB"), 256LL << 20);
  EXPECT_EQ(*parse_bytes("256Mi"), 256LL << 20);
  EXPECT_EQ(*parse_bytes("64kB"), 64000);
  EXPECT_EQ(*parse_bytes("12B"), 12);
  EXPECT_FALSE(parse_bytes("B"));
  EXPECT_FALSE(parse_bytes("8KB"));
  EXPECT_FALSE(parse_bytes("8BB"));
}

TEST(Units, SecondsRead) {
  EXPECT_EQ(*parse_seconds("120s"), 120);
  EXPECT_EQ(*parse_seconds("100ms"), 0.1);
  EXPECT_EQ(*parse_seconds("3 us"), 3e-6);
  EXPECT_EQ(*parse_seconds("7ns"), 7e-9);
  EXPECT_EQ(*parse_seconds("2min"), 120);
  EXPECT_EQ(*parse_seconds("1.5h"), 5400);
  EXPECT_EQ(*parse_seconds("0.5"), 0.5);
  EXPECT_EQ(*parse_seconds("1e-3s"), 1e-3);
  for (char const* const text :
       {"", "s", "-1s", "5 m", "5s ", "5 ", "5ss", "nan", "inf", "1e999s", "soon"}) {
    EXPECT_FALSE(parse_seconds(text)) << text;
  }
}

TEST(Units, RatesRead) {
  EXPECT_EQ(*parse_rate("500 MB/s"), 500e6);
  EXPECT_EQ(*parse_rate("1.5 GB/s"), 1.5e9);
  EXPECT_EQ(*parse_rate("200MiB/s"), 200.0 * (1 << 20));
  EXPECT_EQ(*parse_rate("1e9 B/s"), 1e9);
  for (char const* const text : {"", "none", "500", "500 MB", "0 MB/s", "-1 MB/s", "MB/s",
                                 "1 MB/s ", "1 mB/s", "nan B/s", "1e305 GB/s"}) {
    EXPECT_FALSE(parse_rate(text)) << text;
  }
  EXPECT_EQ(parse_rate("1 KB/s").why(), "'1 KB/s': use Ki (1024) or k (1000)");
}

TEST(Units, CountsPrintShortAndReadBack) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(4096), "4Ki");
  EXPECT_EQ(format_count(4097), "4097");
  EXPECT_EQ(format_count(1000000), "1M");
  EXPECT_EQ(format_count(1000000000000), "1T");
  EXPECT_EQ(format_count(1LL << 62), "4194304Ti");
  for (std::int64_t n = 1; n < (1LL << 61); n = n * 3 + n % 7) {
    for (std::int64_t const count : {n, n / 1024 * 1024, n / 1000 * 1000}) {
      EXPECT_EQ(*parse_count(format_count(count)), count);
    }
  }
}

TEST(Units, BytesPrint) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(512), "512 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1024), "1.00 KiB");
  EXPECT_EQ(format_bytes(1.5 * (1 << 30)), "1.50 GiB");
  EXPECT_EQ(format_bytes(1024.0 * 1024 - 1), "1.00 MiB");
  EXPECT_EQ(format_bytes(150.0 * 1024), "150 KiB");
}

TEST(Units, SecondsPrint) {
  EXPECT_EQ(format_seconds(0), "0 s");
  EXPECT_EQ(format_seconds(12.34e-6), "12.3 us");
  EXPECT_EQ(format_seconds(999.9e-6), "1.00 ms");
  EXPECT_EQ(format_seconds(0.25), "250 ms");
  EXPECT_EQ(format_seconds(1.5), "1.50 s");
  EXPECT_EQ(format_seconds(1234), "1234 s");
  EXPECT_EQ(format_seconds(3e-10), "0.300 ns");
}

TEST(Units, PublishedFiguresAreRatesOrTimes) {
  EXPECT_EQ(*parse_figure("309 GFLOP/s", 1), 309e9);
  EXPECT_EQ(*parse_figure("1.5 TB/s", 1), 1.5e12);
  EXPECT_EQ(*parse_figure("3 Geval/s", 1), 3e9);
  EXPECT_DOUBLE_EQ(*parse_figure("8 ms", 4e9), 5e11);
  EXPECT_FALSE(parse_figure("fast", 1));
  EXPECT_FALSE(parse_figure("0 s", 1));
  EXPECT_FALSE(parse_figure("-3 GFLOP/s", 1));
}

TEST(Units, NumbersStandAlone) {
  EXPECT_EQ(*parse_real("1048576"), 1048576);
  EXPECT_EQ(*parse_real("-2.5e3"), -2500);
  for (char const* text : {"", "4 sectors", "4x", "x", "nan"})
    EXPECT_FALSE(parse_real(text)) << text;
}

TEST(Units, RatesPrint) {
  EXPECT_EQ(format_rate(34.1e9, "FLOP/s"), "34.1 GFLOP/s");
  EXPECT_EQ(format_rate(0, "B/s"), "0 B/s");
  EXPECT_EQ(format_rate(9.999e12, "B/s"), "10.0 TB/s");
  EXPECT_EQ(format_rate(99.96e6, "B/s"), "100 MB/s");
  EXPECT_EQ(format_rate(999.6, "eval/s"), "1.00 keval/s");
  EXPECT_EQ(format_rate(std::numeric_limits<double>::quiet_NaN(), "B/s"), "nan B/s");
  EXPECT_EQ(format_rate(std::numeric_limits<double>::infinity(), "B/s"), "inf B/s");
}

}  // namespace
}  // namespace quadrille::core

// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "io/result_file.hpp"
#include "support/fuzz.hpp"
#include "support/sample_result.hpp"
#include "support/temporary_folder.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace quadrille::io {
namespace {

namespace fs = std::filesystem;

class ResultFuzz : public testing::Test {
 protected:
  /// It is read, and then written and read again; or one line says why not.
  void expect_contract(std::string const& bytes, std::uint64_t number) {
    fs::path const path = folder_ / "result";
    std::ofstream{path, std::ios::binary} << bytes;
    auto const result = read_result(path.string());
    if (!result) {
      EXPECT_TRUE(test::is_one_clear_line(result.why()))
          << "input " << number << ": " << result.why();
      return;
    }
    if (result->records.empty()) return;
    std::ofstream{path, std::ios::binary} << test::all_of(*result);
    auto const again = read_result(path.string());
    ASSERT_TRUE(again) << "input " << number << ": " << again.why();
    EXPECT_EQ(again->records.size(), result->records.size()) << "input " << number;
  }

  test::TemporaryFolder const temporary_;
  fs::path const folder_ = temporary_.path();
};

std::string bytes_of(fs::path const& path) {
  std::ostringstream bytes;
  bytes << std::ifstream{path, std::ios::binary}.rdbuf();
  return bytes.str();
}

TEST_F(ResultFuzz, Journals) {
  test::Mutator mutator{{test::all_of(test::sample_result()) + "\n"},
                        {"{",
                         "}",
                         "[",
                         "]",
                         "\"",
                         ":",
                         ",",
                         "null",
                         "true",
                         "-1",
                         "1e999",
                         "\n",
                         "18446744073709551616",
                         "\"inf\"",
                         "\\u0000",
                         "\xff",
                         "\"ranks\":2147483647,",
                         "\"ranks\":[],",
                         "\"id\":\"\",",
                         "\"seconds\":[1],",
                         "[[[[[[[[",
                         "{\"a\":",
                         "\"schema_version\":2,",
                         "\"sizes\":[\"1\"],"},
                        1};
  auto const tried =
      test::fuzz(1, [&](std::uint64_t number) { expect_contract(mutator.input(number), number); });
  RecordProperty("inputs", static_cast<int>(tried));
}

// Also those whose seal was made to fit, or that have none.
TEST_F(ResultFuzz, Hdf5Files) {
  EXPECT_EQ(write_result((folder_ / "result.h5").string(), test::sample_result()), "");
  std::string const sealed = bytes_of(folder_ / "result.h5");
  // Behind HDF5's own bytes: a mark of 8 and a digest of 16.
  std::string const bare = sealed.substr(0, sealed.size() - 24);
  std::mt19937_64 random{7};
  auto const tried = test::fuzz(1, [&](std::uint64_t number) {
    random.seed(number);
    std::string bytes = number % 4 == 0 ? sealed : bare;
    for (std::uint64_t n = 1 + random() % 12; n > 0; --n) {
      std::size_t const at = random() % bytes.size();
      // Sizes and addresses are where the bytes are few and small.
      bytes[at] = static_cast<char>(random() % 3 == 0 ? 0xff : random());
    }
    if (number % 16 == 1) bytes.resize(random() % bytes.size());
    expect_contract(bytes, number);
  });
  RecordProperty("inputs", static_cast<int>(tried));
}

// What chance finds too rarely.
TEST_F(ResultFuzz, LargeAndDeepJournals) {
  auto const repeated = [](std::string const& piece, std::size_t n) {
    std::string text;
    while (n-- > 0) text += piece;
    return text;
  };
  std::string members;
  for (int i = 0; i < 200'000; ++i) members += fmt::format("\"k{}\":1,", i);
  std::string const run = to_json_line(test::sample_result().info) + "\n";
  std::vector<std::string> const texts{
      run + repeated("[", 5'000'000),
      run + repeated("{\"a\":", 1'000'000),
      run + "{" + repeated("\"a\":[", 500'000) + repeated("]", 500'000) + "}",
      run + "{" + members + "\"id\":\"x\"}\n",
      "{" + members + "\"schema\":\"quadrille-result\"}\n",
      "{" + repeated("x", 50'000'000)};
  for (std::size_t i = 0; i < texts.size(); ++i) {
    test::fuzz_one(i, [&] { expect_contract(texts[i], i); });
  }
}

}  // namespace
}  // namespace quadrille::io

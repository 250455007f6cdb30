// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "io/whole_file.hpp"

#include "support/expect_fails.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace quadrille::io {
namespace {

namespace fs = std::filesystem;

class WholeFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "whole_file_XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path() const { return (folder_ / "file").string(); }
  std::string content() const {
    std::ifstream file{path()};
    return {std::istreambuf_iterator<char>{file}, {}};
  }

  fs::path folder_;
};

TEST_F(WholeFile, NeverReplacesUnlessAsked) {
  write_whole_file(path(), "first");
  EXPECT_EQ(content(), "first");
  EXPECT_FAILS((write_whole_file(path(), "second"), 0), "cannot be given its name");
  EXPECT_EQ(content(), "first");
}

TEST_F(WholeFile, ReplacesAndLeavesNothingBeside) {
  for (char const* const bytes : {"first", "second"}) {
    replace_whole_file(path(), bytes);
    EXPECT_EQ(content(), bytes);
  }
  EXPECT_EQ(std::distance(fs::directory_iterator{folder_}, {}), 1);
}

}  // namespace
}  // namespace quadrille::io

// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "io/whole_file.hpp"

#include "support/expect_fails.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>

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

TEST_F(WholeFile, WhatCannotBeWrittenIsToldBefore) {
  auto const why = [](std::string const& path, std::optional<std::string_view> begin) {
    return unwritable_reason(path, begin);
  };
  EXPECT_EQ(why(path(), std::nullopt), "");
  EXPECT_NE(why(folder_.string(), "").find("is a directory; name a file"), std::string::npos);
  EXPECT_NE(why((folder_ / "absent" / "file").string(), "").find("no file can be written to"),
            std::string::npos);
  write_whole_file(path(), "<xml> and more");
  EXPECT_EQ(why(path(), "<xml>"), "");
  EXPECT_EQ(why(path(), ""), "");
  EXPECT_NE(why(path(), std::nullopt).find("exists already; name"), std::string::npos);
  EXPECT_NE(why(path(), "<html>").find("exists already and is something else"), std::string::npos);
  EXPECT_NE(why(path(), std::string(100, 'x')).find("something else"), std::string::npos);
}

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

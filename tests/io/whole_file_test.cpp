// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "io/whole_file.hpp"

#include "support/temporary_folder.hpp"

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
  std::string path() const { return (folder_ / "file").string(); }
  std::string content() const {
    std::ifstream file{path()};
    return {std::istreambuf_iterator<char>{file}, {}};
  }

  test::TemporaryFolder const temporary_;
  fs::path const folder_ = temporary_.path();
};

TEST_F(WholeFile, RefusesBeforeWhatItCannotReplace) {
  auto const is_refused = [](fs::path const& path, std::optional<std::string_view> begin) {
    return !unwritable_reason(path.string(), begin).empty();
  };
  EXPECT_FALSE(is_refused(path(), std::nullopt));
  EXPECT_TRUE(is_refused(folder_, ""));
  EXPECT_TRUE(is_refused(folder_ / "absent" / "file", ""));
  ASSERT_EQ(write_whole_file(path(), ""), "");
  EXPECT_FALSE(is_refused(path(), std::nullopt)) << "nothing is lost";
  ASSERT_EQ(replace_whole_file(path(), "<xml> and more"), "");
  EXPECT_FALSE(is_refused(path(), "<xml>"));
  EXPECT_FALSE(is_refused(path(), ""));
  EXPECT_TRUE(is_refused(path(), std::nullopt));
  EXPECT_TRUE(is_refused(path(), "<html>"));
  EXPECT_TRUE(is_refused(path(), std::string(100, 'x')));
}

TEST_F(WholeFile, NeverReplacesUnlessAsked) {
  EXPECT_EQ(write_whole_file(path(), "first"), "");
  EXPECT_NE(write_whole_file(path(), "second").find("cannot be given its name"), std::string::npos);
  EXPECT_EQ(content(), "first");
}

TEST_F(WholeFile, ReplacesAndLeavesNothingBeside) {
  for (char const* const bytes : {"first", "second"}) {
    EXPECT_EQ(replace_whole_file(path(), bytes), "");
    EXPECT_EQ(content(), bytes);
  }
  EXPECT_EQ(std::distance(fs::directory_iterator{folder_}, {}), 1);
}

TEST_F(WholeFile, FollowsLinksAndKeepsPermissions) {
  ASSERT_EQ(write_whole_file(path(), "first"), "");
  fs::permissions(path(), fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("file", folder_ / "link");
  fs::create_symlink(folder_ / "link", folder_ / "second_link");

  EXPECT_EQ(replace_whole_file((folder_ / "second_link").string(), "second"), "");
  EXPECT_EQ(content(), "second");
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(fs::status(path()).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(WholeFile, MakesFilesForWhomTheUserAllows) {
  mode_t const before = umask(027);
  ASSERT_EQ(write_whole_file(path(), "first"), "");
  umask(before);
  using fs::perms;
  EXPECT_EQ(fs::status(path()).permissions(),
            perms::owner_read | perms::owner_write | perms::group_read);
}

TEST_F(WholeFile, KnowsStandardOutputByEachOfItsNames) {
  EXPECT_TRUE(is_standard_output("-"));
  EXPECT_TRUE(is_standard_output("/dev/stdout"));
  EXPECT_FALSE(is_standard_output(path())) << "nothing is there";
  ASSERT_EQ(write_whole_file(path(), ""), "");
  EXPECT_FALSE(is_standard_output(path()));
}

TEST_F(WholeFile, KnowsWhereTwoNamesLeadToOnePlace) {
  fs::create_symlink("file", folder_ / "link");
  std::string const link = (folder_ / "link").string(), other = (folder_ / "other").string();
  EXPECT_TRUE(name_same_place(path(), link)) << "where nothing is yet";
  ASSERT_EQ(write_whole_file(path(), ""), "");
  EXPECT_TRUE(name_same_place(path(), link));
  EXPECT_FALSE(name_same_place(path(), other));
  EXPECT_FALSE(name_same_place("/dev/full", "/dev/full")) << "it has room for both";
  EXPECT_TRUE(name_same_place("-", "-"));
}

}  // namespace
}  // namespace quadrille::io

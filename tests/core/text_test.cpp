// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "core/text.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace quadrille::core {
namespace {

TEST(OneLine, ShowsWhatATerminalWouldObey) {
  EXPECT_EQ(one_line("plain, \xc3\xbc"), "plain, \xc3\xbc");
  EXPECT_EQ(one_line("a\nb\x1b[2J\x7f"), "a\\x0ab\\x1b[2J\\x7f");
  EXPECT_EQ(printable("a\nb\x1b"), "a\nb\\x1b");
}

TEST(OneLine, KeepsBothEndsOfALongText) {
  for (std::string const& middle : {std::string(100'000, 'x'), std::string(1'400, '\n')}) {
    std::string const line = one_line("begin " + middle + " end");
    EXPECT_LT(line.size(), 1600U);
    EXPECT_TRUE(line.starts_with("begin ") && line.ends_with(" end")) << line;
  }
}

TEST(IsUtf8, TakesWholeCharactersAlone) {
  for (char const* const good : {"", "a", "\xc3\xbc", "\xe2\x82\xac", "\xf0\x9f\x98\x80"}) {
    EXPECT_TRUE(is_utf8(good)) << good;
  }
  for (char const* const bad : {"\xff", "\x80", "\xc3", "\xc3(", "\xc0\xaf", "\xe0\x80\x80",
                                "\xed\xa0\x80", "\xf4\x90\x80\x80", "a\xe2\x82"}) {
    EXPECT_FALSE(is_utf8(bad)) << one_line(bad);
  }
}

TEST(OneLine, ShowsWhatIsNoTextAndWhatReordersIt) {
  for (auto const& [text, shown] : std::vector<std::pair<std::string, std::string>>{
           {"plain \xc2\xb5s", "plain \xc2\xb5s"},
           {"a\x1b]0;b\x07", "a\\x1b]0;b\\x07"},
           {"\xc2\x9b[2J", "\\xc2\\x9b[2J"},  // a control character of one byte in Latin 1
           {"\xc2\x80|\xc2\x9f|\xc2\xa0", "\\xc2\\x80|\\xc2\\x9f|\xc2\xa0"},
           {"\xe2\x80\xae"
            "txt.exe",
            "\\xe2\\x80\\xae"
            "txt.exe"},  // right to left
           {"\xe2\x81\xa6|\xd8\x9c", "\\xe2\\x81\\xa6|\\xd8\\x9c"},
           {"\xe2\x80\xa8", "\\xe2\\x80\\xa8"},  // a line end
           {"\xef\xbf\xbe|\xef\xbf\xbf", "\\xef\\xbf\\xbe|\\xef\\xbf\\xbf"},
           {"\xb5 \xc2\xb5\xff", "\\xb5 \xc2\xb5\\xff"}}) {
    EXPECT_EQ(one_line(text), shown);
    EXPECT_EQ(printable(text + '\n'), shown + '\n');
  }
}

}  // namespace
}  // namespace quadrille::core

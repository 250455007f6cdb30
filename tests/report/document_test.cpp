// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/document.hpp"

#include <gtest/gtest.h>

#include <string>

namespace quadrille::report {
namespace {

Document example() {
  Table table{.title = "rates"};
  table.add_column({"case", 6, Align::left});
  table.add_column({"rate", 0, Align::right});
  table.add_column({"note", 0, Align::left});
  table.columns[2].keep = 1;
  table.add_row({"a|b", "12 GB/s", "of the first"});
  table.add_row({"c", "-", "-"});
  Document document;
  document.add_text("two cases");
  document.add_gap();
  document.add_table(table);
  document.add_gap();
  document.add_labelled("[1]", 4, "a note of some words", Tone::plain);
  return document;
}

TEST(Document, IsTextOfAnyWidth) {
  EXPECT_EQ(write_text(example(), kUnlimited),
            "two cases\n\nrates\ncase       rate  note\na|b     12 GB/s  of the first\n"
            "c             -  -\n\n[1] a note of some words\n");
  EXPECT_EQ(write_text(example(), {.width = 20}),
            "two cases\n\nrates\ncase     rate\na|b   12 GB/s\nc           -\n\n"
            "[1] a note of some\n    words\n")
      << "without what is least wanted";
}

TEST(Document, IsMarkdownWithAllColumns) {
  EXPECT_EQ(write_markdown(example()),
            "two cases\n\n**rates**\n\n| case | rate | note |\n| --- | ---: | --- |\n"
            "| a\\|b | 12 GB/s | of the first |\n| c | - | - |\n\n- [1] a note of some words\n");
}

TEST(Document, CutsATableThatRepeatsItsFirstColumns) {
  Table table{.repeated = 1, .is_cut = true};
  for (std::string_view const head : {"case", "first", "second"}) table.add_column({head});
  table.add_row({"a", "1", "2"});
  Document document;
  document.add_table(table);

  EXPECT_EQ(write_text(document, {.width = 12}),
            "case  first\n   a      1\n\ncase  second\n   a       2\n");
  EXPECT_EQ(write_text(document, {.width = 80}), "case  first  second\n   a      1       2\n");
}

TEST(Document, GivesAColumnOfWordsSeveralLinesBeforeOthersGo) {
  Table table;
  table.columns = {{"name", Align::left, TableColumn::kAlways, {"a_name_of_one", "a_name_of_two"}},
                   {"rate", Align::right, 1, {"12 GB/s", "9 GB/s"}},
                   {"flags", Align::left, TableColumn::kAlways, {"SUSPECT[1][2] best[3]", ""}}};
  table.columns.back().wraps = true;

  EXPECT_EQ(write_text(table, {.width = 37}),
            "name              rate  flags\na_name_of_one  12 GB/s  SUSPECT[1][2]\n"
            "                        best[3]\na_name_of_two   9 GB/s\n");
  EXPECT_EQ(write_text(table, {.width = 30}),
            "name           flags\na_name_of_one  SUSPECT[1][2]\n               best[3]\n"
            "a_name_of_two\n");
}

TEST(Document, SaysOnceThatTablesAreTooWide) {
  Table table{.title = "wide", .max_excess = 2};
  for (std::string_view const head : {"first", "second"}) table.add_column({head});
  table.add_row({"1", "2"});
  Document document;
  document.add_table(table);
  document.add_table(table);

  std::string const narrow = write_text(document, {.width = 10});
  EXPECT_EQ(narrow.find("too wide"), narrow.rfind("too wide")) << narrow;
  EXPECT_EQ(narrow.find("first"), std::string::npos) << narrow;
  EXPECT_NE(write_text(document, {.width = 11}).find("first"), std::string::npos);
}

TEST(Document, WrapsTheLastTextBesideTheOthersOrBelowThem) {
  Table table = text_table({"name", "summary"});
  table.add_row({"first", "words that take more than one line of this page"});
  table.add_row({"second", "a_word_that_is_wider_than_the_page_stays_whole"});

  EXPECT_EQ(write_text(table, {.width = 40}),
            "name    summary\nfirst   words that take more than one\n        line of this page\n"
            "second  a_word_that_is_wider_than_the_page_stays_whole\n");
  EXPECT_EQ(write_text(table, {.width = 30}),
            "name\n      summary\nfirst\n      words that take more\n      than one line of this\n"
            "      page\nsecond\n      a_word_that_is_wider_than_the_page_stays_whole\n");

  Table plain = text_table({"", ""});
  plain.add_row({"a", "b"});
  EXPECT_EQ(write_text(plain, {.width = 40}), "a  b\n") << "no line of empty heads";
}

TEST(Document, SetsATextBelowALabelThatLeavesNoRoom) {
  Document document;
  document.add_labelled("    a wide label", 4, "its text", Tone::plain);

  EXPECT_EQ(write_text(document, {.width = 26}), "    a wide label  its text\n");
  EXPECT_EQ(write_text(document, {.width = 25}), "    a wide label\n    its text\n");
}

}  // namespace
}  // namespace quadrille::report

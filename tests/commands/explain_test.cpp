// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "commands/explain.hpp"

#include "comm/transport.hpp"
#include "commands/help.hpp"
#include "core/former_names.hpp"
#include "measure/fault.hpp"
#include "report/assessment.hpp"
#include "report/compare.hpp"
#include "report/glossary.hpp"
#include "report/screen.hpp"
#include "support/cluster_result.hpp"
#include "support/sample_result.hpp"
#include "workloads/registry.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

namespace quadrille::commands {
namespace {

void expect_explained(std::string_view name, std::string_view content) {
  std::string const text = explanation_of(name);
  EXPECT_NE(text.find(content), text.npos) << name << " is explained as: " << text;
  EXPECT_GE(text.size(), name.size() + 10) << name << " is explained as: " << text;
}

void expect_term(std::string_view kind, std::string_view word) {
  ASSERT_FALSE(report::meaning_of(kind, word).empty()) << word;
  expect_explained(word, report::meaning_of(kind, word));
}

TEST(Explain, KnowsEveryNumberAndColumn) {
  for (report::ExplainedMetric const& metric : report::metrics())
    expect_explained(metric.name, metric.meaning);
  for (report::Column const& column : report::columns()) {
    EXPECT_FALSE(report::meaning_of(column).empty()) << column.key << " has no meaning";
    expect_explained(column.key, report::meaning_of(column));
    if (!column.heading.text.empty())
      expect_explained(column.heading.text, report::meaning_of(column));
  }
}

TEST(Explain, KnowsEveryVerdictAndFlag) {
  for (auto const& [value, word] : enum_names(measure::Outcome{})) {
    expect_term("verdict", word);
  }
  for (auto const& [value, word] : enum_names(report::Change{})) {
    expect_term("comparison", word);
  }
  expect_explained("SUSPECT", "95 % interval of the median");
  expect_explained("modelled link", "throttle");
}

/// The heads of all tables of a report on a wide terminal, which two blanks or more keep apart.
std::set<std::string> heads_on_screen(measure::RunResult const& result) {
  std::set<std::string> heads;
  std::istringstream text{report::render_screen(result, {.width = 240})};
  for (std::string line; std::getline(text, line);) {
    bool const is_head = line.starts_with("case ") || line.starts_with("variant ");
    for (std::size_t first = 0; is_head && first != line.npos;) {
      std::size_t const end = line.find("  ", first);
      heads.insert(line.substr(first, end - first));
      first = line.find_first_not_of(' ', end);
    }
  }
  return heads;
}

/// What stands behind each `opening` of a script up to the next quote, or in the quotes behind that.
std::set<std::string> texts_behind(std::string const& script, std::string_view opening,
                                   bool is_second = false) {
  std::set<std::string> texts;
  for (std::size_t at = script.find(opening); at != script.npos; at = script.find(opening, at)) {
    at += opening.size();
    if (is_second) at = script.find('"', script.find('"', at) + 1) + 1;
    texts.insert(script.substr(at, script.find('"', at) - at));
  }
  return texts;
}

TEST(Explain, KnowsEveryHeadingAnswerAndLimitOfReportAndPage) {
  std::set<std::string> words{"ladder", "predict"};
  for (auto const& [answer, word] : enum_names(report::Answer{})) words.emplace(word);
  for (auto const& [limit, word] : enum_names(report::Limit{})) words.emplace(word);
  for (auto const& [role, word] : enum_names(kernels::Role{})) words.emplace(word);
  words.merge(heads_on_screen(test::sample_result()));
  words.merge(heads_on_screen(test::cluster_result(4, 40)));
  std::size_t const of_screen = words.size();
  for (std::string const script : {"sections.js", "comparison.js"}) {
    std::ifstream file{QUADRILLE_SOURCE "/src/report/page/" + script};
    std::string const page{std::istreambuf_iterator<char>{file}, {}};
    words.merge(texts_behind(page, "column(\""));
    words.merge(texts_behind(page, "section(\"", true));
    words.merge(texts_behind(page, "\"h3\", {}, \""));
  }
  EXPECT_GT(of_screen, 30U);
  EXPECT_GT(words.size(), of_screen + 25);

  words.erase("-");  // of an unknown limit
  for (measure::SecondaryMetric const& made_up : test::sample_record().extras)
    words.erase(made_up.name);

  for (std::string const& word : words) EXPECT_FALSE(explanation_of(word).empty()) << word;
}

TEST(Explain, KnowsEveryFurtherRate) {
  std::set<std::string> names{"TTFT p50", "used 3/10", "write, raw", "bank conflicts, loads"};
  for (measure::WorkloadEntry const* entry : workloads::workloads()) {
    core::Case spec;
    spec.workload = &entry->schema;
    spec.parameters = entry->schema.defaults;
    spec.size.value.fill(1);
    spec.size.count = static_cast<int>(entry->schema.extents.size());
    for (measure::SecondaryMetric const& extra : entry->make(spec, 2, 0)->describe({}).extras) {
      names.insert(extra.name);
    }
  }
  EXPECT_GT(names.size(), 10U);
  for (std::string const& name : names) EXPECT_FALSE(explanation_of(name).empty()) << name;
  EXPECT_TRUE(explanation_of("TTFTp50").empty());
  EXPECT_TRUE(explanation_of("medians").empty());
}

TEST(Explain, KnowsEveryKey) {
  for (core::Option const& option : core::common_options()) {
    expect_explained(option.key, option.help);
    expect_explained("run." + std::string{option.key}, option.help);
  }
  for (measure::WorkloadEntry const* entry : workloads::workloads()) {
    for (core::Option const& option : entry->schema.options) {
      expect_explained(option.key, option.help);
      expect_explained(option.key, entry->schema.name);
    }
  }
}

TEST(Explain, FormerNamesAreNobodysAndSayWhatIsCalledSoNow) {
  for (core::FormerName const& name : core::former_names()) {
    bool const is_key = name.kind == core::FormerName::Kind::key;
    bool is_there = false;
    for (measure::WorkloadEntry const* entry : workloads::workloads()) {
      core::WorkloadSchema const& schema = entry->schema;
      bool const is_own = name.workload == schema.name || (!is_key && name.workload.empty());
      auto const has = [&](std::string_view what) {
        return is_key ? std::ranges::count(schema.options, what, &core::Option::key) > 0
                      : std::ranges::count(schema.variants, what) > 0;
      };
      is_there = is_there || (is_own && has(name.present));
      EXPECT_FALSE(is_own && has(name.former)) << name.former << " of " << schema.name;
    }
    for (core::Option const& option : core::common_options()) {
      is_there = is_there || (is_key && name.workload.empty() && option.key == name.present);
      EXPECT_FALSE(is_key && option.key == name.former) << name.former;
    }
    EXPECT_TRUE(is_there) << name.present;
    expect_explained(name.former, core::note_of(name));
    std::string const present = explanation_of(name.present), text = explanation_of(name.former);
    std::size_t const found = text.find(present);
    ASSERT_NE(found, text.npos) << name.former << " is explained as: " << text;
    EXPECT_EQ(text.find(present, found + 1), text.npos) << name.former << ", twice: " << text;
  }
}

TEST(Explain, KnowsEveryWorkloadTransportFaultAndSubject) {
  for (measure::WorkloadEntry const* entry : workloads::workloads())
    expect_explained(entry->schema.name, entry->summary);
  for (comm::TransportEntry const* entry : comm::transports())
    expect_explained(entry->name, entry->summary);
  for (auto const& [fault, word] : enum_names(measure::Fault{})) {
    if (fault != measure::Fault::none) expect_explained(word, measure::summary_of(fault));
  }
  for (report::Term const* subject : report::terms_of("subject")) {
    EXPECT_FALSE(subject->note.empty()) << subject->name;
    expect_explained(subject->name, subject->meaning);
  }
}

TEST(Explain, ShowsTheHeaderBlockOfEveryKernel) {
  std::set<kernels::VariantInfo const*> seen;
  for (measure::WorkloadEntry const* entry : workloads::workloads()) {
    for (kernels::VariantInfo const* row : entry->variants) {
      expect_explained(row->name, row->summary);
      expect_explained(row->name, "\n  needs     " + kernels::to_text(row->needs) +
                                      "\n  source    " + std::string{row->source} + "\n");
      if (!seen.insert(row).second) continue;
      std::string_view const block = header_block_of(*row);
      // What the device runs comes from a file of its own; a workload arranges the rest.
      bool const is_arranged =
          row->where == kernels::Where::any || row->role == kernels::Role::peer ||
          !std::filesystem::exists(std::string{QUADRILLE_SOURCE "/kernels/"} +
                                   std::string{entry->schema.name} + "/" +
                                   std::string{entry->schema.name} + "_ref.cpp");
      if (is_arranged && block.empty()) continue;
      for (char const* field : {"\nTechnique ", "\nWork ", "\nLaunch ", "\nAccuracy "}) {
        EXPECT_NE(block.find(field), block.npos)
            << row->name << " of " << entry->schema.name << field << block;
      }
      expect_explained(row->name, block);
    }
  }
}

TEST(Explain, TellsALibrarysRowsOfHostAndGpuApart) {
  for (measure::WorkloadEntry const* entry : workloads::workloads()) {
    if (entry->schema.name != "gemm") continue;
    for (kernels::VariantInfo const* row : entry->variants) {
      if (row->role != kernels::Role::vendor) continue;
      std::string_view const library =
          row->where == kernels::Where::cuda ? "cuBLAS" : "cblas_dgemm";
      EXPECT_NE(header_block_of(*row).find(library), std::string_view::npos) << library;
    }
  }
}

TEST(Explain, SaysNothingOfAnUnknownWord) { EXPECT_TRUE(explanation_of("hydden").empty()); }

TEST(Explain, EveryWordThatItOffersIsExplained) {
  for (Topic const& topic : topics()) {
    EXPECT_FALSE(explanation_of(topic.name).empty()) << topic.kind << ' ' << topic.name;
  }
  EXPECT_FALSE(words_of("NAME").empty());
}

}  // namespace
}  // namespace quadrille::commands

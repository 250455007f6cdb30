// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace quadrille::commands {

/// The words that a value may be of which --help says this name, such as WORKLOAD: checks,
/// completion and manual take them from here. Empty where it may be anything, or a file.
std::vector<std::string> words_of(std::string_view value);

/// Why `word` is none of words_of(value), with the nearest that is; empty where it is one.
std::string word_problem(std::string const& word, std::string_view value);

/// What a command line that `app` did not take lacks, as one sentence: the word that nothing is called,
/// and the nearest that there is, else `what`.
std::string usage_problem(CLI::App const& app, std::string const& what);

/// Breaks lines of a --help that are longer than `width` at blanks, and goes on below their text.
std::string fitted_help(std::string_view text, std::size_t width);

/// Lets `option` take one of words_of(value).
CLI::Option* one_of(CLI::Option* option, std::string const& value);

/// Adds --set, which may be given more than once.
void add_sets(CLI::App& command, std::vector<std::string>& sets, std::string const& text);

/// Adds --only, names with commas between them.
CLI::Option* add_only(CLI::App& command, std::vector<std::string>& names, std::string const& text);

}  // namespace quadrille::commands

// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace quadrille::io {

/// Writes all of it, however little single calls take. False with errno where it cannot.
bool write_all(int file, std::string_view bytes);

/// Whether an option's path is "-", or a name of the place that standard output goes to.
bool is_standard_output(std::string const& path);

/// Whether two options name one place, so that the second would replace what the first has written.
bool name_same_place(std::string const& a, std::string const& b);

/// Why replace_whole_file() cannot write to `path`, as a sentence that says what to change; empty where
/// it can. Reads nothing but regular files: one that is there gives way only where it is empty or begins
/// with `begin`, as an earlier one of its kind does; with "" any does.
std::string unwritable_reason(std::string const& path, std::optional<std::string_view> begin);

/// Writes a file beside `path`, flushes it to the storage and gives it its name: it is there whole
/// or not at all. It never replaces a file. Empty, or why not.
[[nodiscard]] std::string write_whole_file(std::string const& path, std::string_view bytes);

/// Writes to the place that an option names. Links are followed; a file there gives way to a whole one
/// with its permissions. Standard output, devices and pipes are written to as they are, and stay. Empty,
/// or why not.
[[nodiscard]] std::string replace_whole_file(std::string const& path, std::string_view bytes);

/// Gives a finished temporary file its name. Empty, or why not: it never replaces a file.
[[nodiscard]] std::string publish(std::string const& temporary, std::string const& path);

}  // namespace quadrille::io

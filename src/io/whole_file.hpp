// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace quadrille::io {

/// Writes all of it, however little single calls take. False with errno where it cannot.
bool write_all(int file, std::string_view bytes);

/// Why no file can be written at `path`, as a sentence that says what to change; empty where one can.
/// A file that is there is replaced only where it begins with `begin`, as an earlier one of its kind
/// does: with "" any, with nothing none.
std::string unwritable_reason(std::string const& path, std::optional<std::string_view> begin);

/// Writes a file beside `path`, flushes it to the storage and gives it its name: it is there whole
/// or not at all. It never replaces a file. Ends the job with Exit::environment where it cannot be created, with Exit::runtime
/// where it cannot be written, as on a full disk.
void write_whole_file(std::string const& path, std::string_view bytes);

/// As write_whole_file(), for a file that grows from run to run: it takes the place of an older one.
void replace_whole_file(std::string const& path, std::string_view bytes);

/// Gives a finished temporary file its name. Empty, or why not: it never replaces a file.
std::string publish(std::string const& temporary, std::string const& path);

}  // namespace quadrille::io

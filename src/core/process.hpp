// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <source_location>
#include <string>
#include <string_view>
#include <utility>

namespace quadrille::core {

/// Called first of all. A standard stream that is closed is replaced, so that no file of ours gets its
/// number; a file at its size limit (ulimit -f) becomes an error of write(); exceptions that nobody
/// catches are reported. Ends with Exit::environment where the limit of memory (ulimit -v) is below what
/// libraries take.
void set_up_process();

/// Writes to standard output. Ends the job with Exit::runtime where that takes no more.
void write_output(std::string_view text);
/// Writes to standard error in one piece. Never fails: nobody would be left to read why.
void write_error(std::string_view text) noexcept;
/// Writes to standard output and flushes it: whether all of it was taken, errno says why not.
[[nodiscard]] bool show_output(std::string_view text) noexcept;
/// " (file.cpp:12)" in a build with assertions, for its developers; nothing in others.
std::string shown_place(std::source_location const& where);
/// Flushes standard output, as write_output() does.
void flush_output();
/// For std::set_terminate(): reports the exception that nobody caught, without unwinding.
[[noreturn]] void fail_on_exception();

template <class... T>
void print(fmt::format_string<T...> format, T&&... arguments) {
  write_output(fmt::format(format, std::forward<T>(arguments)...));
}
template <class... T>
void print_error(fmt::format_string<T...> format, T&&... arguments) {
  write_error(fmt::format(format, std::forward<T>(arguments)...));
}

}  // namespace quadrille::core

// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "core/files.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

namespace quadrille::core {

Parsed<std::string> read_file(std::string const& path, std::size_t max_bytes) {
  using Result = Parsed<std::string>;
  // Opened, a pipe may wait for ever.
  std::error_code error;
  auto const kind = std::filesystem::status(path, error).type();
  if (kind == std::filesystem::file_type::not_found) return Result::error("there is no such file");
  if (error) return Result::error(error.message());
  if (kind != std::filesystem::file_type::regular) return Result::error("it is no regular file");
  std::unique_ptr<std::FILE, decltype([](std::FILE* f) { std::fclose(f); })> const file{
      std::fopen(path.c_str(), "rbe")};
  if (file == nullptr) return Result::error(std::strerror(errno));
  std::string text;
  for (std::string part(1 << 16, '\0'); text.size() <= max_bytes;) {
    std::size_t const got = std::fread(part.data(), 1, part.size(), file.get());
    text.append(part, 0, got);
    if (got == part.size() || text.size() > max_bytes) continue;
    return std::ferror(file.get()) != 0 ? Result::error(std::strerror(errno)) : Result{text};
  }
  return Result::error(
      fmt::format("it is larger than {}", format_bytes(static_cast<double>(max_bytes))));
}

}  // namespace quadrille::core

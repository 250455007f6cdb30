// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

namespace quadrille::io {

/// The right to write to a run's directory: of one process at a time, until it ends, however it does.
/// A file there says whose it is. Rank 0 only.
class RunLock {
 public:
  /// At the time `now`. Empty, or why not: another process has it, or nothing can be written there.
  [[nodiscard]] std::string take(std::filesystem::path const& directory, std::string const& now);
  /// The reason why others will not notice, on a file system without locks; else empty.
  std::string const& warning() const { return warning_; }

  /// A line that says who has taken it last in this directory, as this process sees it.
  static std::string read_owner(std::filesystem::path const& directory);

 private:
  struct Close {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> file_;
  std::string warning_;
};

}  // namespace quadrille::io

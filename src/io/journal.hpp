// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

namespace quadrille::io {

/// Appends one line per finished case and flushes it to the disk, so that a killed run keeps what
/// it finished. Rank 0 only.
class Journal {
 public:
  Journal() = default;
  /// Ends the job with Exit::environment when the file exists or cannot be created.
  explicit Journal(std::string const& path);
  void append(std::string const& json_line);

  /// Opens that of an earlier run, and changes nothing yet. Empty, or why it cannot.
  std::string reopen(std::string const& path);
  /// Drops what lies behind its first `bytes`.
  void truncate(std::int64_t bytes);

 private:
  struct Close {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };
  void require(bool kept, char const* what) const;

  std::unique_ptr<std::FILE, Close> file_;
  std::string path_;
};

}  // namespace quadrille::io

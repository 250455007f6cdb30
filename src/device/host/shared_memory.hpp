// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/units.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace quadrille::device {

/// Memory that processes of a node share: a file without a name, open as long as its owner lives.
class SharedFile {
 public:
  /// One of zeros, or why the system refuses.
  static core::Parsed<std::shared_ptr<SharedFile>> make(std::size_t bytes);
  /// Another process's, while that one holds it, or why it cannot be had.
  static core::Parsed<std::shared_ptr<SharedFile>> open(std::string const& handle);
  ~SharedFile();
  SharedFile(SharedFile const&) = delete;
  SharedFile& operator=(SharedFile const&) = delete;

  void* data() const { return data_; }
  std::string handle() const;

 private:
  SharedFile() = default;

  int file_ = -1;  ///< -1 where another process holds it
  std::size_t bytes_ = 0;
  void* data_ = nullptr;
};

/// Sleeps until word >= value, as a wrapping 32-bit difference. The word may be another process's.
void wait_for_word(std::uint32_t const* word, std::uint32_t value);
/// Sets it behind all earlier writes of this thread, and wakes those that wait, in any process.
void set_word(std::uint32_t* word, std::uint32_t value);

/// A place in the memory of a process of this node.
struct RemoteAddress {
  std::int64_t process = 0;
  void const* data = nullptr;
};
/// Of this process. Lets all others of the same user read its memory, for its whole life.
RemoteAddress readable_address(void const* data);
/// Copies ordinary memory of another process, without its help; false where the system does not
/// permit it, or there is none.
bool read_remote(void* to, RemoteAddress const& from, std::size_t bytes);

}  // namespace quadrille::device

// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0

// Files that cannot be read, for LD_PRELOAD. BAD_READS says how: "error": one whose path contains
// BAD_READS_PATH gives its first BAD_READS_BYTES bytes and then EIO; "spin" and "sleep": HDF5 never
// comes back from opening a file.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

bool is(char const* how) {
  char const* const wanted = std::getenv("BAD_READS");
  return wanted != nullptr && std::strcmp(wanted, how) == 0;
}

bool is_bad(int file) {
  char const* const wanted = std::getenv("BAD_READS_PATH");
  if (!is("error") || wanted == nullptr) return false;
  std::array<char, 64> link{};
  std::snprintf(link.data(), link.size(), "/proc/self/fd/%d", file);
  std::array<char, 4096> path{};
  return readlink(link.data(), path.data(), path.size() - 1) > 0 &&
         std::strstr(path.data(), wanted) != nullptr;
}

}  // namespace

extern "C" {

ssize_t read(int file, void* to, size_t bytes) {
  static auto* const next = reinterpret_cast<decltype(&read)>(dlsym(RTLD_NEXT, "read"));
  if (!is_bad(file)) return next(file, to, bytes);
  long long const room =
      std::atoll(std::getenv("BAD_READS_BYTES")) - static_cast<long long>(lseek(file, 0, SEEK_CUR));
  if (room > 0) return next(file, to, std::min(bytes, static_cast<size_t>(room)));
  errno = EIO;
  return -1;
}

std::int64_t H5Fopen(char const* path, unsigned flags, std::int64_t properties) {
  while (is("sleep")) pause();
  for (int volatile i = 0; is("spin");) i = i + 1;
  static auto* const next = reinterpret_cast<decltype(&H5Fopen)>(dlsym(RTLD_NEXT, "H5Fopen"));
  return next(path, flags, properties);
}

}  // extern "C"

// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0

// A disk that is full, for LD_PRELOAD: files whose path contains FULL_DISK_PATH take
// FULL_DISK_BYTES bytes in all and then no more. With FULL_DISK_RESERVES=0 storage cannot be
// reserved, as on some file systems.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

std::atomic<long long> written{0};

bool is_on_disk(int file) {
  char const* const wanted = std::getenv("FULL_DISK_PATH");
  if (wanted == nullptr) return false;
  std::array<char, 64> link{};
  std::snprintf(link.data(), link.size(), "/proc/self/fd/%d", file);
  std::array<char, 4096> path{};
  return readlink(link.data(), path.data(), path.size() - 1) > 0 &&
         std::strstr(path.data(), wanted) != nullptr;
}

long long most() {
  char const* const bytes = std::getenv("FULL_DISK_BYTES");
  return bytes == nullptr ? 0 : std::atoll(bytes);
}

/// How much of it the disk still takes; what does not fit at all fails.
ssize_t taken(int file, size_t bytes) {
  if (!is_on_disk(file) || bytes == 0) return static_cast<ssize_t>(bytes);
  auto const wanted = static_cast<long long>(bytes);
  long long const room = most() - written.fetch_add(wanted);
  if (room > 0) return static_cast<ssize_t>(std::min(room, wanted));
  errno = ENOSPC;
  return -1;
}

template <class Call>
Call* next(Call*, char const* name) {
  return reinterpret_cast<Call*>(dlsym(RTLD_NEXT, name));
}

size_t sum(iovec const* parts, int count) {
  size_t bytes = 0;
  for (int i = 0; i < count; ++i) bytes += parts[i].iov_len;
  return bytes;
}

int reserve(int file, off_t bytes) {
  if (!is_on_disk(file)) return 0;
  char const* const reserves = std::getenv("FULL_DISK_RESERVES");
  bool const can = reserves == nullptr || std::atoi(reserves) != 0;
  errno = can ? ENOSPC : EOPNOTSUPP;
  return can && bytes <= most() ? 0 : -1;
}

}  // namespace

extern "C" {

ssize_t write(int file, void const* from, size_t bytes) {
  ssize_t const part = taken(file, bytes);
  return part < 0 ? part : next(&write, "write")(file, from, static_cast<size_t>(part));
}
ssize_t pwrite(int file, void const* from, size_t bytes, off_t at) {
  ssize_t const part = taken(file, bytes);
  return part < 0 ? part : next(&pwrite, "pwrite")(file, from, static_cast<size_t>(part), at);
}
ssize_t pwrite64(int file, void const* from, size_t bytes, off64_t at) {
  return pwrite(file, from, bytes, at);
}
// All of it or nothing.
ssize_t writev(int file, iovec const* parts, int count) {
  size_t const bytes = sum(parts, count);
  ssize_t const part = taken(file, bytes);
  if (part == static_cast<ssize_t>(bytes)) return next(&writev, "writev")(file, parts, count);
  errno = ENOSPC;
  return -1;
}
ssize_t pwritev(int file, iovec const* parts, int count, off_t at) {
  size_t const bytes = sum(parts, count);
  ssize_t const part = taken(file, bytes);
  if (part == static_cast<ssize_t>(bytes)) return next(&pwritev, "pwritev")(file, parts, count, at);
  errno = ENOSPC;
  return -1;
}
ssize_t pwritev64(int file, iovec const* parts, int count, off64_t at) {
  return pwritev(file, parts, count, at);
}
int fallocate(int file, int mode, off_t first, off_t bytes) {
  if (reserve(file, bytes) != 0) return -1;
  return next(&fallocate, "fallocate")(file, mode, first, bytes);
}
int fallocate64(int file, int mode, off64_t first, off64_t bytes) {
  return fallocate(file, mode, first, bytes);
}

}  // extern "C"

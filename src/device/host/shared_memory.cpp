// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/host/shared_memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <linux/futex.h>
#include <sstream>

namespace quadrille::device {
namespace {

using ConstWord = std::atomic_ref<std::uint32_t>;

std::uint32_t load(std::uint32_t const* word) {
  // The referenced object is not changed; atomic_ref of const types comes with C++26.
  return ConstWord{*const_cast<std::uint32_t*>(word)}.load(std::memory_order_acquire);
}

bool is_reached(std::uint32_t now, std::uint32_t value) {
  return static_cast<std::int32_t>(now - value) >= 0;
}

}  // namespace

core::Parsed<std::shared_ptr<SharedFile>> SharedFile::make(std::size_t bytes) {
  std::shared_ptr<SharedFile> shared{new SharedFile};
  shared->file_ = memfd_create("quadrille", MFD_CLOEXEC);
  shared->bytes_ = bytes;
  bool const is_there =
      shared->file_ >= 0 && ftruncate(shared->file_, static_cast<off_t>(bytes)) == 0;
  void* const memory =
      is_there ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, shared->file_, 0)
               : MAP_FAILED;
  if (memory == MAP_FAILED) {
    return core::Parsed<std::shared_ptr<SharedFile>>::error(
        fmt::format("a file in memory of {} bytes: {}", bytes, std::strerror(errno)));
  }
  shared->data_ = memory;
  return shared;
}

core::Parsed<std::shared_ptr<SharedFile>> SharedFile::open(std::string const& handle) {
  using Result = core::Parsed<std::shared_ptr<SharedFile>>;
  std::istringstream in{handle};
  std::int64_t process = 0;
  int file = -1;
  std::size_t bytes = 0;
  if (!(in >> process >> file >> bytes)) return Result::error("no handle of shared memory");
  std::string const path = fmt::format("/proc/{}/fd/{}", process, file);
  int const opened = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (opened < 0) {
    return Result::error(fmt::format("{}: {}; ranks of a node must see each other's processes",
                                     path, std::strerror(errno)));
  }
  struct stat facts {};
  // Where ranks have process numbers of their own, in containers, it may be any file.
  bool const is_it = fstat(opened, &facts) == 0 && facts.st_size == static_cast<off_t>(bytes);
  void* const memory =
      is_it ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, opened, 0) : MAP_FAILED;
  int const why = errno;
  close(opened);
  if (memory == MAP_FAILED) {
    return Result::error(
        fmt::format("{}: {}", path, is_it ? std::strerror(why) : "is not the shared memory"));
  }
  std::shared_ptr<SharedFile> shared{new SharedFile};
  shared->bytes_ = bytes;
  shared->data_ = memory;
  return shared;
}

SharedFile::~SharedFile() {
  if (data_ != nullptr) munmap(data_, bytes_);
  if (file_ >= 0) close(file_);
}

std::string SharedFile::handle() const { return fmt::format("{} {} {}", getpid(), file_, bytes_); }

void wait_for_word(std::uint32_t const* word, std::uint32_t value) {
  for (std::uint32_t now = load(word); !is_reached(now, value); now = load(word)) {
    syscall(SYS_futex, word, FUTEX_WAIT, now, nullptr, nullptr, 0);
  }
}

void set_word(std::uint32_t* word, std::uint32_t value) {
  std::atomic_ref{*word}.store(value, std::memory_order_release);
  syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
}

RemoteAddress readable_address(void const* data) {
  // Some systems let parents alone read a process, unless it says otherwise; others know no such call.
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  return {getpid(), data};
}

bool read_remote(void* to, RemoteAddress const& from, std::size_t bytes) {
  for (std::size_t done = 0; done < bytes;) {
    iovec const here{static_cast<std::byte*>(to) + done, bytes - done};
    // The system only reads there.
    iovec const there{const_cast<std::byte*>(static_cast<std::byte const*>(from.data)) + done,
                      bytes - done};
    ssize_t const got = process_vm_readv(static_cast<pid_t>(from.process), &here, 1, &there, 1, 0);
    if (got <= 0) return false;
    done += static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace quadrille::device

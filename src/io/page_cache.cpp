// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "io/page_cache.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

namespace quadrille::io {
namespace {

/// A file that is open for reading; what is flushed is the file, whoever wrote to it.
class Descriptor {
 public:
  explicit Descriptor(std::string const& path)
      : number_{open(path.c_str(), O_RDONLY | O_CLOEXEC)} {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(Descriptor const&) = delete;
  Descriptor& operator=(Descriptor const&) = delete;
  int get() const { return number_; }

 private:
  int number_;
};

bool is_resident(unsigned char page) { return (page & 1U) != 0; }

/// The pages of a file, and how many of them are in memory; as many where nobody can tell.
std::pair<std::size_t, std::size_t> pages_of(Descriptor const& file) {
  constexpr std::size_t kWindow = std::size_t{1} << 30;
  auto const page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  auto const bytes = static_cast<std::size_t>(std::max<off_t>(0, lseek(file.get(), 0, SEEK_END)));
  std::size_t all = 0, resident = 0;
  for (std::size_t first = 0; first < bytes; first += kWindow) {
    std::size_t const length = std::min(kWindow, bytes - first);
    std::vector<unsigned char> pages((length + page_bytes - 1) / page_bytes);
    void* const memory =
        mmap(nullptr, length, PROT_READ, MAP_SHARED, file.get(), static_cast<off_t>(first));
    bool const is_known = memory != MAP_FAILED && mincore(memory, length, pages.data()) == 0;
    if (memory != MAP_FAILED) munmap(memory, length);
    all += pages.size();
    resident += is_known ? static_cast<std::size_t>(std::ranges::count_if(pages, is_resident))
                         : pages.size();
  }
  return {all, resident};
}

}  // namespace

std::string flush_to_storage(std::string const& path) {
  Descriptor const file{path};
  if (file.get() >= 0 && fsync(file.get()) == 0) return {};
  return fmt::format("{}: cannot be flushed to the storage: {}", path, std::strerror(errno));
}

bool drop_cached_pages(std::string const& path) {
  Descriptor const file{path};
  // Pages that are not written yet would stay.
  if (file.get() < 0 || fsync(file.get()) != 0) return false;
  if (posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED) != 0) return false;
  auto const [all, resident] = pages_of(file);
  return resident <= all / 100;
}

}  // namespace quadrille::io

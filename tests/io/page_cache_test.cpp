// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "io/page_cache.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace quadrille::io {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBytes = std::size_t{8} << 20;

/// A file of kBytes in a folder, for as long as this lives.
class File {
 public:
  explicit File(fs::path const& folder)
      : path_{folder / ("quadrille-pages." + std::to_string(getpid()))} {
    std::ofstream{path_} << std::string(kBytes, 'x');
  }
  ~File() { fs::remove(path_); }
  File(File const&) = delete;
  File& operator=(File const&) = delete;
  std::string path() const { return path_.string(); }

  /// Bytes in the page cache.
  std::size_t resident() const {
    int const file = open(path_.c_str(), O_RDONLY);
    void* const memory = mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, file, 0);
    auto const page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    std::vector<unsigned char> pages(kBytes / page);
    mincore(memory, kBytes, pages.data());
    munmap(memory, kBytes);
    close(file);
    return page * static_cast<std::size_t>(std::ranges::count_if(
                      pages, [](unsigned char state) { return (state & 1U) != 0; }));
  }

 private:
  fs::path path_;
};

/// Whether files in a folder lie in memory and nowhere else.
bool is_in_memory(fs::path const& folder) {
  struct statfs facts {};
  constexpr auto kTmpfs = 0x01021994, kRamfs = static_cast<int>(0x858458f6);
  return statfs(folder.c_str(), &facts) == 0 &&
         (static_cast<int>(facts.f_type) == kTmpfs || static_cast<int>(facts.f_type) == kRamfs);
}

TEST(PageCache, ForgetsAFileThatWasJustWritten) {
  if (is_in_memory(fs::current_path())) GTEST_SKIP() << "files here lie in memory";
  File const file{fs::current_path()};
  ASSERT_EQ(file.resident(), kBytes);

  EXPECT_TRUE(drop_cached_pages(file.path()));

  EXPECT_EQ(file.resident(), 0U);
}

TEST(PageCache, SaysWhereItCannotForget) {
  fs::path const memory = "/dev/shm";
  if (!is_in_memory(memory)) GTEST_SKIP() << "no file system in memory";
  File const file{memory};

  EXPECT_FALSE(drop_cached_pages(file.path()));
  EXPECT_FALSE(drop_cached_pages("/nowhere/x"));
}

TEST(Flush, SaysWhatItCannotFlush) {
  File const file{fs::current_path()};

  EXPECT_EQ(flush_to_storage(file.path()), "");
  EXPECT_EQ(flush_to_storage("/nowhere/x"),
            "/nowhere/x: cannot be flushed to the storage: No such file or directory");
}

}  // namespace
}  // namespace quadrille::io

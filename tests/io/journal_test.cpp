// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "io/journal.hpp"

#include "support/expect_fails.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace {

// What the journal asks of the system.
int flushes = 0;
std::int64_t flushed_bytes = 0;
bool disk_is_full = false;

}  // namespace

/// In place of the system's, which no test could see from outside without losing power.
extern "C" int fsync(int file) {
  struct stat state {};
  fstat(file, &state);
  ++flushes;
  flushed_bytes = state.st_size;
  if (!disk_is_full) return 0;
  errno = ENOSPC;
  return -1;
}

namespace quadrille::io {
namespace {

namespace fs = std::filesystem;

class JournalTest : public testing::Test {
 protected:
  JournalTest() {
    flushes = 0;
    disk_is_full = false;
  }
  std::string content() const {
    std::ostringstream text;
    text << std::ifstream{path_}.rdbuf();
    return text.str();
  }

  test::TemporaryFolder const folder_;
  fs::path const path_ = folder_ / "journal";
};

TEST_F(JournalTest, EveryLineIsOnTheDiskWhenAppendReturns) {
  Journal journal{path_.string()};

  journal.append("{\"a\": 1}");
  EXPECT_EQ(content(), "{\"a\": 1}\n");
  EXPECT_EQ(flushes, 1);
  EXPECT_EQ(flushed_bytes, 9) << "flushed before all of it was written";

  journal.append("{}");
  EXPECT_EQ(content(), "{\"a\": 1}\n{}\n");
  EXPECT_EQ(flushes, 2);
  EXPECT_EQ(flushed_bytes, 12);
}

TEST_F(JournalTest, AFullDiskEndsTheJob) {
  Journal journal{path_.string()};
  disk_is_full = true;

  EXPECT_FAILS(journal.append("{}"), "cannot append to the journal: No space left on device");
}

TEST_F(JournalTest, GoesOnBehindWhatIsKept) {
  std::ofstream{path_} << "{\"a\": 1}\n{\"half";
  Journal journal;
  ASSERT_EQ(journal.reopen(path_.string()), "");
  EXPECT_EQ(content(), "{\"a\": 1}\n{\"half") << "nothing changes yet";
  journal.truncate(9);
  EXPECT_EQ(content(), "{\"a\": 1}\n");
  journal.append("{\"b\": 2}");
  EXPECT_EQ(content(), "{\"a\": 1}\n{\"b\": 2}\n");

  disk_is_full = true;
  EXPECT_FAILS(journal.truncate(9), "cannot go on with the journal: No space left on device");
}

TEST_F(JournalTest, IsReopenedWhereThereIsOne) {
  EXPECT_NE(Journal{}.reopen(path_.string()).find("cannot be opened: No such file"),
            std::string::npos);
}

TEST_F(JournalTest, AnExistingFileIsKept) {
  std::ofstream{path_} << "mine";

  EXPECT_FAILS(Journal{path_.string()}, "remove it or choose another output directory");
  EXPECT_EQ(content(), "mine");
}

}  // namespace
}  // namespace quadrille::io

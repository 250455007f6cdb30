// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "io/run_lock.hpp"

#include "support/temporary_folder.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace {
int lock_error = 0;
}  // namespace

/// In place of the system's, which always has locks where tests run.
extern "C" int flock(int, int) {
  errno = lock_error;
  return lock_error == 0 ? 0 : -1;
}

namespace quadrille::io {
namespace {

namespace fs = std::filesystem;

class RunLockTest : public testing::Test {
 protected:
  void SetUp() override { lock_error = 0; }

  test::TemporaryFolder const temporary_;
  fs::path const folder_ = temporary_.path();
};

TEST_F(RunLockTest, SaysWhoHasIt) {
  RunLock first, second;
  EXPECT_EQ(first.take(folder_, "noon"), "");
  std::string const owner = RunLock::read_owner(folder_);
  EXPECT_TRUE(owner.starts_with(fmt::format("process {} on ", getpid()))) << owner;

  lock_error = EWOULDBLOCK;
  std::string const why = second.take(folder_, "later");
  EXPECT_NE(why.find(owner), std::string::npos) << why;
  EXPECT_EQ(RunLock::read_owner(folder_), owner) << "who is refused changes nothing";
}

TEST_F(RunLockTest, GoesOnWhereThereAreNoLocks) {
  RunLock lock;
  lock_error = ENOLCK;
  EXPECT_EQ(lock.take(folder_, "noon"), "");
  EXPECT_NE(lock.warning().find("No locks available"), std::string::npos) << lock.warning();
}

TEST_F(RunLockTest, NeedsADirectory) {
  EXPECT_NE(RunLock{}.take(folder_ / "absent", "noon"), "");
  EXPECT_EQ(RunLock::read_owner(folder_ / "absent"), "");
}

}  // namespace
}  // namespace quadrille::io

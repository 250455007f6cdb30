// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "core/files.hpp"

#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace quadrille::core {
namespace {

namespace fs = std::filesystem;

TEST(ReadFile, TakesRegularFilesOfALimitedSize) {
  test::TemporaryFolder const folder;
  std::string const bytes(200'000, 'x');
  std::ofstream{folder / "file"} << bytes;
  mkfifo((folder / "pipe").c_str(), 0600);
  auto const read = [&](fs::path const& path) { return read_file(path.string(), bytes.size()); };

  EXPECT_EQ(*read(folder / "file"), bytes);
  EXPECT_FALSE(read_file((folder / "file").string(), bytes.size() - 1));
  for (fs::path const& path : {folder.path(), folder / "absent", folder / "pipe",
                               folder / "file" / "below", fs::path{"/dev/zero"}}) {
    EXPECT_FALSE(read(path)) << path;
  }
}

}  // namespace
}  // namespace quadrille::core

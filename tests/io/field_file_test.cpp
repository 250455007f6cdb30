// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "io/field_file.hpp"

#include "comm/grid.hpp"
#include "comm/mpi_handle.hpp"
#include "support/expect_fails.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <tuple>

/// Bytes of the largest file that was flushed.
std::int64_t g_flushed_bytes = 0;

/// In place of the system's, which no test could see from outside without losing power.
extern "C" int fsync(int file) {
  struct stat state {};
  fstat(file, &state);
  g_flushed_bytes = std::max(g_flushed_bytes, std::int64_t{state.st_size});
  return static_cast<int>(syscall(SYS_fsync, file));
}

namespace quadrille::io {
namespace {

namespace fs = std::filesystem;
using core::DataType;

constexpr std::size_t kChunks[] = {64UL << 10, 1UL << 20};
constexpr std::array kTypes{DataType::f64, DataType::f32, DataType::f16, DataType::bf16,
                            DataType::i64, DataType::i32, DataType::i8};
constexpr unsigned char kUntouched = 0xFF;

/// Byte b of element (i, j): every bit pattern occurs, NaN among them.
unsigned char byte_of(std::int64_t i, std::int64_t j, std::size_t b) {
  auto const x = static_cast<std::uint64_t>(i * 1000003 + j * 7919) * 0x9e3779b97f4a7c15ULL;
  return static_cast<unsigned char>(x >> (8 * b));
}

/// A field with its memory: rows dealt in blocks, columns dealt in blocks, to a P x Q grid.
struct Owned {
  HostField field;
  std::vector<unsigned char> memory;
};

struct Deal {
  std::int64_t row_block, col_block;  ///< 0: one block per process
  int rows, cols;                     ///< processes
  std::int64_t padding = 0;           ///< elements between rows in memory
};

/// Blocks of this rank; ranks beyond rows * cols own nothing.
Owned deal(std::string name, DataType type, std::vector<std::int64_t> shape, Deal how, int rank) {
  Owned owned;
  owned.field.name = std::move(name);
  owned.field.type = type;
  owned.field.shape = shape;
  if (rank >= how.rows * how.cols) return owned;
  comm::Distribution const rows{shape.size() == 2 ? shape[0] : 1, how.row_block, how.rows};
  comm::Distribution const cols{shape.back(), how.col_block, how.cols};
  int const p = rank / how.cols, q = rank % how.cols;
  std::int64_t const m = rows.count(p), n = cols.count(q), ld = n + how.padding;
  owned.memory.assign(static_cast<std::size_t>(m * ld) * core::size_of(type), kUntouched);
  for (std::int64_t i = 0; i < m;) {
    std::int64_t const row = rows.global(p, i), height = rows.block_end(row) - row;
    for (std::int64_t j = 0; j < n;) {
      std::int64_t const col = cols.global(q, j), width = cols.block_end(col) - col;
      owned.field.blocks.push_back(
          {row, col, height, width, ld,
           owned.memory.data() + static_cast<std::size_t>(i * ld + j) * core::size_of(type)});
      j += width;
    }
    i += height;
  }
  return owned;
}

template <class Visit>
void for_each_byte(Owned const& owned, Visit&& visit) {
  std::size_t const size = core::size_of(owned.field.type);
  for (HostField::Block const& b : owned.field.blocks) {
    for (std::int64_t i = 0; i < b.rows; ++i) {
      for (std::int64_t j = 0; j < b.cols; ++j) {
        auto* const element =
            static_cast<unsigned char*>(b.data) + static_cast<std::size_t>(i * b.ld + j) * size;
        for (std::size_t k = 0; k < size; ++k) visit(element[k], b.row + i, b.col + j, k);
      }
    }
  }
}

void fill(Owned& owned) {
  for_each_byte(owned,
                [](unsigned char& byte, auto i, auto j, auto k) { byte = byte_of(i, j, k); });
}

std::int64_t wrong_bytes(Owned const& owned) {
  std::int64_t wrong = 0;
  for_each_byte(owned, [&](unsigned char const& byte, auto i, auto j, auto k) {
    if (byte != byte_of(i, j, k)) ++wrong;
  });
  return wrong;
}

comm::Group duplicate_of_world() {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  return comm::make_group(comm);
}

class Fields : public testing::Test {
 protected:
  Fields() : world_{duplicate_of_world()} {
    std::string folder = (fs::temp_directory_path() / fmt::format("quadrille.{}", getpid()));
    world_.broadcast(folder);
    folder_ = folder;
    if (world_.rank() == 0) fs::create_directories(folder_);
    world_.barrier();
  }
  ~Fields() override {
    world_.barrier();
    if (world_.rank() == 0) fs::remove_all(folder_);
  }
  std::string at(std::string const& name) const { return (folder_ / name).string(); }
  Owned own(std::string name, DataType type, std::vector<std::int64_t> shape, Deal how) const {
    return deal(std::move(name), type, std::move(shape), how, world_.rank());
  }

  comm::Group world_;
  fs::path folder_;
};

TEST_F(Fields, AreReadBackBitwiseHoweverTheyAreDealt) {
  int const p = world_.size();
  std::array const deals{Deal{0, 0, 1, p}, Deal{0, 0, p, 1, 3}, Deal{32, 48, 1, p, 5},
                         Deal{7, 500, p, 1}, Deal{3, 5, 1, 1}};
  for (std::size_t const chunk : kChunks) {
    for (std::size_t d = 0; d < deals.size(); ++d) {
      Owned wrote = own("C", DataType::f64, {413, 371}, deals[d]);
      Owned same = own("C", DataType::f64, {413, 371}, deals[d]);
      Owned other = own("C", DataType::f64, {413, 371}, deals[(d + 1) % deals.size()]);
      std::string const path = at(fmt::format("{}_{}.h5", chunk, d));
      fill(wrote);

      write_fields(world_, path, {wrote.field}, chunk);
      read_fields(world_, path, {same.field}, chunk);
      read_fields(world_, path, {other.field}, chunk);

      EXPECT_EQ(wrong_bytes(other), 0);
      // What lies between the rows of a block is nobody's data, so all memory is equal.
      EXPECT_EQ(same.memory, wrote.memory);
    }
  }
}

TEST_F(Fields, OfEveryTypeAndShapeShareAFile) {
  std::vector<Owned> wrote, back;
  std::vector<HostField> from, to;
  int const p = world_.size();
  auto const add = [&](std::string const& name, DataType type, std::vector<std::int64_t> shape) {
    wrote.push_back(own(name, type, shape, {0, 16, 1, p}));
    back.push_back(own(name, type, shape, {0, 0, 1, p}));
    fill(wrote.back());
    from.push_back(wrote.back().field);
    to.push_back(back.back().field);
  };
  for (DataType const type : kTypes) {
    add(fmt::format("{}_matrix", core::to_text(type)), type, {33, 65});
    add(fmt::format("{}_vector", core::to_text(type)), type, {40001});
  }
  add("one", DataType::f64, {1});
  add("no_rows", DataType::f64, {0, 5});
  add("nothing", DataType::f64, {0});

  IoTimes const writing = write_fields(world_, at("all.h5"), from, kChunks[0]);
  IoTimes const reading = read_fields(world_, at("all.h5"), to, kChunks[0]);

  for (Owned const& field : back) EXPECT_EQ(wrong_bytes(field), 0) << field.field.name;
  for (IoTimes const& times : {writing, reading}) {
    EXPECT_GT(times.open_s, 0);
    EXPECT_GT(times.transfer_s, 0);
    EXPECT_GT(times.close_s, 0);
  }
}

TEST_F(Fields, AreInTheStorageAfterTheTransfer) {
  Owned wrote = own("x", DataType::f64, {40001}, {0, 0, 1, world_.size()});
  fill(wrote);
  g_flushed_bytes = 0;

  write_fields(world_, at("flushed.h5"), {wrote.field}, kChunks[0]);

  EXPECT_GE(world_.max(g_flushed_bytes), 8 * 40001);
}

TEST_F(Fields, RowsLongerThanAChunkAreSplit) {
  Owned wrote = own("x", DataType::f64, {3, 501}, {0, 0, 1, 1, 1});
  Owned back = own("x", DataType::f64, {3, 501}, {0, 0, 1, 1, 1});
  fill(wrote);
  write_fields(world_, at("x.h5"), {wrote.field}, 1000);
  read_fields(world_, at("x.h5"), {back.field}, 64);
  EXPECT_EQ(wrong_bytes(back), 0);
}

/// Calls by which this process has written so far; 0 where the system does not count them.
std::int64_t written_calls() {
  std::ifstream counters{"/proc/self/io"};
  std::string name;
  for (std::int64_t value = 0; counters >> name >> value;) {
    if (name == "syscw:") return value;
  }
  return 0;
}

TEST_F(Fields, ACallWritesOneChunk) {
  if (world_.size() > 1 || written_calls() == 0) GTEST_SKIP() << "one rank writes its own";
  // 2 MiB each: whole rows, parts of rows, and blocks that share chunks.
  for (auto const& [name, shape, how] :
       {std::tuple{"rows", std::vector<std::int64_t>{2048, 128}, Deal{0, 0, 1, 1}},
        {"long", {2, 131072}, {0, 0, 1, 1, 1}},
        {"blocks", {512, 512}, {32, 32, 1, 1}}}) {
    Owned wrote = own(name, DataType::f64, shape, how);
    fill(wrote);
    std::int64_t const before = written_calls();
    write_fields(world_, at(name), {wrote.field}, 128UL << 10);
    std::int64_t const calls = written_calls() - before;
    EXPECT_GE(calls, 16) << name;
    EXPECT_LE(calls, 16 + 16) << name << ": and those of the file itself";
  }
}

TEST_F(Fields, WhatNobodyOwnsIsZero) {
  HostField const none{"x", DataType::f64, {4, 4}, {}};
  std::vector<double> read(16, 1.0);
  HostField some = none;
  if (world_.rank() == 0) some.blocks = {{0, 0, 4, 4, 4, read.data()}};

  write_fields(world_, at("x.h5"), {none}, kChunks[0]);
  read_fields(world_, at("x.h5"), {some}, kChunks[0]);

  EXPECT_EQ(read, std::vector<double>(16, world_.rank() == 0 ? 0.0 : 1.0));
}

TEST_F(Fields, AnExistingFileIsKept) {
  if (world_.rank() == 0) std::ofstream{at("taken.h5")} << "mine";
  world_.barrier();
  auto const failure =
      test::failure_of([&] { write_fields(world_, at("taken.h5"), {}, kChunks[0]); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, core::Exit::environment);
  EXPECT_NE(failure->what.find("taken.h5: exists already"), std::string::npos) << failure->what;
  EXPECT_EQ(fs::file_size(at("taken.h5")), 4U);
}

TEST_F(Fields, APlaceThatCannotBeWrittenIsNamedOnAllRanks) {
  auto const failure =
      test::failure_of([&] { write_fields(world_, at("none/x.h5"), {}, kChunks[0]); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, core::Exit::environment);
  EXPECT_NE(failure->what.find("No such file or directory"), std::string::npos) << failure->what;
}

TEST_F(Fields, StorageThatIsMissingIsToldBeforeTheFirstByte) {
  if (world_.size() > 1) GTEST_SKIP() << "one process dies of it";
  HostField const field{"x", DataType::f64, {1024, 1024}, {}};
  auto const write = [&] {
    rlimit const small{256 << 10, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &small);
    std::signal(SIGXFSZ, SIG_IGN);
    write_fields(world_, at("x.h5"), {field}, kChunks[0]);
  };
  EXPECT_EXIT(write(), testing::ExitedWithCode(4), "8.00 MiB of it: File too large");
}

TEST_F(Fields, TroubleOnOneRankEndsAll) {
  HostField field{"x", DataType::f64, {4, 4}, {}};
  double value = 0;
  if (world_.rank() == world_.size() - 1) field.blocks = {{3, 3, 2, 1, 1, &value}};
  EXPECT_FAILS(write_fields(world_, at("x.h5"), {field}, kChunks[0]),
               "the block of 2 x 1 at (3, 3) is not inside 4 x 4");

  if (world_.size() == 1) return;
  HostField const other{"x", DataType::f64, {4, 4 + world_.rank()}, {}};
  EXPECT_FAILS(write_fields(world_, at("x.h5"), {other}, kChunks[0]),
               "rank 1 saves other fields than rank 0");
}

TEST_F(Fields, OtherShapesTypesAndNamesAreNotRead) {
  write_fields(world_, at("x.h5"), {{"x", DataType::f64, {4, 4}, {}}}, kChunks[0]);
  auto const read = [&](HostField const& field) {
    read_fields(world_, at("x.h5"), {field}, kChunks[0]);
  };
  EXPECT_FAILS(read({"x", DataType::f64, {4, 5}, {}}), "has extents 4 x 4 instead of 4 x 5");
  EXPECT_FAILS(read({"x", DataType::f64, {16}, {}}), "has extents 4 x 4 instead of 16");
  EXPECT_FAILS(read({"x", DataType::i64, {4, 4}, {}}), "has another type than i64");
  EXPECT_FAILS(read({"y", DataType::f64, {4, 4}, {}}), "field 'y': H5Dopen");
  EXPECT_FAILS(read_fields(world_, at("y.h5"), {}, kChunks[0]), ": No such file or directory");
}

// Run by h5py_test.py, which reads what is written here.
TEST_F(Fields, WritesForOthers) {
  char const* const path = std::getenv("QUADRILLE_TEST_FIELDS");
  if (path == nullptr) GTEST_SKIP() << "QUADRILLE_TEST_FIELDS names no file";
  int const p = world_.size();
  Owned matrix = own("C", DataType::f64, {300, 200}, {32, 16, 1, p, 1});
  for (HostField::Block const& b : matrix.field.blocks) {
    for (std::int64_t i = 0; i < b.rows; ++i) {
      for (std::int64_t j = 0; j < b.cols; ++j) {
        static_cast<double*>(b.data)[i * b.ld + j] =
            static_cast<double>(b.row + i) + static_cast<double>(b.col + j) / 1024;
      }
    }
  }
  // Element j of "half" is 2^(j % 16 - 8), of "brain" 2^(j - 100).
  Owned half = own("half", DataType::f16, {1000}, {0, 0, 1, p});
  for (HostField::Block const& b : half.field.blocks) {
    for (std::int64_t j = 0; j < b.cols; ++j) {
      static_cast<std::uint16_t*>(b.data)[j] =
          static_cast<std::uint16_t>(((b.col + j) % 16 - 8 + 15) << 10);
    }
  }
  Owned brain = own("brain", DataType::bf16, {200}, {0, 0, 1, p});
  for (HostField::Block const& b : brain.field.blocks) {
    for (std::int64_t j = 0; j < b.cols; ++j) {
      static_cast<std::uint16_t*>(b.data)[j] =
          static_cast<std::uint16_t>((b.col + j - 100 + 127) << 7);
    }
  }
  Owned bytes = own("bytes", DataType::i8, {256}, {0, 0, 1, p});
  for (HostField::Block const& b : bytes.field.blocks) {
    for (std::int64_t j = 0; j < b.cols; ++j) {
      static_cast<std::int8_t*>(b.data)[j] = static_cast<std::int8_t>(b.col + j - 128);
    }
  }
  write_fields(world_, path, {matrix.field, half.field, brain.field, bytes.field}, kChunks[0]);
}

}  // namespace
}  // namespace quadrille::io

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  testing::InitGoogleTest(&argc, argv);
  int const failed = RUN_ALL_TESTS();
  MPI_Finalize();
  return failed;
}

// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0

// MPI libraries have a limited number of communicators: cases must give back what they make. This
// program stands between all others and MPI and counts, BLACS included.
#include "measure/case_runner.hpp"
#include "support/mpi_world.hpp"
#include "workloads/registry.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <mpi.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>

namespace {

std::atomic<int> g_made{0}, g_freed{0};

int count(int code, MPI_Comm const* made) {
  if (code == MPI_SUCCESS && *made != MPI_COMM_NULL) ++g_made;
  return code;
}

}  // namespace

extern "C" {

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) { return count(PMPI_Comm_dup(comm, made), made); }
int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* made) {
  return count(PMPI_Comm_split(comm, color, key, made), made);
}
int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* made) {
  return count(PMPI_Comm_create(comm, group, made), made);
}
int MPI_Comm_free(MPI_Comm* comm) {
  ++g_freed;
  return PMPI_Comm_free(comm);
}

}  // extern "C"

namespace quadrille::workloads {
namespace {

namespace fs = std::filesystem;

void measure_size(std::string const& workload, int size) {
  std::string const text = fmt::format(
      "[run]\nrepetitions = 1\nwarmup = {{ count = 0, seconds = 0 }}\ncheck = \"off\"\n"
      "transport = \"mpi\"\n[[case]]\nworkload = \"{}\"\ntype = \"f64\"\nsize = {}\n"
      "variant = \"all\"\n",
      workload, size);
  auto const config = core::resolve(text, "test", {}, name_table());
  ASSERT_TRUE(config) << config.why();
  core::Case const& spec = config->cases.at(0);
  measure::WorkloadEntry const& entry = entry_of(*spec.workload);
  int ran = 0;
  for (measure::Record const& record : measure::measure_case(test::world(), spec, entry, {})) {
    if (record.outcome == measure::Outcome::skip) ++ran;  // timed, not checked
  }
  EXPECT_GT(ran, 0) << workload;
}

class Communicators : public testing::TestWithParam<char const*> {
 protected:
  /// Files go to a folder of the test.
  static void SetUpTestSuite() {
    std::string folder = (fs::temp_directory_path() / fmt::format("quadrille.{}", getpid()));
    test::world().group().broadcast(folder);
    fs::create_directories(folder + "/" + test::world().settings().output);
    fs::current_path(folder);
  }
  static void TearDownTestSuite() {
    test::world().group().barrier();
    if (test::world().rank() == 0) fs::remove_all(fs::current_path());
  }
};

TEST_P(Communicators, AreGivenBack) {
  measure_size(GetParam(), 40);  // what the world keeps for later cases is made here
  int const made = g_made, kept = g_made - g_freed;
  constexpr int kSizes = 3;

  for (int i = 1; i <= kSizes; ++i) measure_size(GetParam(), 40 + i);

  EXPECT_GE(g_made - made, kSizes) << "counted at all";
  EXPECT_EQ(g_made - g_freed, kept);
}

INSTANTIATE_TEST_SUITE_P(Workloads, Communicators,
                         testing::Values("integral", "reduction", "ptrans", "summa", "allreduce",
                                         "broadcast", "alltoall", "sendrecv", "field_io"),
                         [](auto const& named) { return std::string{named.param}; });

}  // namespace
}  // namespace quadrille::workloads

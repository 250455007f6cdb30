// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/kokkos_execution.hpp"

#include "device/kokkos_runtime.hpp"
#include "support/expect_fails.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <omp.h>
#include <vector>

namespace quadrille::device {
namespace {

using Space = Kokkos::DefaultHostExecutionSpace;

TEST(KokkosExecution, AStreamKeepsItsSpace) {
  auto const device = make_host_device(2);
  Stream const a{*device}, b{*device};
  Space const* first = nullptr;
  Space const* second = nullptr;
  Space const* other = nullptr;
  a.view().run([&] { first = &host_execution(a); });
  b.view().run([&] { other = &host_execution(b); });
  a.view().run([&] { second = &host_execution(a); });
  a.view().synchronize();
  b.view().synchronize();

  EXPECT_EQ(first, second);
  EXPECT_FALSE(*first == *other);
  EXPECT_FALSE(*first == Space{});
}

TEST(KokkosExecution, HasTheThreadsOfTheDevice) {
  auto const device = make_host_device(3);
  Stream const stream{*device};
  std::vector<std::atomic<int>> visits(8);
  run_kokkos(stream, [&](Space const& space) {
    Kokkos::parallel_for("threads", Kokkos::RangePolicy<Space>{space, 0, 3},
                         [&](int) { ++visits[static_cast<std::size_t>(omp_get_thread_num())]; });
  });
  stream.view().synchronize();

  for (int i = 0; i < 8; ++i) EXPECT_EQ(visits[static_cast<std::size_t>(i)], i < 3);
}

TEST(KokkosExecution, BelongsToTasksOfItsStream) {
  auto const device = make_host_device(1);
  Stream const stream{*device};
  EXPECT_FAILS(host_execution(stream), "inside a task of its stream");
  EXPECT_FAILS(host_execution({}), "needs a stream of the host device");
}

TEST(KokkosRuntime, NamesItsVersionAndBackend) {
  EXPECT_TRUE(kokkos_version().ends_with(", OpenMP")) << kokkos_version();
}

}  // namespace
}  // namespace quadrille::device

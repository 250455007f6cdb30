// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/host/execution.hpp"

#include "device/host/host_stream.hpp"

namespace quadrille::device {
namespace {

using Space = Kokkos::DefaultHostExecutionSpace;
static_assert(std::is_same_v<Space, Kokkos::OpenMP>,
              "instances with a number of threads of their own need Kokkos with OpenMP");

HostStream& host_stream(StreamView stream) {
  QUAD_REQUIRE(stream && stream.device().kind() == Kind::host,
               "a host kernel needs a stream of the host device");
  return *static_cast<HostStream*>(stream.backend());
}

}  // namespace

Space const& host_execution(StreamView view) {
  HostStream& stream = host_stream(view);
  QUAD_REQUIRE(stream.on_worker(), "host_execution belongs inside a task of its stream");
  auto& space = stream.execution();
  if (!space) {
    QUAD_REQUIRE(Kokkos::is_initialized() && !Kokkos::is_finalized(),
                 "host kernels need a living KokkosRuntime");
    space = std::make_shared<Space>(stream.threads());
  }
  return *static_cast<Space const*>(space.get());
}

}  // namespace quadrille::device

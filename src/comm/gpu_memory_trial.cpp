// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu_memory_trial.hpp"

#include "comm/mpi_handle.hpp"
#include "comm/trial.hpp"
#include "device/device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

// Open MPI and what descends from it; MPICH and its kin declare their question in mpi.h.
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

namespace quadrille::comm {
namespace {

using Bytes = std::vector<std::byte>;

// One that MPI sends at once and one that it first announces, as the largest of a channel.
constexpr std::size_t kSmall = 1000, kLarge = 2UL << 20;

/// Differs by position, sender and receiver.
Bytes pattern(std::size_t bytes, int from, int to) {
  Bytes all(bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    all[i] = static_cast<std::byte>(
        (i * 131 + i / 256 * 17 + index(from) * 59 + index(to) * 101 + 7) & 0xff);
  }
  return all;
}

}  // namespace

bool is_built_for_gpu_memory() {
#if (defined(MPIX_CUDA_AWARE_SUPPORT) && MPIX_CUDA_AWARE_SUPPORT) || defined(MPIX_GPU_SUPPORT_CUDA)
  return true;
#else
  return false;
#endif
}

bool takes_gpu_memory() {
#if defined(MPIX_CUDA_AWARE_SUPPORT) && MPIX_CUDA_AWARE_SUPPORT
  return MPIX_Query_cuda_support() == 1;
#elif defined(MPIX_GPU_SUPPORT_CUDA)
  int is_supported = 0;
  QUAD_MPI(MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &is_supported));
  return is_supported != 0;
#else
  return false;
#endif
}

TriedExchange tried_mpi_exchange(Group const& group) {
  return [comm = handle(group)](ConstPiece out, int to, Piece in, int from) {
    std::array<MPI_Request, 2> requests{};
    QUAD_MPI(
        MPI_Irecv(in.data, static_cast<int>(in.bytes), MPI_BYTE, from, 0, comm, requests.data()));
    QUAD_MPI(MPI_Isend(out.data, static_cast<int>(out.bytes), MPI_BYTE, to, 0, comm, &requests[1]));
    QUAD_MPI(MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE));
  };
}

std::string gpu_memory_problem(bool is_allowed, Group const& group, device::StreamView stream,
                               TriedExchange const& exchange) {
  std::string const denied = first_reason(group, is_allowed ? "" : kTakesNoGpuMemory);
  if (!denied.empty()) return denied;
  int const rank = group.rank(), size = group.size();
  int const next = (rank + 1) % size, previous = (rank + size - 1) % size;
  std::string why;
  for (std::size_t const bytes : {kSmall, kLarge}) {
    auto const n = static_cast<std::int64_t>(bytes);
    device::Buffer<std::byte> const out{stream.device(), n, stream};
    device::Buffer<std::byte> const in{stream.device(), n, stream};
    for (auto const& [to, from] : {std::pair{rank, rank}, std::pair{next, previous}}) {
      Bytes const sent = pattern(bytes, rank, to), expected = pattern(bytes, from, rank);
      stream.copy(out.data(), sent.data(), bytes);
      stream.fill(in.data(), 0xFF, bytes);
      stream.synchronize();
      exchange({out.data(), bytes}, to, {in.data(), bytes}, from);
      Bytes seen(bytes);
      stream.copy(seen.data(), in.data(), bytes);
      stream.synchronize();
      auto const wrong = std::ranges::mismatch(seen, expected).in1;
      if (wrong == seen.end() || !why.empty()) continue;
      why = fmt::format("byte {} of {} in GPU memory of rank {} did not arrive in that of rank {}",
                        wrong - seen.begin(), bytes, from, rank);
    }
  }
  return first_reason(group, why);
}

}  // namespace quadrille::comm

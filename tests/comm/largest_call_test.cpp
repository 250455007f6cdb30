// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/transport.hpp"
#include "support/mpi_world.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <numeric>
#include <vector>

namespace {

/// Bytes that each call of the library moves between this rank and the others. While `is_recording`
/// nothing else happens in them, so that exchanges need no memory.
std::atomic<bool> is_recording = false;
std::mutex mutex;
std::vector<std::int64_t> calls;

void record(std::int64_t elements, MPI_Datatype type) {
  int size = 0;
  MPI_Type_size(type, &size);
  std::lock_guard const lock{mutex};
  calls.push_back(elements * size);
}

std::int64_t sum_over_ranks(int const* counts, MPI_Comm comm) {
  int ranks = 0;
  MPI_Comm_size(comm, &ranks);
  return std::accumulate(counts, counts + ranks, std::int64_t{0});
}

}  // namespace

// The library's profiling interface.
extern "C" {
int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  if (!is_recording) return PMPI_Bcast(data, count, type, root, comm);
  record(count, type);
  return MPI_SUCCESS;
}
int MPI_Allreduce(void const* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
  if (!is_recording) return PMPI_Allreduce(in, out, count, type, op, comm);
  // A single number is how ranks agree on what follows.
  if (count > 1) record(count, type);
  return MPI_SUCCESS;
}
int MPI_Reduce_scatter(void const* in, void* out, int const* counts, MPI_Datatype type, MPI_Op op,
                       MPI_Comm comm) {
  if (!is_recording) return PMPI_Reduce_scatter(in, out, counts, type, op, comm);
  record(sum_over_ranks(counts, comm), type);
  return MPI_SUCCESS;
}
int MPI_Allgatherv(void const* in, int count, MPI_Datatype type, void* out, int const* counts,
                   int const* places, MPI_Datatype out_type, MPI_Comm comm) {
  if (!is_recording) return PMPI_Allgatherv(in, count, type, out, counts, places, out_type, comm);
  record(sum_over_ranks(counts, comm), out_type);
  return MPI_SUCCESS;
}
int MPI_Alltoallv(void const* in, int const* sent, int const* sent_from, MPI_Datatype type,
                  void* out, int const* received, int const* received_at, MPI_Datatype out_type,
                  MPI_Comm comm) {
  if (!is_recording) {
    return PMPI_Alltoallv(in, sent, sent_from, type, out, received, received_at, out_type, comm);
  }
  record(sum_over_ranks(sent, comm), type);
  record(sum_over_ranks(received, comm), out_type);
  return MPI_SUCCESS;
}
int MPI_Send(void const* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  if (!is_recording) return PMPI_Send(data, count, type, to, tag, comm);
  record(count, type);
  return MPI_SUCCESS;
}
int MPI_Recv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
             MPI_Status* status) {
  if (!is_recording) return PMPI_Recv(data, count, type, from, tag, comm, status);
  record(count, type);
  return MPI_SUCCESS;
}
int MPI_Sendrecv(void const* send, int sent, MPI_Datatype send_type, int to, int send_tag,
                 void* receive, int received, MPI_Datatype receive_type, int from, int receive_tag,
                 MPI_Comm comm, MPI_Status* status) {
  if (!is_recording) {
    return PMPI_Sendrecv(send, sent, send_type, to, send_tag, receive, received, receive_type, from,
                         receive_tag, comm, status);
  }
  EXPECT_EQ(sent, received);
  record(received, receive_type);
  return MPI_SUCCESS;
}
}

namespace quadrille::comm {
namespace {

using test::world;

constexpr std::int64_t kLargest = std::int64_t{1} << 30;

/// What a transport calls to move 2.5 GiB that are nowhere: one piece for one rank, so that nothing is
/// copied together.
class LargestCall : public testing::Test {
 protected:
  static constexpr std::size_t kEach = (std::size_t{5} << 29) + 8;  // 2.5 GiB

  template <class Exchange>
  static std::vector<std::int64_t> calls_of(std::string_view transport, std::size_t chunk_bytes,
                                            Exchange exchange) {
    auto const made = make_transport(transport, world(), {chunk_bytes});
    auto const channel = made->connect(world().group());
    world().group().barrier();
    calls.clear();
    is_recording = true;
    exchange(*channel, world().stream()).wait_on(world().stream());
    world().stream().synchronize();
    is_recording = false;
    world().group().barrier();
    return calls;
  }

  static Piece whole() { return {reinterpret_cast<void*>(4096), kEach}; }
  static Piece whole_if(bool has_it) { return has_it ? whole() : Piece{}; }
  /// One for each rank, of which that of one rank is all.
  template <class P>
  static std::vector<P> only(int rank, bool has_it = true) {
    std::vector<P> pieces(index(world().size()));
    pieces[index(rank)] = whole_if(has_it);
    return pieces;
  }

  /// All of it moves, in calls that a count in int can name; `most` bytes a call.
  static void expect_split(std::vector<std::int64_t> const& made, std::size_t bytes,
                           std::int64_t most = kLargest) {
    EXPECT_EQ(std::accumulate(made.begin(), made.end(), std::int64_t{0}),
              static_cast<std::int64_t>(bytes));
    for (std::int64_t const call : made) EXPECT_LE(call, most);
  }
};

TEST_F(LargestCall, OfPlainMpi) {
  int const rank = world().rank();
  int const next = (rank + 1) % world().size();
  int const previous = (rank + world().size() - 1) % world().size();
  auto const split = [](auto exchange) {
    constexpr std::size_t kChunk = 16 << 10;  // is no limit of the library's own calls
    return calls_of("mpi_blocking", kChunk, exchange);
  };
  expect_split(split([](Channel& channel, device::StreamView stream) {
                 return channel.broadcast(whole(), 0, stream);
               }),
               kEach);
  expect_split(split([](Channel& channel, device::StreamView stream) {
                 return channel.allreduce(whole(), whole(), core::DataType::f64, ReduceOp::sum,
                                          stream);
               }),
               kEach);
  expect_split(split([&](Channel& channel, device::StreamView stream) {
                 return channel.reduce_scatter(only<ConstPiece>(1), whole_if(rank == 1),
                                               core::DataType::f64, ReduceOp::sum, stream);
               }),
               kEach);
  expect_split(split([&](Channel& channel, device::StreamView stream) {
                 return channel.allgather(whole_if(rank == 1), only<Piece>(1), stream);
               }),
               kEach);
  expect_split(split([&](Channel& channel, device::StreamView stream) {
                 return channel.alltoallv(only<ConstPiece>(1, rank == 0), only<Piece>(0, rank == 1),
                                          stream);
               }),
               rank < 2 ? kEach : 0);
  expect_split(split([&](Channel& channel, device::StreamView stream) {
                 return channel.sendrecv(whole(), next, whole(), previous, stream);
               }),
               kEach);
}

TEST_F(LargestCall, OfTheReferenceIsAChunk) {
  std::size_t const receivers = world().rank() == 0 ? index(world().size() - 1) : 1;
  for (std::size_t const chunk : {std::size_t{1} << 20, std::size_t{1} << 40}) {
    expect_split(calls_of("reference", chunk,
                          [](Channel& channel, device::StreamView stream) {
                            return channel.broadcast(whole(), 0, stream);
                          }),
                 receivers * kEach, std::min(static_cast<std::int64_t>(chunk), kLargest));
  }
}

}  // namespace
}  // namespace quadrille::comm

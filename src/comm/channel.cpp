// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/channel.hpp"

#include "core/error.hpp"
#include "device/trace.hpp"

#include <fmt/format.h>

namespace quadrille::comm {
namespace {

constexpr std::size_t kRequests = 64;

void require_reducible(char const* exchange, std::size_t bytes, core::DataType type, ReduceOp op) {
  bool const is_small = type == core::DataType::f16 || type == core::DataType::bf16;
  bool const is_known = type == core::DataType::f64 || type == core::DataType::f32 ||
                        type == core::DataType::i64 || type == core::DataType::i32 ||
                        (is_small && op == ReduceOp::sum);
  if (!is_known) {
    core::fail(fmt::format("{}: no reduction of {}; use f64, f32, i64 or i32, or sums of 16 bits",
                           exchange, core::to_text(type)));
  }
  if (bytes % core::size_of(type) != 0) {
    core::fail(fmt::format("{}: {} bytes are no whole elements of {}", exchange, bytes,
                           core::to_text(type)));
  }
}

}  // namespace

Channel::Channel(device::Device& device, int rank, int size)
    : rank_{rank}, size_{size}, start_{device} {
  for (std::size_t i = 0; i < kRequests; ++i) finished_.emplace_back(device);
}

template <class Exchange>
Request Channel::enqueue(char const* name, std::size_t bytes, device::StreamView after,
                         Exchange exchange) {
  device::Event& finished = finished_[count_++ % kRequests];
  if (streams_.empty()) {
    // Exchanges travel in the order of the calls on two streams, too.
    if (caller_ && !(caller_ == after)) {
      caller_.record(start_);
      after.wait(start_);
    }
    caller_ = after;
    device::TraceScope const traced{after, device::TraceKind::exchange, name, bytes};
    exchange();
    return Request{&finished, after};
  }
  after.record(start_);
  for (device::StreamView const stream : streams_) stream.wait(start_);
  {
    device::TraceScope const traced{last_stream(), device::TraceKind::exchange, name, bytes};
    exchange();
  }
  streams_.back().record(finished);
  return Request{&finished};
}

Request Channel::broadcast(Piece data, int root, device::StreamView after, Broadcast algorithm) {
  require_member("broadcast", root);
  return enqueue("broadcast", data.bytes, after, [&] { do_broadcast(data, root, algorithm); });
}

Request Channel::allreduce(ConstPiece in, Piece out, core::DataType type, ReduceOp op,
                           device::StreamView after) {
  require_reducible("allreduce", in.bytes, type, op);
  QUAD_REQUIRE(in.bytes == out.bytes, "allreduce: input and output differ in size");
  return enqueue("allreduce", in.bytes, after, [&] { do_allreduce(in, out, type, op); });
}

Request Channel::reduce_scatter(std::span<ConstPiece const> parts, Piece out, core::DataType type,
                                ReduceOp op, device::StreamView after) {
  require_one_per_rank("reduce_scatter", parts.size());
  for (ConstPiece const& part : parts) require_reducible("reduce_scatter", part.bytes, type, op);
  QUAD_REQUIRE(parts[index(rank_)].bytes == out.bytes,
               "reduce_scatter: output and own part differ in size");
  return enqueue("reduce_scatter", total_of(parts), after,
                 [&] { do_reduce_scatter(parts, out, type, op); });
}

Request Channel::allgather(ConstPiece mine, std::span<Piece const> all, device::StreamView after) {
  require_one_per_rank("allgather", all.size());
  QUAD_REQUIRE(mine.bytes == all[index(rank_)].bytes,
               "allgather: own piece and its place differ in size");
  return enqueue("allgather", total_of(all), after, [&] { do_allgather(mine, all); });
}

Request Channel::alltoallv(std::span<ConstPiece const> send, std::span<Piece const> receive,
                           device::StreamView after) {
  require_one_per_rank("alltoallv", send.size());
  require_one_per_rank("alltoallv", receive.size());
  QUAD_REQUIRE(send[index(rank_)].bytes == receive[index(rank_)].bytes,
               "alltoallv: own piece and its place differ in size");
  return enqueue("alltoallv", total_of(send), after, [&] { do_alltoallv(send, receive); });
}

Request Channel::sendrecv(ConstPiece send, int to, Piece receive, int from,
                          device::StreamView after) {
  if (to < 0) {
    send = {};
  } else {
    require_member("sendrecv", to);
  }
  if (from < 0) {
    receive = {};
  } else {
    require_member("sendrecv", from);
  }
  bool const is_own = to == rank_ || from == rank_;
  QUAD_REQUIRE(!is_own || (to == from && send.bytes == receive.bytes),
               "sendrecv: a message to itself needs both sides of one size");
  return enqueue("sendrecv", send.bytes, after, [&] { do_sendrecv(send, to, receive, from); });
}

std::unique_ptr<Window> Channel::share(std::size_t bytes) { return do_share(bytes); }

Request Channel::access(Window const& window, std::span<Access const> accesses,
                        device::StreamView after) {
  require_one_per_rank("access", accesses.size());
  return enqueue("access", window.bytes(), after, [&] { do_access(window, accesses); });
}

Request Channel::barrier(device::StreamView after) {
  return enqueue("barrier", 0, after, [&] { do_barrier(); });
}

Request Channel::read(Window const& window, int rank, WindowRows const& from, void* to,
                      device::StreamView after) {
  require_member("read", rank);
  std::size_t const bytes = from.rows * from.row_bytes;
  QUAD_REQUIRE(
      bytes == 0 || from.first + (from.rows - 1) * from.pitch + from.row_bytes <= window.bytes(),
      "read: rows beyond the end of the window");
  return enqueue("read", bytes, after, [&] { do_read(window, rank, from, to); });
}

std::unique_ptr<Window> Channel::do_share(std::size_t) {
  core::fail("a window of a transport that shares none; use ipc");
}

void Channel::do_access(Window const&, std::span<Access const>) {
  core::fail("an access by a transport that shares no windows; use ipc");
}

void Channel::do_barrier() {
  core::fail("a barrier by a transport that shares no windows; use ipc");
}

void Channel::do_read(Window const&, int, WindowRows const&, void*) {
  core::fail("a read by a transport that shares no windows; use ipc");
}

void Channel::copy_own(Piece to, ConstPiece from) const {
  if (to.data != from.data) last_stream().copy(to.data, from.data, from.bytes);
}

Piece Channel::reserve(std::size_t bytes) {
  device::StreamView const stream = last_stream();
  if (scratch_.bytes() < bytes) {
    if (scratch_.bytes() > 0) stream.synchronize();
    scratch_ = {stream.device(), static_cast<std::int64_t>(bytes), stream};
  }
  return {scratch_.data(), bytes};
}

void Channel::require_one_per_rank(char const* exchange, std::size_t pieces) const {
  if (pieces == index(size_)) return;
  core::fail(fmt::format("{}: {} pieces for {} ranks", exchange, pieces, size_));
}

void Channel::require_member(char const* exchange, int rank) const {
  if (rank >= 0 && rank < size_) return;
  core::fail(fmt::format("{}: no rank {} among {}", exchange, rank, size_));
}

}  // namespace quadrille::comm

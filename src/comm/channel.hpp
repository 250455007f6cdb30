// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/piece.hpp"
#include "core/types.hpp"
#include "device/device.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace quadrille::comm {

enum class ReduceOp { sum, min, max };
constexpr auto enum_names(ReduceOp) {
  return core::EnumNames<ReduceOp, 3>{
      {{ReduceOp::sum, "sum"}, {ReduceOp::min, "min"}, {ReduceOp::max, "max"}}};
}
/// How a broadcast travels: the library's own algorithm, or a chunked ring of neighbours.
enum class Broadcast { library, ring };
constexpr auto enum_names(Broadcast) {
  return core::EnumNames<Broadcast, 2>{
      {{Broadcast::library, "library"}, {Broadcast::ring, "ring"}}};
}

/// One exchange under way. Valid until 64 later exchanges were started on its channel.
class Request {
 public:
  Request() = default;
  explicit Request(device::Event const* finished) : finished_{finished} {}
  /// Of an exchange on the caller's own stream, which has later work in order without an event.
  Request(device::Event* finished, device::StreamView caller)
      : finished_{finished}, unrecorded_{finished}, caller_{caller} {}
  /// Makes later work of `stream` start after the exchange. Never blocks the host. This alone
  /// orders work after the exchange; an empty request waits for nothing.
  void wait_on(device::StreamView stream) const {
    if (finished_ == nullptr || stream == caller_) return;
    if (unrecorded_ != nullptr) caller_.record(*unrecorded_);
    stream.wait(*finished_);
  }

 private:
  device::Event const* finished_ = nullptr;
  device::Event* unrecorded_ = nullptr;
  device::StreamView caller_;
};

/// Device memory of every rank of a channel, equally much of each, that work on the devices of all of
/// them reads and writes in place. Starts as 0xFF. Ends before its channel, on all ranks at the same
/// place and with nothing under way that uses it; whoever has opened a rank's memory closes it before
/// that ends.
class Window {
 public:
  Window(Window const&) = delete;
  Window& operator=(Window const&) = delete;
  virtual ~Window() = default;

  std::size_t bytes() const { return bytes_; }
  /// This rank's memory.
  std::byte* data() const { return own_; }
  /// Rank r's, where this rank's device reaches it.
  virtual std::byte* memory_of(int r) const = 0;

 protected:
  Window(std::byte* own, std::size_t bytes) : own_{own}, bytes_{bytes} {}

 private:
  std::byte* own_;
  std::size_t bytes_;
};

/// Rows of a rank's memory of a window, `pitch` bytes apart.
struct WindowRows {
  std::size_t first = 0;  ///< byte where they begin
  std::size_t pitch = 0, row_bytes = 0, rows = 0;
};

/// Enqueues work on the memory of a rank, which lies at `memory` for this rank's device.
using Access = std::function<void(std::byte* memory, device::StreamView stream)>;

/// A group of ranks connected by one transport. Collectives start after all earlier work of
/// `after`, return at once, and read or write device memory until their request is waited on.
/// Exchanges of a channel travel in the order of the calls but overlap: one that reads what an
/// earlier one wrote must wait on its request first. Every rank of the group makes the same calls
/// in the same order, and ends the channel at the same place with nothing under way in others. What
/// does not fit ends the job; a transport implements the checked exchanges.
class Channel {
 public:
  Channel(Channel const&) = delete;
  Channel& operator=(Channel const&) = delete;
  virtual ~Channel() = default;

  int rank() const { return rank_; }
  int size() const { return size_; }

  /// With a throttled link the algorithm is always the ring, whose messages the model can charge.
  Request broadcast(Piece data, int root, device::StreamView after,
                    Broadcast algorithm = Broadcast::library);
  /// `out` may be `in`. Types f64, f32, i64, i32, and sums of f16 and
  /// bf16, whose partial sums are rounded. min and max keep a NaN.
  Request allreduce(ConstPiece in, Piece out, core::DataType type, ReduceOp op,
                    device::StreamView after);
  /// parts[r] is this rank's contribution to rank r; `out` gets the reduction of all parts[rank()].
  Request reduce_scatter(std::span<ConstPiece const> parts, Piece out, core::DataType type,
                         ReduceOp op, device::StreamView after);
  /// all[r] gets rank r's piece; sizes may differ by rank and be 0.
  Request allgather(ConstPiece mine, std::span<Piece const> all, device::StreamView after);
  /// send[r] goes to rank r, receive[r] comes from rank r; receive sizes match the senders'.
  Request alltoallv(std::span<ConstPiece const> send, std::span<Piece const> receive,
                    device::StreamView after);
  /// A rank of -1 means no message that way.
  Request sendrecv(ConstPiece send, int to, Piece receive, int from, device::StreamView after);

  /// A window with at least so many bytes of this rank, as many as the rank has that asks for most.
  /// Collective; the host waits. Only where TransportEntry::shares_windows.
  std::unique_ptr<Window> share(std::size_t bytes);
  /// accesses[r], where it is not empty, enqueues what reads or writes rank r's memory of a window of
  /// this channel, behind all earlier work of r's `after`. When the exchange is over on a rank, all ranks
  /// are through with that one's memory.
  Request access(Window const& window, std::span<Access const> accesses, device::StreamView after);
  /// Over when all earlier work of every rank's `after` is done. Between two of these, ranks read each
  /// other's windows when they like.
  Request barrier(device::StreamView after);
  /// Rows of a rank's memory come to `to`, one behind the other. The rank has no part in it, nor need
  /// others read as often, or in the same order.
  Request read(Window const& window, int rank, WindowRows const& from, void* to,
               device::StreamView after);
  /// Whether work of this rank's device that reads a peer's memory once or twice does so where it is.
  virtual bool reads_in_place() const { return false; }

 protected:
  Channel(device::Device& device, int rank, int size);
  /// From the constructor: the streams that every exchange starts on, and the last of which is
  /// where it ends. Where it is not called, exchanges are in line: they run on the stream that they
  /// start after, which lives as long as the channel.
  void run_on(std::vector<device::StreamView> streams) { streams_ = std::move(streams); }

  // Each enqueues one exchange on the streams and may take for granted what Channel has checked.
  virtual void do_broadcast(Piece data, int root, Broadcast algorithm) = 0;
  virtual void do_allreduce(ConstPiece in, Piece out, core::DataType type, ReduceOp op) = 0;
  virtual void do_reduce_scatter(std::span<ConstPiece const> parts, Piece out, core::DataType type,
                                 ReduceOp op) = 0;
  virtual void do_allgather(ConstPiece mine, std::span<Piece const> all) = 0;
  virtual void do_alltoallv(std::span<ConstPiece const> send, std::span<Piece const> receive) = 0;
  /// A side without a message is empty. A message to itself has both.
  virtual void do_sendrecv(ConstPiece send, int to, Piece receive, int from) = 0;
  // Of transports that share windows.
  virtual std::unique_ptr<Window> do_share(std::size_t bytes);
  virtual void do_access(Window const& window, std::span<Access const> accesses);
  virtual void do_barrier();
  virtual void do_read(Window const& window, int rank, WindowRows const& from, void* to);

  /// Where the exchange that is being enqueued ends.
  device::StreamView last_stream() const { return streams_.empty() ? caller_ : streams_.back(); }
  int next(int r) const { return (r + 1) % size_; }
  int previous(int r) const { return (r + size_ - 1) % size_; }
  /// Copies where the exchange ends what a rank has for itself, unless it is there already.
  void copy_own(Piece to, ConstPiece from) const;
  /// Scratch memory of the exchange that is being enqueued, valid until the next call. The host
  /// waits for all earlier exchanges where it must grow.
  Piece reserve(std::size_t bytes);

 private:
  template <class Exchange>
  Request enqueue(char const* name, std::size_t bytes, device::StreamView after, Exchange exchange);
  void require_one_per_rank(char const* exchange, std::size_t pieces) const;
  void require_member(char const* exchange, int rank) const;

  int rank_;
  int size_;
  std::vector<device::StreamView> streams_;
  device::StreamView caller_;  ///< of the latest exchange, where streams_ is empty
  device::Event start_;
  std::vector<device::Event> finished_;  ///< of the latest exchanges
  std::size_t count_ = 0;                ///< exchanges so far
  device::Buffer<std::byte> scratch_;
};

}  // namespace quadrille::comm

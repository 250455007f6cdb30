// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/combine_of.hpp"
#include "comm/mpi_handle.hpp"
#include "comm/transport.hpp"
#include "comm/world.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

namespace quadrille::comm {
namespace {

// Counts are int in MPI; 1 GiB stays clear of the limit for every type.
constexpr std::size_t kLargestMessage = 1UL << 30;

using Bytes = std::vector<std::byte>;

void copy_bytes(void* to, void const* from, std::size_t bytes) {
  if (bytes > 0 && to != from) std::memmove(to, from, bytes);
}

/// Where the pieces start, if they follow each other in memory; else null.
template <class P>
auto start_of_run(std::span<P const> pieces) -> decltype(pieces[0].data) {
  decltype(pieces[0].data) start = nullptr;
  std::size_t offset = 0;
  for (P const& piece : pieces) {
    if (piece.bytes == 0) continue;
    if (start == nullptr) start = piece.data;
    if (piece.data != static_cast<std::byte const*>(start) + offset) return nullptr;
    offset += piece.bytes;
  }
  return start;
}

/// Pieces as one run that MPI reads: in place where they follow each other, else copied together.
class PackedInput {
 public:
  explicit PackedInput(std::span<ConstPiece const> pieces) : data_{start_of_run(pieces)} {
    if (data_ != nullptr) return;
    for (ConstPiece const& piece : pieces) {
      auto const* bytes = static_cast<std::byte const*>(piece.data);
      copied_.insert(copied_.end(), bytes, bytes + piece.bytes);
    }
    data_ = copied_.data();
  }
  void const* data() const { return data_; }

 private:
  void const* data_;
  Bytes copied_;
};

/// Pieces as one run that MPI writes; deal() puts the bytes to their places.
class PackedOutput {
 public:
  explicit PackedOutput(std::span<Piece const> pieces)
      : pieces_{pieces}, data_{start_of_run(pieces)} {
    if (data_ != nullptr) return;
    received_.resize(total_of(pieces));
    data_ = received_.data();
  }
  void* data() const { return data_; }
  void deal() const {
    if (received_.empty()) return;
    std::byte const* next = received_.data();
    for (Piece const& piece : pieces_) {
      copy_bytes(piece.data, next, piece.bytes);
      next += piece.bytes;
    }
  }

 private:
  std::span<Piece const> pieces_;
  void* data_;
  Bytes received_;
};

struct Layout {
  std::vector<int> counts, places;
};

template <class P>
Layout layout_of(std::span<P const> pieces, std::size_t element) {
  Layout layout;
  for (P const& piece : pieces) layout.counts.push_back(static_cast<int>(piece.bytes / element));
  layout.places.resize(pieces.size());
  std::exclusive_scan(layout.counts.begin(), layout.counts.end(), layout.places.begin(), 0);
  return layout;
}

/// Exchanges as host tasks in stream order: each blocks the channel's stream until it is over.
class DirectChannel : public Channel {
 public:
  DirectChannel(device::Device& device, std::size_t chunk_bytes, Group group)
      : Channel{device, group.rank(), group.size()},
        group_{std::move(group)},
        chunk_bytes_{std::min(chunk_bytes, kLargestMessage)},
        stream_{device, "direct"} {
    run_on({stream_});
  }

 protected:
  // The exchanges, in the task's thread.
  virtual void broadcast_now(Piece data, int root) = 0;
  virtual void allreduce_now(ConstPiece in, Piece out, core::DataType type, ReduceOp op) = 0;
  virtual void reduce_scatter_now(std::span<ConstPiece const> parts, Piece out, core::DataType type,
                                  ReduceOp op) = 0;
  virtual void allgather_now(ConstPiece mine, std::span<Piece const> all) = 0;
  virtual void alltoallv_now(std::span<ConstPiece const> send, std::span<Piece const> receive) = 0;

  MPI_Comm comm() const { return handle(group_); }
  std::size_t chunk_bytes() const { return chunk_bytes_; }

 private:
  void do_broadcast(Piece data, int root, Broadcast) final {
    stream_.view().run([=, this] { broadcast_now(data, root); });
  }
  void do_allreduce(ConstPiece in, Piece out, core::DataType type, ReduceOp op) final {
    stream_.view().run([=, this] { allreduce_now(in, out, type, op); });
  }
  void do_reduce_scatter(std::span<ConstPiece const> parts, Piece out, core::DataType type,
                         ReduceOp op) final {
    stream_.view().run([=, this, kept = std::vector<ConstPiece>{parts.begin(), parts.end()}] {
      reduce_scatter_now(kept, out, type, op);
    });
  }
  void do_allgather(ConstPiece mine, std::span<Piece const> all) final {
    stream_.view().run([=, this, kept = std::vector<Piece>{all.begin(), all.end()}] {
      allgather_now(mine, kept);
    });
  }
  void do_alltoallv(std::span<ConstPiece const> send, std::span<Piece const> receive) final {
    stream_.view().run(
        [this, out = std::vector<ConstPiece>{send.begin(), send.end()},
         in = std::vector<Piece>{receive.begin(), receive.end()}] { alltoallv_now(out, in); });
  }
  void do_sendrecv(ConstPiece send, int to, Piece receive, int from) final {
    stream_.view().run([=, this] {
      group_.exchange({static_cast<std::byte const*>(send.data), send.bytes}, to,
                      {static_cast<std::byte*>(receive.data), receive.bytes}, from);
    });
  }

  Group group_;
  std::size_t chunk_bytes_;
  device::Stream stream_;
};

/// The MPI library's own blocking collectives. In rounds only where counts would leave int.
class BlockingChannel final : public DirectChannel {
 public:
  using DirectChannel::DirectChannel;

 private:
  void broadcast_now(Piece data, int root) override {
    for (std::size_t first = 0; first < data.bytes; first += kLargestMessage) {
      Piece const chunk = part_of(data, first, kLargestMessage);
      QUAD_MPI(MPI_Bcast(chunk.data, static_cast<int>(chunk.bytes), MPI_BYTE, root, comm()));
    }
  }

  void allreduce_now(ConstPiece in, Piece out, core::DataType type, ReduceOp op) override {
    ReduceFunction const function{op, type};
    for (std::size_t first = 0; first < in.bytes; first += kLargestMessage) {
      ConstPiece const from = part_of(in, first, kLargestMessage);
      Piece const to = part_of(out, first, kLargestMessage);
      QUAD_MPI(MPI_Allreduce(from.data == to.data ? MPI_IN_PLACE : from.data, to.data,
                             static_cast<int>(from.bytes / core::size_of(type)), mpi_type(type),
                             function.get(), comm()));
    }
  }

  void reduce_scatter_now(std::span<ConstPiece const> parts, Piece out, core::DataType type,
                          ReduceOp op) override {
    ReduceFunction const function{op, type};
    std::size_t const share = largest_share();
    for (std::size_t first = 0; first < largest_of(parts); first += share) {
      std::vector<ConstPiece> const round = parts_of(parts, first, share);
      PackedInput const input{round};
      Layout const layout = layout_of(std::span{round}, core::size_of(type));
      QUAD_MPI(MPI_Reduce_scatter(input.data(), part_of(out, first, share).data,
                                  layout.counts.data(), mpi_type(type), function.get(), comm()));
    }
  }

  void allgather_now(ConstPiece mine, std::span<Piece const> all) override {
    std::size_t const share = largest_share();
    for (std::size_t first = 0; first < largest_of(all); first += share) {
      std::vector<Piece> const round = parts_of(all, first, share);
      ConstPiece const from = part_of(mine, first, share);
      PackedOutput const output{round};
      Layout const layout = layout_of(std::span{round}, 1);
      bool const is_in_place =
          from.bytes > 0 && output.data() != nullptr &&
          from.data == static_cast<std::byte*>(output.data()) + layout.places[index(rank())];
      QUAD_MPI(MPI_Allgatherv(is_in_place ? MPI_IN_PLACE : from.data, static_cast<int>(from.bytes),
                              MPI_BYTE, output.data(), layout.counts.data(), layout.places.data(),
                              MPI_BYTE, comm()));
      output.deal();
    }
  }

  void alltoallv_now(std::span<ConstPiece const> send, std::span<Piece const> receive) override {
    // Every rank must make the same number of calls, whatever the sizes of its own pieces.
    std::size_t largest = std::max(largest_of(send), largest_of(receive));
    QUAD_MPI(MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_UINT64_T, MPI_MAX, comm()));
    std::size_t const share = largest_share();
    for (std::size_t first = 0; first < largest; first += share) {
      std::vector<ConstPiece> const out = parts_of(send, first, share);
      std::vector<Piece> const in = parts_of(receive, first, share);
      PackedInput const input{out};
      PackedOutput const output{in};
      Layout const sent = layout_of(std::span{out}, 1);
      Layout const received = layout_of(std::span{in}, 1);
      QUAD_MPI(MPI_Alltoallv(input.data(), sent.counts.data(), sent.places.data(), MPI_BYTE,
                             output.data(), received.counts.data(), received.places.data(),
                             MPI_BYTE, comm()));
      output.deal();
    }
  }

  /// Bytes of each piece in one round, a multiple of every element size.
  std::size_t largest_share() const { return kLargestMessage / index(size()) / 64 * 64; }

  template <class P>
  static std::vector<P> parts_of(std::span<P const> pieces, std::size_t first, std::size_t bytes) {
    std::vector<P> parts;
    for (P const& piece : pieces) parts.push_back(part_of(piece, first, bytes));
    return parts;
  }
};

/// One rank does all the work, message by message. To be checked by eye, not to be fast.
class ReferenceChannel final : public DirectChannel {
 public:
  using DirectChannel::DirectChannel;

 private:
  void broadcast_now(Piece data, int root) override {
    if (rank() != root) return receive(data, root);
    for (int r = 0; r < size(); ++r) {
      if (r != root) send({data.data, data.bytes}, r);
    }
  }

  void allreduce_now(ConstPiece in, Piece out, core::DataType type, ReduceOp op) override {
    reduce_to(0, in, out, type, op);
    broadcast_now(out, 0);
  }

  void reduce_scatter_now(std::span<ConstPiece const> parts, Piece out, core::DataType type,
                          ReduceOp op) override {
    for (int r = 0; r < size(); ++r) reduce_to(r, parts[index(r)], out, type, op);
  }

  void allgather_now(ConstPiece mine, std::span<Piece const> all) override {
    Piece const own = all[index(rank())];
    copy_bytes(own.data, mine.data, mine.bytes);
    for (int r = 0; r < size(); ++r) broadcast_now(all[index(r)], r);
  }

  void alltoallv_now(std::span<ConstPiece const> out, std::span<Piece const> in) override {
    for (int sender = 0; sender < size(); ++sender) {
      if (sender != rank()) {
        receive(in[index(sender)], sender);
        continue;
      }
      for (int r = 0; r < size(); ++r) {
        if (r != sender) send(out[index(r)], r);
      }
    }
    copy_bytes(in[index(rank())].data, out[index(rank())].data, out[index(rank())].bytes);
  }

  /// Rank `root` gets everybody's contribution and adds them in rank order.
  void reduce_to(int root, ConstPiece in, Piece out, core::DataType type, ReduceOp op) const {
    if (rank() != root) return send(in, root);
    Bytes sum(in.bytes);
    Bytes other(in.bytes);
    for (int r = 0; r < size(); ++r) {
      if (r == rank()) {
        copy_bytes(other.data(), in.data, in.bytes);
      } else {
        receive({other.data(), other.size()}, r);
      }
      if (r == 0) {
        sum = other;
      } else {
        combine(sum, other, type, op);
      }
    }
    copy_bytes(out.data, sum.data(), sum.size());
  }

  static void combine(Bytes& sum, Bytes const& other, core::DataType type, ReduceOp op) {
    kernels::visit_combine(type, combine_of(op), [&]<class T, kernels::Combine kOp>() {
      auto* a = reinterpret_cast<T*>(sum.data());
      auto const* b = reinterpret_cast<T const*>(other.data());
      for (std::size_t i = 0; i < sum.size() / sizeof(T); ++i) {
        a[i] = kernels::combine_element<kOp>(a[i], b[i]);
      }
    });
  }

  void send(ConstPiece data, int to) const {
    for (std::size_t first = 0; first < data.bytes; first += chunk_bytes()) {
      ConstPiece const chunk = part_of(data, first, chunk_bytes());
      QUAD_MPI(MPI_Send(chunk.data, static_cast<int>(chunk.bytes), MPI_BYTE, to, 0, comm()));
    }
  }
  void receive(Piece data, int from) const {
    for (std::size_t first = 0; first < data.bytes; first += chunk_bytes()) {
      Piece const chunk = part_of(data, first, chunk_bytes());
      QUAD_MPI(MPI_Recv(chunk.data, static_cast<int>(chunk.bytes), MPI_BYTE, from, 0, comm(),
                        MPI_STATUS_IGNORE));
    }
  }
};

template <class ChannelType>
class DirectTransport final : public Transport {
 public:
  DirectTransport(device::Device& device, TransportOptions const& options)
      : device_{device}, chunk_bytes_{options.chunk_bytes} {}

 private:
  std::unique_ptr<Channel> do_connect(Group const& group, Order) override {
    return std::make_unique<ChannelType>(device_, chunk_bytes_, group.duplicate());
  }

  device::Device& device_;
  std::size_t chunk_bytes_;
};

template <class ChannelType>
std::unique_ptr<Transport> make(World const& world, TransportOptions const& options) {
  return std::make_unique<DirectTransport<ChannelType>>(world.device(), options);
}

}  // namespace

/// The plain blocking MPI collective as one host task in stream order: the library line beside ours.
extern constinit TransportEntry const mpi_blocking_transport{
    .name = "mpi_blocking",
    .summary = "plain blocking MPI collectives, host device only",
    .moves_host = true,
    .make = make<BlockingChannel>,
};

/// Textbook algorithms: the root does all the work with blocking sends.
extern constinit TransportEntry const reference_transport{
    .name = "reference",
    .summary = "textbook: one rank does all the work, host device only",
    .moves_host = true,
    .make = make<ReferenceChannel>,
};

}  // namespace quadrille::comm

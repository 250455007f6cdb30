// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/faulty_channel.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace quadrille::comm {
namespace {

/// Every exchange runs on one stream, from the copies before it to those behind it, so that one
/// piece of scratch memory serves them all.
class FaultyChannel final : public Channel {
 public:
  FaultyChannel(std::unique_ptr<Channel> real, MessageFault fault, device::Device& device,
                std::size_t chunk_bytes)
      : Channel{device, real->rank(), real->size()},
        own_{device, "faulty"},
        stream_{own_.view()},
        real_{std::move(real)},
        fault_{fault},
        chunk_bytes_{chunk_bytes} {
    run_on({stream_});
  }
  ~FaultyChannel() override { stream_.synchronize(); }

 private:
  void do_broadcast(Piece data, int root, Broadcast algorithm) override {
    bool const is_root = rank() == root;
    if (fault_ == MessageFault::wrong_rank) {
      // The true root keeps its data: they may be input of later work.
      Piece const to = is_root ? reserve(data.bytes) : data;
      real_->broadcast(to, next(root), stream_, algorithm).wait_on(stream_);
      return;
    }
    damage(one(is_root ? Piece{} : data),
           [&] { return real_->broadcast(data, root, stream_, algorithm); });
  }

  void do_allreduce(ConstPiece in, Piece out, core::DataType type, ReduceOp op) override {
    if (fault_ == MessageFault::wrong_rank) return replace_by_next(in, out);
    damage(one(out), [&] { return real_->allreduce(in, out, type, op, stream_); });
  }

  void do_reduce_scatter(std::span<ConstPiece const> parts, Piece out, core::DataType type,
                         ReduceOp op) override {
    if (fault_ == MessageFault::wrong_rank) {
      return replace_by_next(parts[index(previous(rank()))], out);
    }
    damage(one(out), [&] { return real_->reduce_scatter(parts, out, type, op, stream_); });
  }

  void do_allgather(ConstPiece mine, std::span<Piece const> all) override {
    auto const real = [&](std::span<Piece const> places) {
      return real_->allgather(mine, places, stream_);
    };
    if (fault_ == MessageFault::wrong_rank) return misplace(all, real);
    damage(from_others(all), [&] { return real(all); });
  }

  void do_alltoallv(std::span<ConstPiece const> send, std::span<Piece const> receive) override {
    auto const real = [&](std::span<Piece const> places) {
      return real_->alltoallv(send, places, stream_);
    };
    if (fault_ == MessageFault::wrong_rank) return misplace(receive, real);
    damage(from_others(receive), [&] { return real(receive); });
  }

  void do_sendrecv(ConstPiece send, int to, Piece receive, int from) override {
    if (fault_ == MessageFault::wrong_rank) {
      real_->sendrecv(send, to, reserve(receive.bytes), from, stream_).wait_on(stream_);
      return copy(receive, send);
    }
    damage(one(from == rank() ? Piece{} : receive),
           [&] { return real_->sendrecv(send, to, receive, from, stream_); });
  }

  std::unique_ptr<Window> do_share(std::size_t bytes) override { return real_->share(bytes); }

  void do_access(Window const& window, std::span<Access const> accesses) override {
    int last = -1;
    for (int r = 0; r < size(); ++r) {
      if (r != rank() && accesses[index(r)]) last = r;
    }
    // Whose accesses are made of each rank's memory.
    std::vector<std::vector<int>> whose(index(size()));
    for (int r = 0; r < size(); ++r) {
      bool const is_lost = fault_ == MessageFault::drop_message && r == last;
      bool const is_wrong = fault_ == MessageFault::wrong_rank && r != rank();
      if (accesses[index(r)] && !is_lost) whose[index(is_wrong ? next(r) : r)].push_back(r);
    }
    std::vector<Access> damaged;
    for (int r = 0; r < size(); ++r) {
      damaged.emplace_back([&, r](std::byte* memory, device::StreamView stream) {
        std::byte* const seen = is_late(r) ? late_part(window, r) : memory;
        for (int const other : whose[index(r)]) accesses[index(other)](seen, stream);
        if (is_late(r)) stream.copy(late_part(window, r), memory, window.bytes());
      });
    }
    for (int r = 0; r < size(); ++r) {
      if (is_late(r)) late_part(window, r);  // made, and filled, before the exchange begins
    }
    real_->access(window, damaged, stream_).wait_on(stream_);
  }

  void do_barrier() override { real_->barrier(stream_).wait_on(stream_); }

  void do_read(Window const& window, int rank, WindowRows const& from, void* to) override {
    bool const is_own = rank == this->rank();
    bool const is_wrong = !is_own && fault_ == MessageFault::wrong_rank;
    auto const exchange = [&] {
      return real_->read(window, is_wrong ? next(rank) : rank, from, to, stream_);
    };
    if (is_own || is_wrong) return exchange().wait_on(stream_);
    damage(one({to, from.rows * from.row_bytes}), exchange);
  }

  bool is_late(int r) const { return fault_ == MessageFault::misplaced_wait && r != rank(); }
  /// What a rank's memory held at the exchange before.
  std::byte* late_part(Window const& window, int r) {
    device::Buffer<std::byte>& late = late_windows_[{&window, r}];
    if (late.bytes() != window.bytes()) {
      late = {stream_.device(), static_cast<std::int64_t>(window.bytes()), stream_};
    }
    return late.data();
  }

  void copy(Piece to, ConstPiece from) const {
    stream_.copy(to.data, from.data, std::min(to.bytes, from.bytes));
  }

  /// What does not change the data, but which of them come when: `arriving` are the places that get
  /// data of other ranks, none of them empty.
  template <class Exchange>
  void damage(std::vector<Piece> const& arriving, Exchange exchange) {
    if (fault_ == MessageFault::misplaced_wait) {
      delay(arriving, exchange);
    } else {
      drop(arriving.empty() ? Piece{} : arriving.back(), exchange);
    }
  }

  /// The end of `arriving`, where another rank's data come last, is afterwards what it was before.
  template <class Exchange>
  void drop(Piece arriving, Exchange exchange) {
    std::size_t const bytes = std::min(arriving.bytes, chunk_bytes_);
    Piece const lost = part_of(arriving, arriving.bytes - bytes, bytes);
    Piece const before = reserve(bytes);
    copy(before, lost);
    exchange().wait_on(stream_);
    copy(lost, before);
  }

  /// Each place has afterwards what the exchange before brought for it, the first time what it held.
  /// Who waits long enough by chance reads old data all the same.
  template <class Exchange>
  void delay(std::vector<Piece> const& arriving, Exchange exchange) {
    for (Piece const& place : arriving) {
      device::Buffer<std::byte>& late = late_[place.data];
      if (late.bytes() >= place.bytes) continue;
      stream_.synchronize();
      late = {stream_.device(), static_cast<std::int64_t>(place.bytes), stream_};
      copy({late.data(), late.bytes()}, place);
    }
    exchange().wait_on(stream_);
    for (Piece const& place : arriving) {
      Piece const late{late_[place.data].data(), place.bytes};
      Piece const arrived = reserve(place.bytes);
      copy(arrived, place);
      copy(place, late);
      copy(late, arrived);
    }
  }

  static std::vector<Piece> one(Piece place) {
    return place.bytes > 0 ? std::vector{place} : std::vector<Piece>{};
  }
  std::vector<Piece> from_others(std::span<Piece const> pieces) const {
    std::vector<Piece> others;
    for (int r = 0; r < size(); ++r) {
      if (r != rank() && pieces[index(r)].bytes > 0) others.push_back(pieces[index(r)]);
    }
    return others;
  }

  /// What is sent to the previous rank and comes from the next. A copy, because `out` may be `mine`.
  void replace_by_next(ConstPiece mine, Piece out) {
    Piece const sent = reserve(mine.bytes);
    copy(sent, mine);
    real_->sendrecv(sent, previous(rank()), out, next(rank()), stream_).wait_on(stream_);
  }

  template <class Exchange>
  void misplace(std::span<Piece const> places, Exchange exchange) {
    Piece const run = reserve(total_of(places));
    std::vector<Piece> arrived;
    std::size_t first = 0;
    for (Piece const& place : places) {
      arrived.push_back(part_of(run, first, place.bytes));
      first += place.bytes;
    }
    exchange(arrived).wait_on(stream_);
    for (int r = 0; r < size(); ++r) {
      copy(places[index(next(r))], arrived[index(r)]);
    }
  }

  device::Stream own_;
  device::StreamView stream_;
  std::unique_ptr<Channel> real_;  ///< which may run on the stream
  MessageFault fault_;
  std::size_t chunk_bytes_;
  std::map<void*, device::Buffer<std::byte>> late_;  ///< what a place gets next, by its address
  std::map<std::pair<Window const*, int>, device::Buffer<std::byte>> late_windows_;
};

class FaultyTransport final : public Transport {
 public:
  FaultyTransport(std::unique_ptr<Transport> real, MessageFault fault, device::Device& device,
                  std::size_t chunk_bytes)
      : real_{std::move(real)}, fault_{fault}, device_{device}, chunk_bytes_{chunk_bytes} {}

 private:
  std::unique_ptr<Channel> do_connect(Group const& group, Order order) override {
    std::unique_ptr<Channel> channel = real_->connect(group, order);
    if (group.size() == 1) return channel;
    return std::make_unique<FaultyChannel>(std::move(channel), fault_, device_, chunk_bytes_);
  }

  std::unique_ptr<Transport> real_;
  MessageFault fault_;
  device::Device& device_;
  std::size_t chunk_bytes_;
};

}  // namespace

std::unique_ptr<Transport> make_faulty(std::unique_ptr<Transport> real, MessageFault fault,
                                       device::Device& device, std::size_t chunk_bytes) {
  return std::make_unique<FaultyTransport>(std::move(real), fault, device, chunk_bytes);
}

}  // namespace quadrille::comm

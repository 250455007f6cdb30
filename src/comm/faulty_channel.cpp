// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/faulty_channel.hpp"

#include <algorithm>
#include <vector>

namespace quadrille::comm {
namespace {

constexpr std::size_t kRequests = 64;

std::size_t index(int r) { return static_cast<std::size_t>(r); }

/// Every exchange runs on one stream, from the copies before it to those behind it, so that one
/// piece of scratch memory serves them all.
class FaultyChannel final : public Channel {
 public:
  FaultyChannel(std::unique_ptr<Channel> real, MessageFault fault, device::Device& device,
                std::size_t chunk_bytes)
      : real_{std::move(real)},
        fault_{fault},
        chunk_bytes_{chunk_bytes},
        own_{device, "faulty"},
        stream_{own_.view()},
        start_{device} {
    for (std::size_t i = 0; i < kRequests; ++i) finished_.emplace_back(device);
  }
  ~FaultyChannel() override { stream_.synchronize(); }

  int rank() const override { return real_->rank(); }
  int size() const override { return real_->size(); }

  Request broadcast(Piece data, int root, device::StreamView after, Broadcast algorithm) override {
    bool const is_root = rank() == root;
    begin(after);
    if (fault_ == MessageFault::wrong_rank) {
      // The true root keeps its data: they may be input of later work.
      Piece const to = is_root ? reserve(data.bytes) : data;
      real_->broadcast(to, next(root), stream_, algorithm).wait_on(stream_);
    } else {
      drop(is_root ? Piece{} : data,
           [&] { return real_->broadcast(data, root, stream_, algorithm); });
    }
    return finish();
  }

  Request allreduce(ConstPiece in, Piece out, core::DataType type, ReduceOp op,
                    device::StreamView after) override {
    begin(after);
    if (fault_ == MessageFault::wrong_rank) {
      replace_by_next(in, out);
    } else {
      drop(out, [&] { return real_->allreduce(in, out, type, op, stream_); });
    }
    return finish();
  }

  Request reduce_scatter(std::span<ConstPiece const> parts, Piece out, core::DataType type,
                         ReduceOp op, device::StreamView after) override {
    begin(after);
    if (fault_ == MessageFault::wrong_rank) {
      replace_by_next(parts[index(previous(rank()))], out);
    } else {
      drop(out, [&] { return real_->reduce_scatter(parts, out, type, op, stream_); });
    }
    return finish();
  }

  Request allgather(ConstPiece mine, std::span<Piece const> all,
                    device::StreamView after) override {
    begin(after);
    if (fault_ == MessageFault::wrong_rank) {
      misplace(all, [&](std::span<Piece const> places) {
        return real_->allgather(mine, places, stream_);
      });
    } else {
      drop(last_arriving(all), [&] { return real_->allgather(mine, all, stream_); });
    }
    return finish();
  }

  Request alltoallv(std::span<ConstPiece const> send, std::span<Piece const> receive,
                    device::StreamView after) override {
    begin(after);
    if (fault_ == MessageFault::wrong_rank) {
      misplace(receive, [&](std::span<Piece const> places) {
        return real_->alltoallv(send, places, stream_);
      });
    } else {
      drop(last_arriving(receive), [&] { return real_->alltoallv(send, receive, stream_); });
    }
    return finish();
  }

  Request sendrecv(ConstPiece send, int to, Piece receive, int from,
                   device::StreamView after) override {
    begin(after);
    if (fault_ == MessageFault::wrong_rank) {
      Piece const arrived = reserve(receive.bytes);
      real_->sendrecv(send, to, arrived, from, stream_).wait_on(stream_);
      if (from >= 0) copy(receive, send);
    } else {
      drop(from < 0 || from == rank() ? Piece{} : receive,
           [&] { return real_->sendrecv(send, to, receive, from, stream_); });
    }
    return finish();
  }

 private:
  int next(int r) const { return (r + 1) % size(); }
  int previous(int r) const { return (r + size() - 1) % size(); }

  void begin(device::StreamView after) {
    after.record(start_);
    stream_.wait(start_);
  }

  Request finish() {
    device::Event& event = finished_[count_++ % kRequests];
    stream_.record(event);
    return Request{&event};
  }

  void copy(Piece to, ConstPiece from) const {
    stream_.copy(to.data, from.data, std::min(to.bytes, from.bytes));
  }

  /// Scratch memory, valid until the next call. The host waits only where used memory must go.
  Piece reserve(std::size_t bytes) {
    if (scratch_.bytes() < bytes) {
      if (scratch_.bytes() > 0) stream_.synchronize();
      scratch_ = {stream_.device(), static_cast<std::int64_t>(bytes), stream_};
    }
    return {scratch_.data(), bytes};
  }

  /// The end of `arriving`, where another rank's data come last, is afterwards what it was before.
  template <class Exchange>
  void drop(Piece arriving, Exchange exchange) {
    std::size_t const bytes = std::min(arriving.bytes, chunk_bytes_);
    void* const lost = static_cast<std::byte*>(arriving.data) + (arriving.bytes - bytes);
    Piece const kept = reserve(bytes);
    stream_.copy(kept.data, lost, bytes);
    exchange().wait_on(stream_);
    stream_.copy(lost, kept.data, bytes);
  }

  Piece last_arriving(std::span<Piece const> pieces) const {
    Piece last;
    for (int r = 0; r < size(); ++r) {
      if (r != rank() && pieces[index(r)].bytes > 0) last = pieces[index(r)];
    }
    return last;
  }

  /// What is sent to the previous rank and comes from the next. A copy, because `out` may be `mine`.
  void replace_by_next(ConstPiece mine, Piece out) {
    Piece const sent = reserve(mine.bytes);
    copy(sent, mine);
    real_->sendrecv({sent.data, sent.bytes}, previous(rank()), out, next(rank()), stream_)
        .wait_on(stream_);
  }

  template <class Exchange>
  void misplace(std::span<Piece const> places, Exchange exchange) {
    std::size_t total = 0;
    for (Piece const& place : places) total += place.bytes;
    auto* place_in_scratch = static_cast<std::byte*>(reserve(total).data);
    std::vector<Piece> arrived;
    for (Piece const& place : places) {
      arrived.push_back({place_in_scratch, place.bytes});
      place_in_scratch += place.bytes;
    }
    exchange(arrived).wait_on(stream_);
    for (int r = 0; r < size(); ++r) {
      copy(places[index(next(r))], {arrived[index(r)].data, arrived[index(r)].bytes});
    }
  }

  std::unique_ptr<Channel> real_;
  MessageFault fault_;
  std::size_t chunk_bytes_;
  std::size_t count_ = 0;  ///< exchanges so far
  std::vector<device::Event> finished_;
  device::Buffer<std::byte> scratch_;
  device::Stream own_;
  device::StreamView stream_;
  device::Event start_;
};

class FaultyTransport final : public Transport {
 public:
  FaultyTransport(std::unique_ptr<Transport> real, MessageFault fault, device::Device& device,
                  std::size_t chunk_bytes)
      : real_{std::move(real)}, fault_{fault}, device_{device}, chunk_bytes_{chunk_bytes} {}

  std::unique_ptr<Channel> connect(Group const& group) override {
    std::unique_ptr<Channel> channel = real_->connect(group);
    if (group.size() == 1) return channel;
    return std::make_unique<FaultyChannel>(std::move(channel), fault_, device_, chunk_bytes_);
  }

 private:
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

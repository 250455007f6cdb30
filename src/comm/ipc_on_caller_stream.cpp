// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/ipc_on_caller_stream.hpp"

#include "comm/combine_of.hpp"
#include "comm/group_memory.hpp"
#include "support/exchange.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace quadrille::comm {
namespace {

namespace exchange = kernels::exchange;

constexpr std::size_t kPackedBytes = 64UL << 10;
// A block of a lane has a step in registers at once, four groups a thread.
constexpr std::size_t kStepBytes = 32UL << 10;
// Enough to hide the way to a peer and back behind each other's steps.
constexpr int kMaxLanes = 128;
// Up to these a message to all costs less than a second kernel.
constexpr std::size_t kLargestReducedByAll = 256UL << 10, kLargestToAll = 256UL << 10;
// Shares start at multiples of this, so that accesses stay aligned.
constexpr std::size_t kGrain = 128;

std::size_t rounded_up(std::size_t bytes) { return (bytes + kGrain - 1) / kGrain * kGrain; }

bool overlap(ConstPiece a, ConstPiece b) {
  auto const begin = [](ConstPiece p) { return reinterpret_cast<std::uintptr_t>(p.data); };
  return a.bytes > 0 && b.bytes > 0 && begin(a) < begin(b) + b.bytes &&
         begin(b) < begin(a) + a.bytes;
}

/// Each exchange is a kernel or two, whose messages are short ones, packed, or longer ones in lanes: by
/// their length, which both sides of a message know.
class CallerStreamChannel final : public Channel {
 public:
  CallerStreamChannel(device::Device& device, std::size_t chunk_bytes, Group group,
                      std::function<std::unique_ptr<Channel>(Group)> connect_streams)
      : Channel{device, group.rank(), group.size()},
        group_{std::move(group)},
        connect_streams_{std::move(connect_streams)},
        sizes_{.packed_bytes = kPackedBytes,
               .step_bytes = std::min(kStepBytes,
                                      chunk_bytes / exchange::kGroupBytes * exchange::kGroupBytes),
               .lanes = lanes_of(device)},
        area_bytes_{rounded_up(exchange::Area::bytes(sizes_))},
        memory_{device, group_, index(size()) * area_bytes_, 0, device::Stream{device, "ipc"}},
        counters_(index(size())) {}
  ~CallerStreamChannel() override {
    if (last_stream()) last_stream().synchronize();
  }

 private:
  using Sends = std::vector<ConstPiece>;
  using Receives = std::vector<Piece>;

  void do_broadcast(Piece data, int root, Broadcast algorithm) override {
    device::StreamView const stream = last_stream();
    if (algorithm == Broadcast::ring) {
      return streams().broadcast(data, root, stream, algorithm).wait_on(stream);
    }
    bool const is_root = rank() == root;
    ConstPiece const whole = data;
    if (size() == 2 || data.bytes <= kLargestToAll) {
      return copy(Sends(index(size()), is_root ? whole : ConstPiece{}),
                  one(root, is_root ? Piece{} : data), Own::stays);
    }
    // A share to each rank, and from there to all but the root.
    std::size_t const share = share_of(data.bytes);
    Sends sends(index(size()));
    Receives receives(index(size()));
    for (int r = 0; r < size(); ++r) {
      if (is_root) sends[index(r)] = part_of(whole, index(r) * share, share);
    }
    if (!is_root) receives[index(root)] = part_of(data, index(rank()) * share, share);
    copy(sends, receives, Own::stays);
    for (int r = 0; r < size(); ++r) {
      sends[index(r)] = r == root ? ConstPiece{} : part_of(whole, index(rank()) * share, share);
      receives[index(r)] = is_root ? Piece{} : part_of(data, index(r) * share, share);
    }
    copy(sends, receives, Own::stays);
  }

  void do_allreduce(ConstPiece in, Piece out, core::DataType type, ReduceOp op) override {
    // Of two ranks as many bytes travel either way.
    if (size() == 2 || in.bytes <= kLargestReducedByAll) {
      return combine(Sends(index(size()), in), out, type, op);
    }
    // Each rank reduces its share, and sends it to all.
    std::size_t const share = share_of(in.bytes);
    Sends parts;
    Receives places;
    for (int r = 0; r < size(); ++r) {
      parts.push_back(part_of(in, index(r) * share, share));
      places.push_back(part_of(out, index(r) * share, share));
    }
    Piece const mine = places[index(rank())];
    combine(parts, mine, type, op);
    copy(Sends(index(size()), mine), places, Own::stays);
  }

  void do_reduce_scatter(std::span<ConstPiece const> parts, Piece out, core::DataType type,
                         ReduceOp op) override {
    // Kernels read a part and write the result at the same time where these are one.
    bool const is_apart = std::ranges::all_of(parts, [&](ConstPiece part) {
      return !overlap(part, out) || (part.data == out.data && part.bytes == out.bytes);
    });
    Piece const to = is_apart ? out : reserve(out.bytes);
    combine(parts, to, type, op);
    copy_own(out, to);
  }

  void do_allgather(ConstPiece mine, std::span<Piece const> all) override {
    copy(Sends(index(size()), mine), all, Own::moves);
  }

  void do_alltoallv(std::span<ConstPiece const> send, std::span<Piece const> receive) override {
    copy(send, receive, Own::moves);
  }

  void do_sendrecv(ConstPiece send, int to, Piece receive, int from) override {
    if (to == rank()) return copy_own(receive, send);
    Sends sends(index(size()));
    if (to >= 0) sends[index(to)] = send;
    copy(sends, one(from, receive), Own::stays);
  }

  std::unique_ptr<Window> do_share(std::size_t bytes) override { return streams().share(bytes); }
  void do_access(Window const& window, std::span<Access const> accesses) override {
    streams().access(window, accesses, last_stream()).wait_on(last_stream());
  }

  void do_barrier() override { streams().barrier(last_stream()).wait_on(last_stream()); }
  void do_read(Window const& window, int rank, WindowRows const& from, void* to) override {
    streams().read(window, rank, from, to, last_stream()).wait_on(last_stream());
  }

  Channel& streams() {
    if (!streams_) streams_ = connect_streams_(group_.duplicate());
    return *streams_;
  }

  Receives one(int from, Piece receive) const {
    Receives receives(index(size()));
    if (from >= 0) receives[index(from)] = receive;
    return receives;
  }
  /// A lane, of two blocks, for each multiprocessor: all are resident, also on the smallest GPU of the
  /// group, and where ranks share one and a service lets their kernels run together.
  int lanes_of(device::Device& device) const {
    double const fewest = group_.min(static_cast<double>(device.facts().multiprocessors));
    std::vector<std::string> const gpus = group_.all_gather(device.facts().uuid);
    std::ptrdiff_t most = 1;
    for (std::string const& gpu : gpus) most = std::max(most, std::ranges::count(gpus, gpu));
    return std::clamp(static_cast<int>(fewest) / static_cast<int>(most), 1, kMaxLanes);
  }
  std::size_t share_of(std::size_t bytes) const {
    return rounded_up((bytes + index(size()) - 1) / index(size()));
  }

  static constexpr exchange::By kBoth[] = {exchange::By::packed, exchange::By::lanes};
  bool is_by(exchange::By by, std::size_t bytes) const {
    return bytes > 0 && (bytes <= sizes_.packed_bytes) == (by == exchange::By::packed);
  }

  exchange::Problem problem() const {
    exchange::Problem p{sizes_, size(), rank()};
    for (int r = 0; r < size(); ++r) {
      exchange::Peer& peer = p.peers[r];
      peer.here = memory_.of(rank()) + index(r) * area_bytes_;
      peer.there = memory_.of(r) + index(rank()) * area_bytes_;
    }
    return p;
  }
  void number(exchange::Problem& p, exchange::By by) {
    for (int r = 0; r < size(); ++r) {
      if (by == exchange::By::lanes) {
        counters_[index(r)].number_lanes(p.peers[r], sizes_);
      } else if (r != rank()) {
        counters_[index(r)].number_packed(p.peers[r]);
      }
    }
  }

  /// Whether a rank has something for itself.
  enum class Own { moves, stays };

  /// send[r] goes to rank r, receive[r] comes from there.
  void copy(std::span<ConstPiece const> send, std::span<Piece const> receive, Own own) {
    for (exchange::By const by : kBoth) {
      exchange::Problem p = problem();
      bool is_any = false;
      for (int r = 0; r < size(); ++r) {
        ConstPiece const out = send[index(r)];
        Piece const in = receive[index(r)];
        if (r == rank() && (own == Own::stays || out.data == in.data)) continue;
        exchange::Peer& peer = p.peers[r];
        if (is_by(by, out.bytes)) {
          peer.send = out.data;
          peer.send_bytes = out.bytes;
        }
        if (is_by(by, in.bytes)) {
          peer.receive = in.data;
          peer.receive_bytes = in.bytes;
        }
        is_any |= peer.send_bytes > 0 || peer.receive_bytes > 0;
      }
      if (!is_any) continue;
      number(p, by);
      exchange::copy(by, p, last_stream());
    }
  }

  /// `out` gets the parts[rank()] of all ranks.
  void combine(std::span<ConstPiece const> parts, Piece out, core::DataType type, ReduceOp op) {
    for (exchange::By const by : kBoth) {
      exchange::Problem p = problem();
      p.out = out.data;
      bool is_any = false;
      for (int r = 0; r < size(); ++r) {
        ConstPiece const part = parts[index(r)];
        exchange::Peer& peer = p.peers[r];
        if (is_by(by, part.bytes)) {
          peer.send = part.data;
          peer.send_bytes = part.bytes;
        }
        if (is_by(by, out.bytes)) peer.receive_bytes = out.bytes;
        is_any |= peer.send_bytes > 0 || peer.receive_bytes > 0;
      }
      if (!is_any) continue;
      number(p, by);
      exchange::combine(by, p, type, combine_of(op), last_stream());
    }
  }

  Group group_;
  std::function<std::unique_ptr<Channel>(Group)> connect_streams_;
  std::unique_ptr<Channel> streams_;
  exchange::Sizes sizes_;
  std::size_t area_bytes_;
  GroupMemory memory_;  ///< an area for each rank
  std::vector<exchange::Counters> counters_;
};

}  // namespace

bool has_ipc_on_caller_stream(device::Kind kind, int ranks) {
  return kind == device::Kind::cuda && exchange::is_built() && ranks > 1 &&
         ranks <= exchange::kMaxRanks;
}

std::unique_ptr<Channel> make_ipc_on_caller_stream(
    device::Device& device, std::size_t chunk_bytes, Group group,
    std::function<std::unique_ptr<Channel>(Group)> connect_streams) {
  return std::make_unique<CallerStreamChannel>(device, chunk_bytes, std::move(group),
                                               std::move(connect_streams));
}

}  // namespace quadrille::comm

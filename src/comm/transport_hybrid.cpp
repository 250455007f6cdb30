// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/transport.hpp"
#include "comm/world.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace quadrille::comm {

extern TransportEntry const ipc_transport, hybrid_transport;

namespace {

// What is under way in one stage while the stage before has the next.
constexpr std::size_t kPieceBytes = 4UL << 20;
constexpr std::size_t kGrain = 64;

/// Which ranks of a group are on which node, in the order of the nodes' first ranks.
class Nodes {
 public:
  Nodes(Group const& group, int node) {
    std::vector<std::string> known;
    for (std::string const& name : group.all_gather(std::to_string(node))) {
      auto const found = std::ranges::find(known, name);
      auto const at = static_cast<std::size_t>(found - known.begin());
      if (found == known.end()) {
        known.push_back(name);
        members_.emplace_back();
      }
      node_of_.push_back(static_cast<int>(at));
      local_of_.push_back(static_cast<int>(members_[at].size()));
      members_[at].push_back(static_cast<int>(node_of_.size()) - 1);
    }
  }
  int size() const { return static_cast<int>(members_.size()); }
  int of(int rank) const { return node_of_[index(rank)]; }
  int local(int rank) const { return local_of_[index(rank)]; }
  std::vector<int> const& members(int node) const { return members_[index(node)]; }
  bool are_even() const {
    return std::ranges::all_of(members_,
                               [&](auto const& one) { return one.size() == members_[0].size(); });
  }

 private:
  std::vector<int> node_of_, local_of_;
  std::vector<std::vector<int>> members_;
};

template <class P>
std::vector<P> chosen(std::span<P const> pieces, std::vector<int> const& ranks) {
  std::vector<P> some;
  for (int const r : ranks) some.push_back(pieces[index(r)]);
  return some;
}

/// Exchanges in up to three stages, one stream each: within nodes, between them, within nodes. Between
/// nodes each rank carries its share where all nodes have equally many ranks; else their first ranks
/// carry all.
class HybridChannel final : public Channel {
 public:
  HybridChannel(device::Device& device, Transport& inside, Transport& between, Group const& group,
                int node)
      : Channel{device, group.rank(), group.size()},
        nodes_{group, node},
        before_{device, "hybrid before"},
        between_{device, "hybrid between"},
        after_{device, "hybrid after"},
        scratch_free_{device} {
    run_on({before_, between_, after_});
    whole_ = between.connect(group);
    inside_ = inside.connect(group.split(own_node(), rank()));
    Group const leaders = group.split(is_leader() ? 0 : -1, rank());
    if (is_leader()) leaders_ = between.connect(leaders);
    if (nodes_.are_even()) column_ = between.connect(group.split(local(), own_node()));
  }
  ~HybridChannel() override {
    for (device::StreamView const stream : {before_.view(), between_.view(), after_.view()}) {
      stream.synchronize();
    }
  }

 private:
  void do_broadcast(Piece data, int root, Broadcast algorithm) override {
    for (std::size_t first = 0; first < data.bytes; first += kPieceBytes) {
      Piece const part = part_of(data, first, kPieceBytes);
      if (nodes_.of(root) == own_node()) {
        Request const here = inside_->broadcast(part, nodes_.local(root), before_, algorithm);
        here.wait_on(between_);
        here.wait_on(after_);
      }
      if (is_leader()) {
        leaders_->broadcast(part, nodes_.of(root), between_, algorithm).wait_on(after_);
      }
      if (nodes_.of(root) != own_node()) {
        inside_->broadcast(part, 0, after_, algorithm).wait_on(after_);
      }
    }
  }

  void do_allreduce(ConstPiece in, Piece out, core::DataType type, ReduceOp op) override {
    for (std::size_t first = 0; first < in.bytes; first += kPieceBytes) {
      ConstPiece const from = part_of(in, first, kPieceBytes);
      Piece const to = part_of(out, first, kPieceBytes);
      if (!column_) {
        Request const here = inside_->allreduce(from, to, type, op, before_);
        here.wait_on(between_);
        here.wait_on(after_);
        if (is_leader()) leaders_->allreduce(to, to, type, op, between_).wait_on(after_);
        inside_->broadcast(to, 0, after_).wait_on(after_);
        continue;
      }
      auto const ranks = index(inside_->size());
      std::size_t const share = (from.bytes + ranks * kGrain - 1) / (ranks * kGrain) * kGrain;
      std::vector<ConstPiece> parts;
      std::vector<Piece> places;
      for (std::size_t r = 0; r < ranks; ++r) {
        parts.push_back(part_of(from, r * share, share));
        places.push_back(part_of(to, r * share, share));
      }
      Piece const mine = places[index(local())];
      inside_->reduce_scatter(parts, mine, type, op, before_).wait_on(between_);
      column_->allreduce(mine, mine, type, op, between_).wait_on(after_);
      inside_->allgather(mine, places, after_).wait_on(after_);
    }
  }

  void do_reduce_scatter(std::span<ConstPiece const> parts, Piece out, core::DataType type,
                         ReduceOp op) override {
    if (!column_) return whole_->reduce_scatter(parts, out, type, op, after_).wait_on(after_);
    std::vector<ConstPiece> column;
    for (int n = 0; n < nodes_.size(); ++n) {
      column.push_back(parts[index(nodes_.members(n)[index(local())])]);
    }
    Piece const scratch = reserve(total_of(parts) + total_of(column));
    // Behind its first fill, and the exchange that had it before.
    after_.view().record(scratch_free_);
    before_.view().wait(scratch_free_);
    // One run for each rank of a node: what the ranks of its number on all nodes will have.
    std::vector<ConstPiece> runs;
    std::size_t first = 0;
    for (int l = 0; l < inside_->size(); ++l) {
      std::size_t const begin = first;
      for (int n = 0; n < nodes_.size(); ++n) {
        ConstPiece const part = parts[index(nodes_.members(n)[index(l)])];
        before_.view().copy(static_cast<std::byte*>(scratch.data) + first, part.data, part.bytes);
        first += part.bytes;
      }
      runs.push_back({static_cast<std::byte*>(scratch.data) + begin, first - begin});
    }
    Piece const sums = part_of(scratch, first, runs[index(local())].bytes);
    inside_->reduce_scatter(runs, sums, type, op, before_).wait_on(between_);
    std::size_t at = 0;
    for (ConstPiece& part : column) {
      part.data = static_cast<std::byte*>(sums.data) + at;
      at += part.bytes;
    }
    column_->reduce_scatter(column, out, type, op, between_).wait_on(after_);
  }

  void do_allgather(ConstPiece mine, std::span<Piece const> all) override {
    if (!column_) return whole_->allgather(mine, all, after_).wait_on(after_);
    std::vector<Piece> column;
    for (int n = 0; n < nodes_.size(); ++n) {
      column.push_back(all[index(nodes_.members(n)[index(local())])]);
    }
    column_->allgather(mine, column, between_).wait_on(after_);
    for (int n = 0; n < nodes_.size(); ++n) {
      inside_->allgather(column[index(n)], chosen(all, nodes_.members(n)), after_).wait_on(after_);
    }
  }

  void do_alltoallv(std::span<ConstPiece const> send, std::span<Piece const> receive) override {
    std::vector<int> const& here = nodes_.members(own_node());
    std::vector<ConstPiece> out{send.begin(), send.end()};
    std::vector<Piece> in{receive.begin(), receive.end()};
    for (int const r : here) {
      out[index(r)] = {};
      in[index(r)] = {};
    }
    inside_->alltoallv(chosen(send, here), chosen(receive, here), before_).wait_on(after_);
    whole_->alltoallv(out, in, between_).wait_on(after_);
  }

  void do_sendrecv(ConstPiece send, int to, Piece receive, int from) override {
    bool const sends_here = to >= 0 && nodes_.of(to) == own_node();
    bool const receives_here = from >= 0 && nodes_.of(from) == own_node();
    inside_
        ->sendrecv(send, sends_here ? nodes_.local(to) : -1, receive,
                   receives_here ? nodes_.local(from) : -1, before_)
        .wait_on(after_);
    whole_->sendrecv(send, sends_here ? -1 : to, receive, receives_here ? -1 : from, between_)
        .wait_on(after_);
  }

  int own_node() const { return nodes_.of(rank()); }
  int local() const { return nodes_.local(rank()); }
  bool is_leader() const { return local() == 0; }

  Nodes nodes_;
  device::Stream before_, between_, after_;
  device::Event scratch_free_;
  std::unique_ptr<Channel> whole_, inside_;
  std::unique_ptr<Channel> leaders_;  ///< of each node's first rank; null on others
  std::unique_ptr<Channel>
      column_;  ///< of the ranks of this number on all nodes; null where uneven
};

class HybridTransport final : public Transport {
 public:
  HybridTransport(World const& world, TransportOptions const& options)
      : world_{world},
        inside_{ipc_transport.make(world, options)},
        between_{between(world).make(world, options)} {}
  /// The preferred of those that join nodes.
  static TransportEntry const& between(World const& world) {
    TransportEntry const* best = nullptr;
    for (TransportEntry const* entry : transports()) {
      if (entry == &hybrid_transport || !entry->serves(world)) continue;
      if (best == nullptr || entry->preference > best->preference) best = entry;
    }
    return *best;
  }

 private:
  std::unique_ptr<Channel> do_connect(Group const& group, Order) override {
    return std::make_unique<HybridChannel>(world_.device(), *inside_, *between_, group,
                                           world_.node());
  }

  World const& world_;
  std::unique_ptr<Transport> inside_, between_;
};

std::string unavailable_reason(Machine const* machine) {
  if (machine == nullptr) return {};
  if (machine->nodes() == 1) return "all ranks are on one node; take ipc";
  return machine->trial_problem(ipc_transport);
}

}  // namespace

/// Shared memory within nodes, and between them what joins them.
extern TransportEntry const hybrid_transport{
    .name = "hybrid",
    .summary = "ipc within nodes; nccl, or else mpi, between them",
    .is_selectable = true,
    .moves_host = true,
    .moves_gpu = true,
    .limits_ctas = true,
    .uses_kernels = true,
    .is_host_driven = true,
    .device_bytes = ipc_transport.device_bytes,
    .unavailable_reason = unavailable_reason,
    .make = [](World const& world, TransportOptions const& options) -> std::unique_ptr<Transport> {
      return std::make_unique<HybridTransport>(world, options);
    },
};

}  // namespace quadrille::comm

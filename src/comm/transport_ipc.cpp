// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/combine_of.hpp"
#include "comm/group_memory.hpp"
#include "comm/ipc_on_caller_stream.hpp"
#include "comm/transport.hpp"
#include "comm/trial.hpp"
#include "comm/world.hpp"
#include "core/error.hpp"
#include "device/host/shared_memory.hpp"
#include "device/trace.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <sstream>
#include <thread>
#include <vector>

namespace quadrille::comm {

extern TransportEntry const ipc_transport;

namespace {

// What a sender may be ahead of a receiver.
constexpr std::uint32_t kSlots = 4;
// A GPU's copy of 8 MiB takes far longer than the words around it. On hosts a slot is to stay in the
// caches between the copy in and the copy out. With many ranks slots are smaller.
constexpr std::size_t kGpuSlotBytes = 8UL << 20, kHostSlotBytes = 512UL << 10;
constexpr std::size_t kGpuBytes = 256UL << 20, kHostBytes = 32UL << 20;
// Pieces of a chain of ranks, where each forwards what it has while the next piece comes.
constexpr std::size_t kChainBytes = 1UL << 20;
// Below these a message to all costs less than steps that depend on each other.
constexpr std::size_t kLargestToAll = 256UL << 10, kLargestReducedByAll = 64UL << 10;
// Parts of a piece start at multiples of this, so that every element type stays aligned.
constexpr std::size_t kGrain = 64;

/// What no other process is likely to hold by chance at the place where this one's is looked for.
std::uint64_t number_of_its_own() {
  return static_cast<std::uint64_t>(
      std::chrono::steady_clock::now().time_since_epoch().count() * 1021 + getpid());
}

std::size_t rounded_up(std::size_t bytes) { return (bytes + kGrain - 1) / kGrain * kGrain; }

/// What a rank holds for one peer, in memory that the peer has open: words that the peer sets, and what
/// is under way to it. Each on lines of its own.
class Area {
 public:
  Area(std::byte* start, std::size_t slot_bytes) : start_{start}, slot_bytes_{slot_bytes} {}
  static std::size_t bytes(std::size_t slot_bytes) { return kHeadBytes + kSlots * slot_bytes; }

  /// Number of messages that the peer has sent to the holder.
  device::SharedWord sent() const { return device::SharedWord{start_}; }
  /// Number of messages that the peer has taken from the holder.
  device::SharedWord taken() const { return device::SharedWord{start_ + kLine}; }
  /// Where message `number` of the holder is, if not in its slot.
  device::RemoteAddress* address(std::uint32_t number) const {
    return reinterpret_cast<device::RemoteAddress*>(start_ + 2 * kLine) + number % kSlots;
  }
  std::byte* slot(std::uint32_t number) const {
    return start_ + kHeadBytes + number % kSlots * slot_bytes_;
  }

 private:
  static constexpr std::size_t kLine = 128, kHeadBytes = 4096;
  std::byte* start_;
  std::size_t slot_bytes_;
};

class IpcWindow final : public Window {
 public:
  IpcWindow(std::unique_ptr<GroupMemory> memory, int rank, std::size_t bytes)
      : Window{memory->of(rank), bytes}, memory_{std::move(memory)} {}
  std::byte* memory_of(int r) const override { return memory_->of(r); }

 private:
  std::unique_ptr<GroupMemory> memory_;
};

/// Messages between each two ranks travel in order, through slots in the sender's memory or, between
/// hosts that may read each other's memory, from where they are. The sender fills a slot and sets a word
/// at the receiver, whose stream waits for it, copies, and sets a word at the sender, whose stream waits
/// for that before it fills the slot again. No host waits, and no kernel.
class IpcChannel final : public Channel {
 public:
  IpcChannel(device::Device& device, std::size_t chunk_bytes, bool always_stage, Group group)
      : Channel{device, group.rank(), group.size()},
        group_{std::move(group)},
        peers_(index(size())),
        send_{device, "ipc send", device::Priority::high},
        receive_{device, "ipc receive", device::Priority::high},
        all_sent_{device},
        forwarded_{device},
        reduced_{device::Event{device}, device::Event{device}} {
    run_on({send_, receive_});
    bool const is_host = device.kind() == device::Kind::host;
    reads_in_place_ = is_host;
    by_address_ = is_host && !always_stage && can_read_each_other();
    // For each rank, and as many for what reductions receive.
    std::size_t const slots = index(size()) * (kSlots + 1);
    slot_bytes_ = std::min({chunk_bytes, is_host ? kHostSlotBytes : kGpuSlotBytes,
                            (is_host ? kHostBytes : kGpuBytes) / slots}) /
                  kGrain * kGrain;
    message_bytes_ = by_address_ ? chunk_bytes / kGrain * kGrain : slot_bytes_;
    if (size() == 1) return;
    std::size_t const area = Area::bytes(by_address_ ? 0 : slot_bytes_);
    scratch_ = {device, static_cast<std::int64_t>(index(size()) * share_limit()), send_};
    memory_.emplace(device, group_, index(size()) * area, 0, send_);
    for (int r = 0; r < size(); ++r) {
      if (r == rank()) continue;
      Peer& peer = peers_[index(r)];
      peer.here.emplace(memory_->of(rank()) + index(r) * area, slot_bytes_);
      peer.there.emplace(memory_->of(r) + index(rank()) * area, slot_bytes_);
    }
  }
  ~IpcChannel() override {
    send_.view().synchronize();
    receive_.view().synchronize();
  }

 private:
  struct Peer {
    std::optional<Area> here, there;  ///< this rank's for the peer, the peer's for this rank
    std::uint32_t sent = 0, received = 0;
    std::uint32_t seen = 0;  ///< the last that this rank has waited for the peer to take
  };

  void do_broadcast(Piece data, int root, Broadcast algorithm) override {
    bool const is_chain =
        algorithm == Broadcast::ring || (!by_address_ && size() > 2 && data.bytes > kLargestToAll);
    if (is_chain) {
      chain(data, root);
    } else if (rank() == root) {
      for (int d = 1; d < size(); ++d) send(data, (root + d) % size());
    } else {
      receive(data, root);
    }
    finish();
  }

  void do_allreduce(ConstPiece in, Piece out, core::DataType type, ReduceOp op) override {
    if (size() == 1) return copy_own(out, in);
    if (in.bytes <= kLargestReducedByAll) {
      all_to_all([&](int) { return in; }, [&](int from) { return scratch_of(from, in.bytes); });
      // In place it is still being sent.
      if (in.data == out.data) finish();
      reduce(in, out, type, op);
      return finish();
    }
    // Each rank reduces its share of a round, and sends it to all while the next round comes.
    std::size_t first = 0, share = 0;
    std::optional<Round> last;
    for (int turn = 0; first < in.bytes; first += index(size()) * share, ++turn) {
      share = std::min(share_limit(),
                       rounded_up((in.bytes - first + index(size()) - 1) / index(size())));
      Round const round{first, share, &reduced_[index(turn % 2)]};
      ConstPiece const mine = round.part(in, rank());
      all_to_all([&](int to) { return round.part(in, to); },
                 [&](int from) { return scratch_of(from, mine.bytes); });
      reduce(mine, round.part(out, rank()), type, op);
      receive_.view().record(*round.reduced);
      if (last) gather(*last, out);
      last = round;
    }
    if (last) gather(*last, out);
    finish();
  }

  void do_reduce_scatter(std::span<ConstPiece const> parts, Piece out, core::DataType type,
                         ReduceOp op) override {
    if (size() == 1) return copy_own(out, parts[0]);
    std::size_t const share = share_limit();
    for (std::size_t first = 0; first < largest_of(parts); first += share) {
      ConstPiece const mine = part_of(parts[index(rank())], first, share);
      all_to_all([&](int to) { return part_of(parts[index(to)], first, share); },
                 [&](int from) { return scratch_of(from, mine.bytes); });
      reduce(mine, part_of(out, first, share), type, op);
    }
    finish();
  }

  void do_allgather(ConstPiece mine, std::span<Piece const> all) override {
    copy_own(all[index(rank())], mine);
    all_to_all([&](int) { return mine; }, [&](int from) { return all[index(from)]; });
    finish();
  }

  void do_alltoallv(std::span<ConstPiece const> out, std::span<Piece const> in) override {
    copy_own(in[index(rank())], out[index(rank())]);
    all_to_all([&](int to) { return out[index(to)]; }, [&](int from) { return in[index(from)]; });
    finish();
  }

  void do_sendrecv(ConstPiece out, int to, Piece in, int from) override {
    if (to == rank()) return copy_own(in, out);
    if (to >= 0) send(out, to);
    if (from >= 0) receive(in, from);
    finish();
  }

  std::unique_ptr<Window> do_share(std::size_t bytes) override {
    auto const most = static_cast<std::size_t>(group_.max(static_cast<std::int64_t>(bytes)));
    std::size_t const shared = std::max<std::size_t>(1, most);
    device::StreamView const stream = last_stream();
    return std::make_unique<IpcWindow>(
        std::make_unique<GroupMemory>(stream.device(), group_, shared, 0xFF, stream), rank(),
        shared);
  }

  /// Messages without data: what ranks say with them is that their memory is ready, and that they are
  /// through with a peer's.
  void do_access(Window const& window, std::span<Access const> accesses) override {
    auto const access = [&](int r) {
      device::TraceScope const traced{receive_, device::TraceKind::message, "in a peer's memory"};
      if (accesses[index(r)]) accesses[index(r)](window.memory_of(r), receive_);
    };
    once_all_are_there(access);
    access(rank());
    await_all_taken();
    finish();
  }

  void do_barrier() override {
    once_all_are_there([](int) {});
    finish();
  }

  // By a copy engine, beside kernels that leave no multiprocessor to others.
  void do_read(Window const& window, int rank, WindowRows const& from, void* to) override {
    device::TraceScope const traced{receive_, device::TraceKind::message, "from a peer",
                                    from.rows * from.row_bytes};
    receive_.view().copy_2d(to, from.row_bytes, window.memory_of(rank) + from.first, from.pitch,
                            from.row_bytes, from.rows);
  }
  bool reads_in_place() const override { return reads_in_place_; }

  /// f(r) for each other rank in turn, once that one has come as far; then it is told.
  template <class F>
  void once_all_are_there(F const& f) {
    for (int d = 1; d < size(); ++d) announce(peers_[index((rank() + d) % size())]);
    for (int d = 1; d < size(); ++d) {
      int const from = (rank() + size() - d) % size();
      Peer& peer = peers_[index(from)];
      std::uint32_t const number = await_message(peer);
      f(from);
      peer.there->taken().set_on(receive_, number);
    }
  }

  /// A stretch of an allreduce: a share for each rank.
  struct Round {
    std::size_t first, share;
    device::Event* reduced;  ///< this rank's share
    template <class P>
    P part(P piece, int r) const {
      return part_of(piece, first + index(r) * share, share);
    }
  };

  /// Every rank's reduced share to every rank.
  void gather(Round const& round, Piece out) {
    send_.view().wait(*round.reduced);
    ConstPiece const mine = round.part(out, rank());
    all_to_all([&](int) { return mine; }, [&](int from) { return round.part(out, from); });
  }

  /// From the root on, each rank forwards what it has received.
  void chain(Piece data, int root) {
    bool const receives = rank() != root;
    bool const sends = next(rank()) != root;
    std::size_t const step = std::min(kChainBytes, message_bytes_);
    for (std::size_t first = 0; first < data.bytes; first += step) {
      Piece const part = part_of(data, first, step);
      if (receives) receive(part, previous(rank()));
      if (receives && sends) {
        receive_.view().record(forwarded_);
        send_.view().wait(forwarded_);
      }
      if (sends) send(part, next(rank()));
    }
  }

  /// out(r) goes to rank r, in(r) comes from there. In each step every rank has one partner to send to
  /// and one to receive from, so that no link carries two messages.
  template <class Out, class In>
  void all_to_all(Out out, In in) {
    for (int d = 1; d < size(); ++d) {
      int const to = (rank() + d) % size();
      int const from = (rank() + size() - d) % size();
      send(out(to), to);
      receive(in(from), from);
    }
  }

  /// out = mine and what the others sent into scratch_, in the order of ranks: the same bits everywhere.
  void reduce(ConstPiece mine, Piece out, core::DataType type, ReduceOp op) {
    auto const n = static_cast<std::int64_t>(out.bytes / core::size_of(type));
    auto const of = [&](int r) { return r == rank() ? mine.data : scratch_of(r, out.bytes).data; };
    // What two ranks' elements give may stand where one of them was, but not in `mine`.
    void* const partial = scratch_of(rank() == 0 ? 1 : 0, out.bytes).data;
    void const* sum = of(0);
    for (int r = 1; r < size(); ++r) {
      void* const to = r == size() - 1 ? out.data : partial;
      kernels::combine(sum, of(r), to, n, type, combine_of(op), receive_);
      sum = to;
    }
  }

  Piece scratch_of(int r, std::size_t bytes) const {
    return {scratch_.data() + index(r) * share_limit(), bytes};
  }
  std::size_t share_limit() const { return std::max(kLargestReducedByAll, slot_bytes_); }

  void send(ConstPiece piece, int to) {
    Peer& peer = peers_[index(to)];
    for (std::size_t first = 0; first < piece.bytes; first += message_bytes_) {
      ConstPiece const part = part_of(piece, first, message_bytes_);
      std::uint32_t const number = next_message(peer);
      if (by_address_) {
        send_.view().run([to = peer.here->address(number),
                          from = device::RemoteAddress{getpid(), part.data}] { *to = from; });
      } else {
        send_.view().copy(peer.here->slot(number), part.data, part.bytes);
      }
      peer.there->sent().set_on(send_, number);
    }
  }

  void receive(Piece piece, int from) {
    Peer& peer = peers_[index(from)];
    for (std::size_t first = 0; first < piece.bytes; first += message_bytes_) {
      Piece const part = part_of(piece, first, message_bytes_);
      std::uint32_t const number = await_message(peer);
      device::TraceScope const traced{receive_, device::TraceKind::message, "from a peer",
                                      part.bytes};
      if (by_address_) {
        receive_.view().run([at = peer.there->address(number), part, from] {
          if (!device::read_remote(part.data, *at, part.bytes)) {
            core::fail(fmt::format(
                "reading the memory of rank {} of its group, process {}: {}; it may have ended",
                from, at->process, std::strerror(errno)));
          }
        });
      } else {
        receive_.view().copy(part.data, peer.there->slot(number), part.bytes);
      }
      peer.there->taken().set_on(receive_, number);
    }
  }

  /// The number of a message that the peer has room for, on the stream that sends.
  std::uint32_t next_message(Peer& peer) {
    std::uint32_t const number = ++peer.sent;
    await_taken(peer, number - kSlots);
    return number;
  }
  void announce(Peer& peer) {
    std::uint32_t const number = next_message(peer);
    peer.there->sent().set_on(send_, number);
  }
  /// The number of the next message from a peer, behind which the stream that receives goes on.
  std::uint32_t await_message(Peer& peer) {
    std::uint32_t const number = ++peer.received;
    peer.here->sent().wait_on(receive_, number);
    return number;
  }

  /// Of the first `number` messages to a peer.
  void await_taken(Peer& peer, std::uint32_t number) {
    if (static_cast<std::int32_t>(number - peer.seen) <= 0) return;
    peer.here->taken().wait_on(send_, number);
    peer.seen = number;
  }

  void await_all_taken() {
    for (Peer& peer : peers_) await_taken(peer, peer.sent);
  }

  /// What was sent may change behind this, on the stream that receives.
  void finish() {
    if (by_address_) await_all_taken();
    send_.view().record(all_sent_);
    receive_.view().wait(all_sent_);
  }

  /// Whether every rank reads the ordinary memory of every other.
  bool can_read_each_other() const {
    std::uint64_t const secret = number_of_its_own();
    device::RemoteAddress const own = device::readable_address(&secret);
    std::vector<std::string> const all = group_.all_gather(
        fmt::format("{} {} {}", own.process, reinterpret_cast<std::uintptr_t>(own.data), secret));
    bool is_denied = false;
    for (std::string const& text : all) {
      std::istringstream in{text};
      device::RemoteAddress address;
      std::uintptr_t data = 0;
      std::uint64_t expected = 0, found = 0;
      in >> address.process >> data >> expected;
      address.data = reinterpret_cast<void const*>(data);
      is_denied |= !device::read_remote(&found, address, sizeof found) || found != expected;
    }
    // Also keeps the secret alive until all have read it.
    return group_.agree(is_denied) < 0;
  }

  Group group_;
  bool by_address_ = false, reads_in_place_ = false;
  std::size_t slot_bytes_ = 0, message_bytes_ = 0;
  std::optional<GroupMemory> memory_;  ///< an area for each rank; where there are several
  device::Buffer<std::byte> scratch_;  ///< what each rank sent for a reduction
  std::vector<Peer> peers_;
  device::Stream send_, receive_;
  device::Event all_sent_, forwarded_;
  std::array<device::Event, 2> reduced_;
};

class IpcTransport final : public Transport {
 public:
  IpcTransport(device::Device& device, TransportOptions const& options)
      : device_{device}, chunk_bytes_{options.chunk_bytes}, always_stage_{options.always_stage} {}

 private:
  std::unique_ptr<Channel> do_connect(Group const& group, Order order) override {
    auto const connect_streams = [this](Group members) {
      return std::make_unique<IpcChannel>(device_, chunk_bytes_, always_stage_, std::move(members));
    };
    if (order == Order::own_streams || !has_ipc_on_caller_stream(device_.kind(), group.size())) {
      return connect_streams(group.duplicate());
    }
    return make_ipc_on_caller_stream(device_, chunk_bytes_, group.duplicate(), connect_streams);
  }

  device::Device& device_;
  std::size_t chunk_bytes_;
  bool always_stage_;
};

/// Whether a stream goes on while others wait for words, as those of several channels do. On GPUs streams
/// can share a hardware queue, and then they wait for each other.
bool streams_are_independent(device::Device& device) {
  if (device.kind() == device::Kind::host) return true;  // each has threads of its own
  constexpr int kWaiting = 12;
  constexpr std::chrono::milliseconds kEnough{500};
  device::Flag const flag{device};
  std::vector<device::Stream> waiting;
  for (int i = 0; i < kWaiting; ++i) {
    waiting.emplace_back(device, "trial");
    waiting.back().view().wait(flag, 1);
  }
  device::Stream const other{device, "trial"};
  device::Event passed{device};
  other.view().record(passed);
  auto const end = std::chrono::steady_clock::now() + kEnough;
  while (!passed.done() && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::microseconds{50});
  }
  bool const is_independent = passed.done();
  flag.set(1);
  return is_independent;
}

/// Every rank of a node reads a number from every other's shared memory, and sets a word there.
std::string tried(World const& world) {
  device::Device& device = world.device();
  if (std::string const none =
          first_reason(world.group(), streams_are_independent(device)
                                          ? ""
                                          : fmt::format("on rank {} a waiting stream blocks "
                                                        "others; unset "
                                                        "CUDA_DEVICE_MAX_CONNECTIONS",
                                                        world.rank()));
      !none.empty()) {
    return none;
  }
  device::StreamView const stream = world.stream();
  Group const& group = world.node_group();
  auto const ranks = index(group.size());
  constexpr std::size_t kLine = 128;
  std::size_t const bytes = kLine * (ranks + 1);
  core::Parsed<void*> const allocated = device.allocate_shared(bytes);
  device::SharedMemory const own{device, allocated ? *allocated : nullptr};
  core::Parsed<std::string> const handle =
      allocated ? device.handle_of(own.data())
                : core::Parsed<std::string>::error(std::string{allocated.why()});
  std::string why = handle ? "" : fmt::format("rank {}: {}", world.rank(), handle.why());
  if (std::string const none = first_reason(world.group(), why); !none.empty()) return none;
  stream.fill(own.data(), 0, bytes);
  std::uint64_t const secret = number_of_its_own();
  stream.copy(own.data(), &secret, sizeof secret);
  stream.synchronize();
  std::vector<std::string> const handles = group.all_gather(*handle);
  std::vector<std::string> const secrets = group.all_gather(std::to_string(secret));

  std::vector<device::PeerMemory> peers;
  for (int r = 0; r < group.size(); ++r) {
    if (r == group.rank()) continue;
    core::Parsed<void*> const opened = device.open_shared(handles[index(r)]);
    if (!opened) {
      why = fmt::format("memory of local rank {} for rank {}: {}", r, world.rank(), opened.why());
      continue;
    }
    peers.emplace_back(device, *opened);
    std::uint64_t found = 0;
    stream.copy(&found, peers.back().data(), sizeof found);
    stream.synchronize();
    if (std::to_string(found) != secrets[index(r)]) {
      why = fmt::format("rank {} does not see the memory of local rank {}", world.rank(), r);
      continue;
    }
    device::SharedWord{peers.back().data() + kLine * (index(group.rank()) + 1)}.set_on(stream, 1);
  }
  stream.synchronize();
  group.barrier();
  for (int r = 0; r < group.size() && why.empty(); ++r) {
    std::uint32_t word = 0;
    stream.copy(&word, own.data() + kLine * (index(r) + 1), sizeof word);
    stream.synchronize();
    if (r != group.rank() && word != 1) {
      why = fmt::format("what local rank {} writes does not reach rank {}", r, world.rank());
    }
  }
  peers.clear();
  // Own memory ends when all have closed it.
  return first_reason(world.group(), why);
}

std::string unavailable_reason(Machine const* machine) {
  if (machine == nullptr) return {};
  if (machine->nodes() > 1) {
    return fmt::format("ranks are on {} nodes; take hybrid", machine->nodes());
  }
  return machine->trial_problem(ipc_transport);
}

}  // namespace

/// Shared memory of the ranks of a node, by copies alone, or in line by kernels. Reductions are added up
/// in the order of ranks.
extern constinit TransportEntry const ipc_transport{
    .name = "ipc",
    .summary = "shared memory of a node: copies ordered by words in it, or kernels in line",
    .is_selectable = true,
    .moves_host = true,
    .moves_gpu = true,
    .uses_kernels = true,  // copies to and from its slots
    .shares_windows = true,
    .runs_on_caller_stream = true,
    .device_bytes = kGpuBytes,
    .trial = tried,
    .unavailable_reason = unavailable_reason,
    .make = [](World const& world, TransportOptions const& options) -> std::unique_ptr<Transport> {
      return std::make_unique<IpcTransport>(world.device(), options);
    },
};

}  // namespace quadrille::comm

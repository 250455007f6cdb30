// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu_memory_trial.hpp"
#include "comm/mpi_handle.hpp"
#include "comm/transport.hpp"
#include "comm/world.hpp"
#include "device/trace.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace quadrille::comm {

extern TransportEntry const mpi_gpu_transport;

namespace {

using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;

// A channel stages through a ring of slots. Four keep the copy in, the message, the copy out and
// one turn of slack apart; 2 MiB make the cost of a turn small against its copy.
constexpr std::size_t kSlots = 4;
constexpr std::size_t kSlotBytes = 2UL << 20;
// Sub-ranges of pieces start at multiples of this, so that every element type stays aligned.
constexpr std::size_t kGrain = 64;

/// What of a device's memory is handed to MPI as it is; the rest goes through slots.
enum class InPlace {
  nothing,
  messages,  ///< from rank to rank: Open MPI's nonblocking collectives take none of GPUs
  all,
};

/// One turn of the ring, as the progress thread sees it. Requests complete in the order of turns.
struct Message {
  std::uint32_t number = 0;
  /// `receive` is posted as soon as the slot is free; `send`, where collectives stand too, once
  /// the slot is filled and the link is free. Either may be empty.
  std::function<MPI_Request()> receive, send;
  bool forwards = false;             ///< sends what it received
  std::size_t link_bytes = 0;        ///< what leaves this rank
  bool receives_in_place = false;    ///< into device memory that earlier work may still use
  device::Event* staged = nullptr;   ///< the slot is filled and earlier work done; null: at once
  device::Event* drained = nullptr;  ///< what arrived was copied out

  // For a trace, where there was one when it was planned.
  bool is_traced = false;
  std::string label;
  std::size_t receive_bytes = 0;
  double begin_s = 0;  ///< when it set out, or its receive was posted where it sends nothing

  std::optional<Time> leaves;  ///< when the modelled link has carried it
  std::array<MPI_Request, 2> requests{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
};

/// The progress thread's side of a channel.
struct Queue {
  explicit Queue(device::Device& device) : flag{device} {}

  device::Flag flag;  ///< number of messages that are through

  // Under the lock of Progress.
  std::vector<Message> incoming;
  std::vector<device::Event*> unused_events;
  bool leaving = false;

  // Touched by the progress thread alone. The first `posted` messages have their receives posted,
  // the first `reserved` their place on the link, the first `sent` their sends, and the first
  // `arrived` raised the flag.
  std::deque<Message> messages;
  std::size_t posted = 0, reserved = 0, sent = 0, arrived = 0;
  std::array<device::Event*, kSlots> drained{};  ///< of the last message of each slot
  std::vector<device::Event*> spent_events;
};

/// One link for all messages of a rank. The time it sleeps costs no processor time, so computation
/// can hide it on any machine.
class Link {
 public:
  explicit Link(double bytes_per_s) : bytes_per_s_{bytes_per_s} {}
  bool is_modelled() const { return bytes_per_s_ > 0; }
  /// When a message that is ready now has left.
  Time carry(std::size_t bytes) {
    free_ = std::max(free_, Clock::now()) + std::chrono::duration_cast<Clock::duration>(
                                                std::chrono::duration<double>{seconds_for(bytes)});
    return free_;
  }
  double seconds_for(std::size_t bytes) const { return static_cast<double>(bytes) / bytes_per_s_; }

 private:
  double bytes_per_s_;
  Time free_{};
};

bool is_done(MPI_Request& request) {
  if (request == MPI_REQUEST_NULL) return true;
  int done = 0;
  QUAD_MPI(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
  return done != 0;
}

/// The thread that drives the messages of all channels of a rank. It sleeps whenever it waits: a
/// thread that spins takes a core from the kernels the messages are to be hidden behind.
class Progress {
 public:
  Progress(device::Device& device, double throttle)
      : device_{device}, link_{throttle}, thread_{[this] { run(); }} {}
  ~Progress() {
    {
      std::lock_guard const lock{mutex_};
      stop_ = true;
    }
    news_arrived_.notify_one();
    thread_.join();
  }
  Progress(Progress const&) = delete;
  Progress& operator=(Progress const&) = delete;

  bool is_throttled() const { return link_.is_modelled(); }

  void add(Queue& queue) {
    std::lock_guard const lock{mutex_};
    joining_.push_back(&queue);
  }

  /// Blocks until the queue's messages are through and the thread has released it.
  void remove(Queue& queue) {
    std::unique_lock lock{mutex_};
    queue.leaving = true;
    has_news_ = true;
    news_arrived_.notify_one();
    left_.wait(lock, [&queue] { return !queue.leaving; });
  }

  void push(Queue& queue, Message message) {
    {
      std::lock_guard const lock{mutex_};
      queue.incoming.push_back(std::move(message));
      has_news_ = true;
    }
    news_arrived_.notify_one();
  }

  /// An event that nothing waits for, or null.
  device::Event* take_event(Queue& queue) {
    std::lock_guard const lock{mutex_};
    if (queue.unused_events.empty()) return nullptr;
    device::Event* const event = queue.unused_events.back();
    queue.unused_events.pop_back();
    return event;
  }

 private:
  void run() {
    using std::chrono::microseconds;
    constexpr microseconds kShortest{5};
    // Where MPI cannot read a peer's memory it copies large messages in fragments, a few each time that it
    // is asked how far they are. Beside a GPU a core is free to ask, and to look for what the GPU has
    // done; on hosts it would be missing.
    bool const is_host = device_.kind() == device::Kind::host;
    microseconds const longest{is_host ? 1000 : 20};
    microseconds const longest_under_way = is_host ? longest : kShortest;
    device_.bind_thread();
    // Linux adds 50 us to every short sleep unless told otherwise.
    prctl(PR_SET_TIMERSLACK, 1UL);

    auto const is_awaited = [this] { return has_news_ || stop_; };
    auto pause = kShortest;
    std::unique_lock lock{mutex_};
    while (!stop_) {
      if (has_news_) pause = kShortest;
      has_news_ = false;
      if (!take_over()) {
        news_arrived_.wait(lock, is_awaited);
        continue;
      }

      lock.unlock();
      bool has_moved = false;
      Time wake = Time::max();
      for (Queue* const queue : queues_) has_moved |= advance(*queue, wake);
      lock.lock();

      if (has_moved) {
        pause = kShortest;
      } else {
        news_arrived_.wait_until(lock, std::min(wake, Clock::now() + pause), is_awaited);
        pause = std::min(2 * pause, carries() ? longest_under_way : longest);
      }
    }
  }

  /// Under the lock: exchanges messages and events with the callers. False when nothing is to do.
  bool take_over() {
    queues_.insert(queues_.end(), joining_.begin(), joining_.end());
    joining_.clear();
    bool is_busy = false;
    for (Queue* const queue : queues_) {
      std::move(queue->incoming.begin(), queue->incoming.end(),
                std::back_inserter(queue->messages));
      queue->incoming.clear();
      queue->unused_events.insert(queue->unused_events.end(), queue->spent_events.begin(),
                                  queue->spent_events.end());
      queue->spent_events.clear();
      is_busy |= !queue->messages.empty();
    }
    bool has_left = false;
    std::erase_if(queues_, [&has_left](Queue* queue) {
      if (!queue->leaving || !queue->messages.empty()) return false;
      queue->leaving = false;
      return has_left = true;
    });
    if (has_left) left_.notify_all();
    return is_busy;
  }

  /// Whether a message of this rank is in MPI's hands.
  bool carries() const {
    auto const is_under_way = [](Message const& message) {
      return std::ranges::any_of(message.requests,
                                 [](MPI_Request request) { return request != MPI_REQUEST_NULL; });
    };
    return std::ranges::any_of(queues_, [&](Queue const* queue) {
      return std::ranges::any_of(queue->messages, is_under_way);
    });
  }

  /// Moves every message of a channel as far as it goes without waiting. `wake` becomes the time
  /// of the next departure from the link, if that is earlier.
  bool advance(Queue& queue, Time& wake) {
    bool has_moved = false;

    while (queue.posted < std::min(kSlots, queue.messages.size())) {
      Message& message = queue.messages[queue.posted];
      device::Event*& drained = queue.drained[message.number % kSlots];
      if (drained != nullptr) {
        if (!drained->done()) break;
        queue.spent_events.push_back(drained);
        drained = nullptr;
      }
      if (message.receives_in_place && !message.staged->done()) break;
      if (message.is_traced) message.begin_s = device::host_seconds();
      if (message.receive) message.requests[0] = message.receive();
      ++queue.posted;
      has_moved = true;
    }

    // The link is reserved ahead of the departure, so that waking up late costs it no time.
    for (; queue.reserved < queue.posted; ++queue.reserved) {
      Message& message = queue.messages[queue.reserved];
      if (!message.send) continue;
      if (message.staged != nullptr && !message.staged->done()) break;
      if (message.forwards && !is_done(message.requests[0])) break;
      if (!link_.is_modelled()) continue;
      message.leaves = link_.carry(message.link_bytes);
      if (message.is_traced) {
        std::chrono::duration<double> const left{message.leaves->time_since_epoch()};
        message.begin_s = left.count() - link_.seconds_for(message.link_bytes);
      }
    }

    // In order, because collectives and messages of one channel are matched by their order.
    for (; queue.sent < queue.reserved; ++queue.sent) {
      Message& message = queue.messages[queue.sent];
      if (!message.send) continue;
      if (message.leaves && Clock::now() < *message.leaves) {
        wake = std::min(wake, *message.leaves);
        break;
      }
      if (message.is_traced && !message.leaves) message.begin_s = device::host_seconds();
      message.requests[1] = message.send();
      has_moved = true;
    }

    for (; queue.arrived < queue.posted; ++queue.arrived) {
      Message& message = queue.messages[queue.arrived];
      if (!is_done(message.requests[0])) break;
      // What is forwarded from a slot is here before it leaves; in place it is still being read.
      bool const stays = message.forwards && !message.receives_in_place;
      if (!stays && (queue.arrived >= queue.sent || !is_done(message.requests[1]))) break;
      // Before the flag, behind which a trace may end.
      if (message.is_traced) tell(message);
      queue.flag.set(message.number + 1);
      has_moved = true;
    }

    while (queue.sent > 0 && queue.arrived > 0) {
      Message& message = queue.messages.front();
      if (!is_done(message.requests[0]) || !is_done(message.requests[1])) break;
      if (message.staged != nullptr) queue.spent_events.push_back(message.staged);
      queue.drained[message.number % kSlots] = message.drained;
      queue.messages.pop_front();
      --queue.posted;
      --queue.reserved;
      --queue.sent;
      --queue.arrived;
      has_moved = true;
    }
    return has_moved;
  }

  void tell(Message& message) const {
    device::Trace* const trace = device_.trace();
    if (trace == nullptr) return;
    bool const sends = static_cast<bool>(message.send);
    trace->add({.track = sends ? "messages" : "receives",
                .kind = sends ? device::TraceKind::message : device::TraceKind::wait,
                .name = !sends             ? "receive"
                        : message.forwards ? "forward"
                        : message.receive  ? "send and receive"
                                           : "send",
                .label = std::move(message.label),
                .bytes = sends ? message.link_bytes : message.receive_bytes,
                .begin_s = message.begin_s,
                .end_s = device::host_seconds()});
  }

  device::Device& device_;
  Link link_;
  std::mutex mutex_;
  std::condition_variable news_arrived_;
  std::condition_variable left_;
  std::vector<Queue*> joining_;
  bool has_news_ = false;
  bool stop_ = false;
  std::vector<Queue*> queues_;  ///< the progress thread's own
  std::thread thread_;
};

/// One turn of the ring, as the caller plans it.
struct Turn {
  struct In {
    void const* from;
    std::size_t at;  ///< place in the slot
    std::size_t bytes;
  };
  struct Out {
    void* to;
    std::size_t at;
    std::size_t bytes;
  };
  std::vector<In> in;
  std::vector<Out> out;
  std::function<MPI_Request(std::byte*in, std::byte*out)> receive, send;
  bool forwards = false;
  bool keeps_part = false;  ///< receives more than `out` takes
  bool reduces = false;
  std::size_t link_bytes = 0;
};

std::size_t turns_for(std::size_t bytes, std::size_t each) { return (bytes + each - 1) / each; }

class MpiChannel final : public Channel {
 public:
  MpiChannel(device::Device& device, Progress& progress, std::size_t slot_bytes, InPlace in_place,
             Group group)
      : Channel{device, group.rank(), group.size()},
        device_{device},
        progress_{progress},
        group_{std::move(group)},
        slot_bytes_{slot_bytes},
        in_place_{in_place},
        share_bytes_{std::max(kGrain, slot_bytes / index(size()) / kGrain * kGrain)},
        fill_{device, "mpi fill", device::Priority::high},
        drain_{device, "mpi drain", device::Priority::high},
        queue_{device} {
    run_on({fill_, drain_});
    if (size() == 1) return;
    pitch_ = std::max(slot_bytes_, share_bytes_ * index(size()));
    slots_ =
        device::PinnedBuffer<std::byte>{device, static_cast<std::int64_t>(2 * kSlots * pitch_)};
    progress_.add(queue_);
  }
  ~MpiChannel() override {
    fill_.view().synchronize();
    drain_.view().synchronize();
    if (size() > 1) progress_.remove(queue_);
  }

 private:
  void do_broadcast(Piece data, int root, Broadcast algorithm) override {
    if (size() == 1) return;
    if (progress_.is_throttled() || in_place_ == InPlace::messages) algorithm = Broadcast::ring;

    std::vector<Turn> turns(turns_for(data.bytes, slot_bytes_));
    for (std::size_t i = 0; i < turns.size(); ++i) {
      Piece const chunk = part_of(data, i * slot_bytes_, slot_bytes_);
      auto const count = static_cast<int>(chunk.bytes);
      Turn& turn = turns[i];
      if (rank() == root) {
        turn.in.push_back({chunk.data, 0, chunk.bytes});
      } else {
        turn.out.push_back({chunk.data, 0, chunk.bytes});
      }
      if (algorithm == Broadcast::library) {
        turn.send = [this, root, count](std::byte* in, std::byte* out) {
          MPI_Request request = MPI_REQUEST_NULL;
          QUAD_MPI(MPI_Ibcast(rank() == root ? in : out, count, MPI_BYTE, root, comm(), &request));
          return request;
        };
      } else {
        if (rank() != root) turn.receive = receive_bytes(count, previous(rank()));
        if (next(rank()) != root) {
          turn.forwards = rank() != root;
          turn.send = send_bytes(count, next(rank()), turn.forwards);
          turn.link_bytes = chunk.bytes;
        }
      }
    }
    run(std::move(turns));
  }

  void do_allreduce(ConstPiece in, Piece out, core::DataType type, ReduceOp op) override {
    if (size() == 1) return copy_own(out, in);
    MPI_Datatype const mpi = mpi_type(type);
    std::size_t const element = core::size_of(type);
    auto const function = std::make_shared<ReduceFunction const>(op, type);

    std::vector<Turn> turns(turns_for(in.bytes, slot_bytes_));
    for (std::size_t i = 0; i < turns.size(); ++i) {
      ConstPiece const from = part_of(in, i * slot_bytes_, slot_bytes_);
      Piece const to = part_of(out, i * slot_bytes_, slot_bytes_);
      Turn& turn = turns[i];
      turn.reduces = true;
      turn.in.push_back({from.data, 0, from.bytes});
      turn.out.push_back({to.data, 0, to.bytes});
      auto const count = static_cast<int>(from.bytes / element);
      turn.link_bytes = 2 * to_others(from.bytes);
      turn.send = [this, count, mpi, function](std::byte* source, std::byte* target) {
        MPI_Request request = MPI_REQUEST_NULL;
        void const* const mine = source == target ? MPI_IN_PLACE : source;
        QUAD_MPI(MPI_Iallreduce(mine, target, count, mpi, function->get(), comm(), &request));
        return request;
      };
    }
    run(std::move(turns));
  }

  void do_reduce_scatter(std::span<ConstPiece const> parts, Piece out, core::DataType type,
                         ReduceOp op) override {
    if (size() == 1) return copy_own(out, parts[0]);
    MPI_Datatype const mpi = mpi_type(type);
    std::size_t const element = core::size_of(type);
    auto const function = std::make_shared<ReduceFunction const>(op, type);

    std::vector<Turn> turns(turns_for(largest_of(parts), share_bytes_));
    for (std::size_t i = 0; i < turns.size(); ++i) {
      Turn& turn = turns[i];
      turn.reduces = true;
      add_out(turn, part_of(out, i * share_bytes_, share_bytes_), 0);
      std::vector<int> counts;
      std::size_t total = 0;
      for (ConstPiece const& piece : parts) {
        ConstPiece const from = part_of(piece, i * share_bytes_, share_bytes_);
        turn.in.push_back({from.data, total, from.bytes});
        counts.push_back(static_cast<int>(from.bytes / element));
        total += from.bytes;
      }
      turn.link_bytes = to_others(total);
      turn.send = [this, counts = std::move(counts), mpi, function](std::byte* source,
                                                                    std::byte* target) {
        MPI_Request request = MPI_REQUEST_NULL;
        QUAD_MPI(MPI_Ireduce_scatter(source, target, counts.data(), mpi, function->get(), comm(),
                                     &request));
        return request;
      };
    }
    run(std::move(turns));
  }

  void do_allgather(ConstPiece mine, std::span<Piece const> all) override {
    copy_own(all[index(rank())], mine);
    if (size() == 1) return;
    if (in_place_ == InPlace::messages) {
      return all_to_all([&](int) { return mine; }, [&](int from) { return all[index(from)]; });
    }

    std::vector<Turn> turns(turns_for(largest_of(all), share_bytes_));
    for (std::size_t i = 0; i < turns.size(); ++i) {
      Turn& turn = turns[i];
      std::size_t const first = i * share_bytes_;
      ConstPiece const from = part_of(mine, first, share_bytes_);
      turn.in.push_back({from.data, 0, from.bytes});
      std::vector<int> counts;
      std::vector<int> places;
      std::size_t total = 0;
      for (int r = 0; r < size(); ++r) {
        Piece const to = part_of(all[index(r)], first, share_bytes_);
        if (r != rank()) add_out(turn, to, total);
        counts.push_back(static_cast<int>(to.bytes));
        places.push_back(static_cast<int>(total));
        total += to.bytes;
      }
      turn.keeps_part = true;
      turn.link_bytes = to_others(total);
      turn.send = [this, count = counts[index(rank())], counts, places](std::byte* source,
                                                                        std::byte* target) {
        MPI_Request request = MPI_REQUEST_NULL;
        QUAD_MPI(MPI_Iallgatherv(source, count, MPI_BYTE, target, counts.data(), places.data(),
                                 MPI_BYTE, comm(), &request));
        return request;
      };
    }
    run(std::move(turns));
  }

  void do_alltoallv(std::span<ConstPiece const> send, std::span<Piece const> receive) override {
    copy_own(receive[index(rank())], send[index(rank())]);
    all_to_all([&](int to) { return send[index(to)]; },
               [&](int from) { return receive[index(from)]; });
  }

  void do_sendrecv(ConstPiece send, int to, Piece receive, int from) override {
    if (to == rank()) return copy_own(receive, send);
    std::vector<Turn> turns;
    add_pair(turns, send, to, receive, from);
    run(std::move(turns));
  }

  /// out(r) goes to rank r, in(r) comes from there.
  template <class Out, class In>
  void all_to_all(Out out, In in) {
    std::vector<Turn> turns;
    for (int step = 1; step < size(); ++step) {
      int const to = (rank() + step) % size();
      int const from = (rank() - step + size()) % size();
      add_pair(turns, out(to), to, in(from), from);
    }
    run(std::move(turns));
  }

  MPI_Comm comm() const { return handle(group_); }
  std::byte* in_slot(std::uint32_t number) const {
    return slots_.data() + number % kSlots * pitch_;
  }
  std::byte* out_slot(std::uint32_t number) const {
    return slots_.data() + (kSlots + number % kSlots) * pitch_;
  }

  /// What a ring sends on per rank of `bytes` in all.
  std::size_t to_others(std::size_t bytes) const {
    return bytes / index(size()) * index(size() - 1);
  }

  static void add_out(Turn& turn, Piece to, std::size_t at) {
    if (to.bytes > 0) turn.out.push_back({to.data, at, to.bytes});
  }

  std::function<MPI_Request(std::byte*, std::byte*)> receive_bytes(int count, int from) const {
    return [this, count, from](std::byte*, std::byte* out) {
      MPI_Request request = MPI_REQUEST_NULL;
      QUAD_MPI(MPI_Irecv(out, count, MPI_BYTE, from, 0, comm(), &request));
      return request;
    };
  }

  std::function<MPI_Request(std::byte*, std::byte*)> send_bytes(int count, int to,
                                                                bool forward = false) const {
    return [this, count, to, forward](std::byte* in, std::byte* out) {
      MPI_Request request = MPI_REQUEST_NULL;
      QUAD_MPI(MPI_Isend(forward ? out : in, count, MPI_BYTE, to, 0, comm(), &request));
      return request;
    };
  }

  /// One message each way, in chunks.
  void add_pair(std::vector<Turn>& turns, ConstPiece send, int to, Piece receive, int from) const {
    for (std::size_t first = 0; first < std::max(send.bytes, receive.bytes); first += slot_bytes_) {
      Turn turn;
      ConstPiece const chunk = part_of(send, first, slot_bytes_);
      if (chunk.bytes > 0) {
        turn.in.push_back({chunk.data, 0, chunk.bytes});
        turn.send = send_bytes(static_cast<int>(chunk.bytes), to);
        turn.link_bytes = chunk.bytes;
      }
      Piece const place = part_of(receive, first, slot_bytes_);
      if (place.bytes > 0) {
        turn.receive = receive_bytes(static_cast<int>(place.bytes), from);
        turn.out.push_back({place.data, 0, place.bytes});
      }
      turns.push_back(std::move(turn));
    }
  }

  device::Event& new_event() {
    if (device::Event* const event = progress_.take_event(queue_)) return *event;
    return events_.emplace_back(device_);
  }

  /// Enqueues all copies of an exchange and hands its messages to the progress thread. Copies in
  /// and copies out have a stream each, so that the next exchange fills slots while this one's
  /// messages are still under way.
  void run(std::vector<Turn> turns) {
    for (Turn& turn : turns) enter(turn);
    // What was only sent must have left its slot, or its owner could not overwrite the data.
    if (!turns.empty()) drain_.view().wait(queue_.flag, number_);
  }

  /// Enqueues the copies of one turn and hands its message over.
  void enter(Turn& turn) {
    std::uint32_t const number = number_++;
    std::byte* in = in_slot(number);
    std::byte* out = out_slot(number);
    if (in_place_ == InPlace::all || (in_place_ == InPlace::messages && !turn.reduces)) {
      // A message from or to one place needs no slot on this device.
      if (turn.in.size() == 1) in = static_cast<std::byte*>(const_cast<void*>(turn.in[0].from));
      if (turn.out.size() == 1 && !turn.keeps_part) out = static_cast<std::byte*>(turn.out[0].to);
    }
    bool const fills = !turn.in.empty() && in == in_slot(number);
    bool const drains = !turn.out.empty() && out == out_slot(number);
    Message message;
    message.number = number;
    message.forwards = turn.forwards;
    message.link_bytes = turn.link_bytes;
    if (device::Trace const* const trace = device_.trace()) {
      message.is_traced = true;
      message.label = trace->label();
      for (Turn::Out const& part : turn.out) message.receive_bytes += part.bytes;
    }
    message.receives_in_place = out != out_slot(number);
    if (fills) {
      // The slot's last message must have left. Before the first turn of the ring none was there.
      if (turns_ >= kSlots) {
        fill_.view().wait(queue_.flag, number - static_cast<std::uint32_t>(kSlots) + 1);
      }
      for (auto const& [from, at, bytes] : turn.in) fill_.view().copy(in + at, from, bytes);
    }
    if (!turn.in.empty() || message.receives_in_place) {
      message.staged = &new_event();
      fill_.view().record(*message.staged);
    }
    ++turns_;
    if (turn.receive) {
      message.receive = [post = std::move(turn.receive), in, out] { return post(in, out); };
    }
    if (turn.send) message.send = [post = std::move(turn.send), in, out] { return post(in, out); };
    message.drained = &new_event();
    if (drains) {
      drain_.view().wait(queue_.flag, number + 1);
      for (auto const& [to, at, bytes] : turn.out) drain_.view().copy(to, out + at, bytes);
    }
    drain_.view().record(*message.drained);
    progress_.push(queue_, std::move(message));
  }

  device::Device& device_;
  Progress& progress_;
  Group group_;
  std::size_t slot_bytes_;  ///< a chunk that goes to one rank
  InPlace in_place_;
  std::size_t share_bytes_;   ///< what every piece of a gather or scatter has of a slot
  std::size_t pitch_ = 0;     ///< from slot to slot
  std::uint32_t number_ = 0;  ///< of the next turn; wraps
  std::uint64_t turns_ = 0;   ///< so far
  device::PinnedBuffer<std::byte> slots_;
  std::deque<device::Event> events_;  ///< a deque, because the progress thread holds pointers
  device::Stream fill_;               ///< copies into slots
  device::Stream drain_;              ///< copies out of slots, and the end of every exchange
  Queue queue_;
};

class MpiTransport final : public Transport {
 public:
  MpiTransport(device::Device& device, TransportOptions const& options, InPlace in_place)
      : device_{device},
        slot_bytes_{std::min(options.chunk_bytes, kSlotBytes) / kGrain * kGrain},
        in_place_{in_place},
        progress_{device, options.throttle} {}

 private:
  std::unique_ptr<Channel> do_connect(Group const& group, Order) override {
    return std::make_unique<MpiChannel>(device_, progress_, slot_bytes_, in_place_,
                                        group.duplicate());
  }

  device::Device& device_;
  std::size_t slot_bytes_;
  InPlace in_place_;
  Progress progress_;
};

}  // namespace

/// Chunks, one progress thread per rank that sleeps when idle. Through pinned staging, but for
/// contiguous data of the host device, which MPI reaches where they are.
extern constinit TransportEntry const mpi_transport{
    .name = "mpi",
    .summary = "MPI through pinned staging, chunks driven by a sleeping thread",
    .is_selectable = true,
    .moves_host = true,
    .moves_gpu = true,
    .models_link = true,
    .is_host_driven = true,
    .preference = 1,
    .make = [](World const& world, TransportOptions const& options) -> std::unique_ptr<Transport> {
      bool const reaches = world.device().kind() == device::Kind::host && !options.always_stage;
      return std::make_unique<MpiTransport>(world.device(), options,
                                            reaches ? InPlace::all : InPlace::nothing);
    },
};

/// As mpi, with memory of GPUs handed to MPI where it is, in messages from rank to rank. What is
/// reduced is staged, for MPI to add up on the host.
extern constinit TransportEntry const mpi_gpu_transport{
    .name = "mpi_gpu",
    .summary = "MPI from GPU memory as it is, where it takes that; reductions are staged",
    .is_selectable = true,
    .moves_gpu = true,
    .is_host_driven = true,
    .trial =
        [](World const& world) {
          return gpu_memory_problem(takes_gpu_memory(), world.group(), world.stream(),
                                    tried_mpi_exchange(world.group()));
        },
    .unavailable_reason = [](Machine const* machine) -> std::string {
      if (!is_built_for_gpu_memory()) return kTakesNoGpuMemory;
      return machine == nullptr ? "" : machine->trial_problem(mpi_gpu_transport);
    },
    .make = [](World const& world, TransportOptions const& options) -> std::unique_ptr<Transport> {
      return std::make_unique<MpiTransport>(
          world.device(), options, options.always_stage ? InPlace::nothing : InPlace::messages);
    },
};

}  // namespace quadrille::comm

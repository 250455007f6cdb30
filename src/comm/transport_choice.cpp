// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/transport_choice.hpp"

#include "comm/job_guard.hpp"
#include "comm/world.hpp"
#include "core/stats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

namespace quadrille::comm {
namespace {

// Latency and bandwidth, then what is between, where libraries change their algorithms.
constexpr std::array<std::int64_t, 5> kBytes{8, 16 << 20, 64 << 10, 1 << 20, 4 << 10};
constexpr int kMin = 3, kMax = 31;
// Of one operation at one size: then no repetition begins beyond the fewest. Of an operation: then
// further sizes are left out.
constexpr double kSizeSeconds = 0.06, kOperationSeconds = 0.5;

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Point {
  double bytes = 0, seconds = 0;
};

/// By points in ascending order of bytes, of which there is one.
double interpolated(std::vector<Point> const& points, double bytes) {
  if (bytes <= points.front().bytes) return points.front().seconds;
  if (bytes >= points.back().bytes) return points.back().seconds;
  auto const high = std::ranges::upper_bound(points, bytes, {}, &Point::bytes);
  Point const a = *(high - 1), b = *high;
  double const share = std::log(bytes / a.bytes) / std::log(b.bytes / a.bytes);
  return a.seconds * std::pow(b.seconds / a.seconds, share);
}

}  // namespace

std::string_view fastest_transport(std::span<TransportTime const> times, Traffic const& traffic,
                                   std::string_view preferred) {
  std::vector<std::pair<std::string_view, std::vector<Point>>> candidates;
  for (TransportTime const& time : times) {
    // No time is no reason to take a transport.
    bool const is_time = time.seconds > 0 && std::isfinite(time.seconds);
    if (time.operation != core::to_text(traffic.operation) || !is_time) continue;
    auto known = std::ranges::find(candidates, time.transport,
                                   [](auto const& candidate) { return candidate.first; });
    if (known == candidates.end()) known = candidates.insert(known, {time.transport, {}});
    known->second.push_back({static_cast<double>(time.bytes), time.seconds});
  }
  std::string_view best = preferred;
  double least = std::numeric_limits<double>::infinity(), of_preferred = least;
  for (auto& [name, points] : candidates) {
    std::ranges::sort(points, {}, &Point::bytes);
    double const seconds = interpolated(points, traffic.bytes);
    if (name == preferred) of_preferred = seconds;
    if (seconds < least) {
      least = seconds;
      best = name;
    }
  }
  return least * kClearlyFaster < of_preferred ? best : preferred;
}

/// What is measured: a channel in line by each candidate, and memory for what they exchange.
class TransportChoice::Bench {
 public:
  Bench(World& world, std::span<TransportEntry const* const> candidates)
      : world_{world},
        all_(index(world.size())),
        from_all_(index(world.size())),
        parts_(index(world.size())) {
    // Parts of the same length may be an element longer.
    std::int64_t const most = std::ranges::max(kBytes) + kElement * world.size();
    in_ = {world.device(), most, world.stream()};
    out_ = {world.device(), most, world.stream()};
    // Sums of what a fill leaves, NaN, take longer on some devices.
    world.stream().fill(in_.data(), 0, in_.bytes());
    for (TransportEntry const* entry : candidates) {
      enter(fmt::format("connect {}", entry->name));
      channels_.push_back(
          world.transport(entry->name).connect(world.group(), Order::on_caller_stream));
    }
    world.stream().synchronize();
  }

  void enter(std::string_view what) {
    world_.enter_phase(fmt::format("{}: measure transports", what),
                       world_.settings().timeout.init_s);
  }

  /// Seconds of an exchange by each candidate, the same on every rank.
  std::vector<double> measure(Operation operation, std::int64_t bytes,
                              std::span<TransportEntry const* const> candidates) {
    cut(bytes);
    std::vector<std::vector<double>> samples(channels_.size());
    Clock::time_point start;
    for (int i = 0; i <= kMax; ++i) {
      // The first one is for caches, and for what libraries do at their first call, which may take long.
      if (i == 1) start = Clock::now();
      bool const is_late =
          i > kMin && (seconds_since(start) > kSizeSeconds || JobGuard::signalled());
      if (world_.group().agree(is_late) >= 0) break;
      // In turn, so that what else the machine does meets all.
      for (std::size_t c = 0; c < channels_.size(); ++c) {
        enter(fmt::format("{} of {} bytes by {}", core::to_text(operation), bytes,
                          candidates[c]->name));
        double const seconds = time(*channels_[c], operation);
        if (i > 0) samples[c].push_back(seconds);
      }
    }
    std::vector<double> medians;
    for (std::vector<double>& of_one : samples) {
      world_.group().max(of_one);
      medians.push_back(core::summarize(of_one).median);
    }
    return medians;
  }

 private:
  static constexpr std::int64_t kElement = sizeof(float);

  /// Of so many bytes for all ranks; one element at least for each.
  void cut(std::int64_t bytes) {
    std::int64_t const n = std::max<std::int64_t>(bytes / kElement, world_.size());
    whole_bytes_ = static_cast<std::size_t>(n * kElement);
    core::Range const mine = core::split_evenly(n, world_.size(), world_.rank());
    for (int r = 0; r < world_.size(); ++r) {
      core::Range const part = core::split_evenly(n, world_.size(), r);
      auto const size = static_cast<std::size_t>(part.count * kElement);
      parts_[index(r)] = {in_.data() + part.first * kElement, size};
      all_[index(r)] = {out_.data() + part.first * kElement, size};
      from_all_[index(r)] = {out_.data() + r * mine.count * kElement,
                             static_cast<std::size_t>(mine.count * kElement)};
    }
  }

  /// One alone, as the exchanges are timed that runs show.
  double time(Channel& channel, Operation operation) {
    device::StreamView const stream = world_.stream();
    world_.group().barrier();
    Clock::time_point const start = Clock::now();
    exchange(channel, operation).wait_on(stream);
    stream.synchronize();
    return seconds_since(start);
  }

  Request exchange(Channel& channel, Operation operation) {
    device::StreamView const stream = world_.stream();
    int const rank = world_.rank(), size = world_.size();
    Piece const in{in_.data(), whole_bytes_}, out{out_.data(), whole_bytes_};
    constexpr auto type = core::DataType::f32;
    switch (operation) {
      case Operation::broadcast: return channel.broadcast(out, 0, stream);
      case Operation::allreduce: return channel.allreduce(in, out, type, ReduceOp::sum, stream);
      case Operation::reduce_scatter:
        return channel.reduce_scatter(parts_, all_[index(rank)], type, ReduceOp::sum, stream);
      case Operation::allgather: return channel.allgather(parts_[index(rank)], all_, stream);
      case Operation::alltoall: return channel.alltoallv(parts_, from_all_, stream);
      case Operation::sendrecv:
        return channel.sendrecv(in, (rank + 1) % size, out, (rank + size - 1) % size, stream);
    }
    return {};
  }

  World& world_;
  device::Buffer<std::byte> in_, out_;
  std::size_t whole_bytes_ = 0;
  std::vector<Piece> all_;         ///< of out_, by rank
  std::vector<Piece> from_all_;    ///< of out_, each as long as this rank's part
  std::vector<ConstPiece> parts_;  ///< of in_, by rank
  std::vector<std::unique_ptr<Channel>> channels_;
};

TransportChoice::TransportChoice(World& world, std::vector<TransportTime> earlier)
    : world_{world}, times_{std::move(earlier)} {}
TransportChoice::~TransportChoice() = default;

TransportEntry const& TransportChoice::best(Traffic const& traffic) {
  TransportEntry const& preferred = world_.transport_entry("auto");
  if (world_.size() == 1) return preferred;
  if (candidates_.empty()) {
    for (TransportEntry const* entry : transports()) {
      if (entry->serves(world_)) candidates_.push_back(entry);
    }
  }
  if (candidates_.size() == 1) return preferred;
  // Rank 0 may know what the others do not.
  if (world_.group().agree(is_known(traffic.operation)) < 0) measure(traffic.operation);
  std::string best{fastest_transport(times_, traffic, preferred.name)};
  world_.group().broadcast(best);
  return world_.transport_entry(best);
}

bool TransportChoice::is_known(Operation operation) const {
  std::set<std::string_view> timed, wanted;
  for (TransportTime const& time : times_) {
    if (time.operation == core::to_text(operation)) timed.insert(time.transport);
  }
  for (TransportEntry const* entry : candidates_) wanted.insert(entry->name);
  return timed == wanted;
}

void TransportChoice::measure(Operation operation) {
  if (!bench_) bench_ = std::make_unique<Bench>(world_, candidates_);
  std::string_view const preferred = world_.transport_entry("auto").name;
  std::erase_if(times_, [operation](TransportTime const& time) {
    return time.operation == core::to_text(operation);
  });
  std::size_t const first = times_.size();
  Clock::time_point const start = Clock::now();
  for (std::int64_t const bytes : kBytes) {
    // A run that is asked to end needs no better choice than this one.
    bool const is_enough = seconds_since(start) > kOperationSeconds || JobGuard::signalled();
    if (world_.group().agree(is_enough && times_.size() > first) >= 0) break;
    std::vector<double> const seconds = bench_->measure(operation, bytes, candidates_);
    for (std::size_t c = 0; c < candidates_.size(); ++c) {
      times_.push_back({std::string{core::to_text(operation)}, bytes,
                        std::string{candidates_[c]->name}, seconds[c], ""});
    }
  }
  std::span const latest = std::span{times_}.subspan(first);
  std::ranges::stable_sort(latest, {}, &TransportTime::bytes);
  for (TransportTime& time : latest) {
    time.taken = fastest_transport(times_, {operation, static_cast<double>(time.bytes)}, preferred);
  }
}

}  // namespace quadrille::comm

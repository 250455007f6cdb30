// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/enum_names.hpp"

#include <concepts>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace quadrille::comm {

class World;
struct TransportEntry;

/// The exchanges of a channel.
enum class Operation { broadcast, allreduce, reduce_scatter, allgather, alltoall, sendrecv };
constexpr auto enum_names(Operation) {
  return core::EnumNames<Operation, 6>{{{Operation::broadcast, "broadcast"},
                                        {Operation::allreduce, "allreduce"},
                                        {Operation::reduce_scatter, "reduce_scatter"},
                                        {Operation::allgather, "allgather"},
                                        {Operation::alltoall, "alltoall"},
                                        {Operation::sendrecv, "sendrecv"}}};
}

/// What a transport is chosen for. The bytes are those of a rank's longest buffer: of what all ranks
/// get or give together, where each gets or gives a part.
struct Traffic {
  Operation operation = Operation::broadcast;
  double bytes = 0;
};

/// How long an exchange takes by a transport: the median over repetitions of the slowest rank's time.
struct TransportTime {
  std::string operation;
  std::int64_t bytes = 0;
  std::string transport;
  double seconds = 0;
  std::string taken;  ///< the transport that "auto" takes for such an exchange

  bool operator==(TransportTime const&) const = default;
};

/// Visits the columns of a table of them as visit(name, member), under the names they have in files.
template <class Time, class Visit>
requires std::same_as<std::remove_const_t<Time>, TransportTime>
void visit_members(Time& time, Visit&& visit) {
  visit("operation", time.operation);
  visit("bytes", time.bytes);
  visit("transport", time.transport);
  visit("seconds", time.seconds);
  visit("auto_takes", time.taken);
}

/// By how much a transport must be faster than the preferred one to be taken in its place, so that
/// the choice does not change from run to run.
inline constexpr double kClearlyFaster = 1.1;

/// The name of the transport that such an exchange should take: of those with times the fastest where
/// it is clearly faster than the preferred one, or where that has none; else the preferred. Between two
/// sizes the logarithm of the time is interpolated over that of the size, beyond them the nearest
/// counts. Of equally fast ones the first. Points into its arguments.
std::string_view fastest_transport(std::span<TransportTime const> times, Traffic const& traffic,
                                   std::string_view preferred);

/// Chooses what transport = "auto" means, by times that it measures. Collective, all of it, and in the
/// same order on all ranks; lives only while nothing else is under way. Its phases have limits.
class TransportChoice {
 public:
  /// Starts from what an earlier choice had measured, as `earlier` says on rank 0.
  explicit TransportChoice(World& world, std::vector<TransportTime> earlier = {});
  ~TransportChoice();
  TransportChoice(TransportChoice const&) = delete;
  TransportChoice& operator=(TransportChoice const&) = delete;

  /// Measures the operation by all transports that can be selected and serve this world, where it has
  /// no times by just these; nothing where there is but one, or one rank.
  TransportEntry const& best(Traffic const& traffic);
  /// Those of the operations so far; earlier ones on rank 0 alone.
  std::vector<TransportTime> const& times() const { return times_; }

 private:
  class Bench;
  bool is_known(Operation operation) const;
  void measure(Operation operation);

  World& world_;
  std::vector<TransportEntry const*> candidates_;
  std::unique_ptr<Bench> bench_;  ///< from the first measurement on
  std::vector<TransportTime> times_;
};

}  // namespace quadrille::comm

// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/exchange.hpp"

#include <array>

namespace quadrille::workloads {
namespace {

enum class Ways { one, both };
constexpr auto enum_names(Ways) {
  return core::EnumNames<Ways, 2>{{{Ways::one, "one"}, {Ways::both, "both"}}};
}

enum class AtOnce { automatic, one, disjoint };
constexpr auto enum_names(AtOnce) {
  return core::EnumNames<AtOnce, 3>{
      {{AtOnce::automatic, "auto"}, {AtOnce::one, "one"}, {AtOnce::disjoint, "disjoint"}}};
}

struct Parameters {
  Ways ways = Ways::one;
  AtOnce at_once = AtOnce::automatic;
  // So that the ranks' leaving of the barrier one after the other is little of what is timed.
  std::int64_t round_trips = 20;
  bool operator==(Parameters const&) const = default;
};

// One pair at a time takes P (P - 1) rounds, disjoint ones as many as a rank has messages: by
// default no case has more than 240 rounds up to 120 ranks.
constexpr int kMaxRanksOneByOne = 16;
// Of messages in memory: of what a device allocates, and more than any transport wants.
constexpr std::size_t kAlignment = 256;

/// What a rank gets from each other one.
struct Message {
  char const* name;
  bool is_large = false;
  std::int64_t index = 0;  ///< of the small ones
};
constexpr Message kLarge{"large", true}, kSmall{"small"}, kReply{"reply", false, 1};
constexpr int kNobody = -1;

/// Every rank sends to every other a small message, for the latency, and the case's, for the rate:
/// step by step, one pair of ranks at a time or all disjoint ones, one way or both ways at once. One
/// way, `to` sends each small message back, and the latency is half of a round trip.
class Pairs final : public Exchange {
 public:
  Pairs(core::Case const& spec, int ranks, int rank)
      : Exchange{spec, ranks, rank},
        unit_{static_cast<std::int64_t>(kAlignment / core::size_of(spec.type))},
        pitch_{(n_ + unit_ - 1) / unit_ * unit_},
        round_trips_{spec.parameters.as<Parameters>().round_trips} {
    auto const& parameters = spec.parameters.as<Parameters>();
    bool const is_one_by_one =
        parameters.at_once == AtOnce::one ||
        (parameters.at_once == AtOnce::automatic && ranks <= kMaxRanksOneByOne);
    schedule_.both_ways = parameters.ways == Ways::both;
    schedule_.small_messages = schedule_.both_ways ? round_trips_ : 2 * round_trips_;
    schedule_.large_bytes = bytes();
    schedule_.rounds = measure::pair_rounds(
        ranks, is_one_by_one ? measure::AtOnce::one : measure::AtOnce::disjoint,
        schedule_.both_ways);
  }

  measure::Description describe(measure::Selection const&) const override {
    measure::Description d;
    d.traits = {.min_ranks = 2, .communicates = true, .repeatable = false};
    d.amount = bytes() * ranks_ * (ranks_ - 1);
    d.unit = "B/s";
    d.network_bytes = d.amount;
    d.traffic = {comm::Operation::sendrecv, bytes()};
    d.memory_bytes = static_cast<double>(size_of()) * static_cast<double>(sent() + received());
    d.pairs = schedule_;
    return d;
  }

  void select_step(std::int64_t step) override {
    is_large_ = measure::PairSchedule::is_large(step);
    to_ = from_ = kNobody;
    for (measure::Pair const& pair : schedule_.pairs(step)) {
      if (pair.from == rank_) to_ = pair.to;
      if (pair.to == rank_) from_ = pair.from;
    }
    if (schedule_.both_ways) to_ = from_ = std::max(to_, from_);
  }

  void run(comm::World& world, measure::Leg, kernels::VariantInfo const& variant) override {
    comm::Channel& channel = channel_of(variant);
    device::StreamView const stream = world.stream();
    for (std::int64_t i = 0; i < (is_large_ ? 1 : round_trips_); ++i) {
      exchange(channel, stream).wait_on(stream);
      if (is_large_ || schedule_.both_ways) continue;
      channel.sendrecv(source(from_, kReply), from_, place(to_, kReply), to_, stream)
          .wait_on(stream);
    }
  }

  measure::Verdict validate(comm::World& world) override {
    Finding found;
    for (int sender = 0; sender < ranks_; ++sender) {
      if (sender == rank_) continue;
      for (Message const& message : messages()) {
        device::MatrixView const row =
            received_messages(message).block(row_of(sender), 0, 1, length_of(message));
        found.add(compare(message.name, row, block_from(sender, start_of(rank_, message)),
                          Exchange::source(), world, message.is_large ? check_stride(case_) : 1));
      }
    }
    return agree(world, found);
  }

  std::vector<measure::Field> fields() override {
    std::vector<measure::Field> all{
        field("in", in_.view(), {{ranks_, 0, ranks_}, {sent(), 0, 1}, rank_, 0})};
    for (Message const& message : messages()) {
      device::MatrixView const view = received_messages(message);
      all.push_back(measure::output(
          field(message.name, view,
                {{std::int64_t{ranks_} * (ranks_ - 1), 0, ranks_}, {view.cols, 0, 1}, rank_, 0})));
    }
    return all;
  }

 private:
  std::span<Message const> messages() const {
    static constexpr std::array kAll{kLarge, kSmall, kReply};
    return std::span{kAll}.first(schedule_.both_ways ? 2 : 3);
  }

  std::int64_t small() const {
    return schedule_.small_bytes / static_cast<std::int64_t>(size_of());
  }
  std::int64_t length_of(Message const& message) const { return message.is_large ? n_ : small(); }
  std::int64_t sent() const override { return std::max(n_, unit_) + unit_ * ranks_; }
  std::int64_t received() const override {
    return (pitch_ + (std::ssize(messages()) - 1) * unit_) * (ranks_ - 1);
  }

  /// Where a message to this rank starts in the row of every sender: for each receiver elsewhere, so
  /// that what goes astray is seen.
  std::int64_t start_of(int receiver, Message const& message) const {
    return receiver * unit_ + message.index * small();
  }
  comm::ConstPiece source(int receiver, Message const& message) const {
    if (receiver == kNobody) return {};
    return in_piece(start_of(receiver, message), length_of(message));
  }

  /// A row for each sender but this rank.
  std::int64_t row_of(int sender) const { return sender < rank_ ? sender : sender - 1; }
  device::MatrixView received_messages(Message const& message) const {
    std::int64_t const others = ranks_ - 1;
    std::int64_t const first = message.is_large ? 0 : (pitch_ + message.index * unit_) * others;
    return {out_.view().at(0, first), case_.type, others, length_of(message),
            message.is_large ? pitch_ : unit_};
  }
  comm::Piece place(int sender, Message const& message) const {
    if (sender == kNobody) return {};
    device::MatrixView const view = received_messages(message);
    return {view.at(row_of(sender), 0), static_cast<std::size_t>(view.cols) * size_of()};
  }

  /// Ranks that are in no pair make the call, too, for nothing.
  comm::Request exchange(comm::Channel& channel, device::StreamView stream) override {
    Message const& message = is_large_ ? kLarge : kSmall;
    return channel.sendrecv(source(to_, message), to_, place(from_, message), from_, stream);
  }

  std::int64_t unit_;   ///< elements between the places of small messages
  std::int64_t pitch_;  ///< and of large ones
  std::int64_t round_trips_;
  measure::PairSchedule schedule_;
  // Of the present step.
  bool is_large_ = false;
  int to_ = kNobody, from_ = kNobody;
};

}  // namespace

namespace entries {

extern measure::WorkloadEntry const pairs = measure::entry({
    .schema = {.name = "pairs",
               .extents = {"n"},
               .min_extent = 1,
               .keys = {.transport = true, .any_bits = true},
               .defaults = core::Parameters{Parameters{}},
               .options = {core::options::choice(
                               "ways", core::options::at(&Parameters::ways),
                               "one: a message at a time between two ranks, both: "
                               "one each way at once"),
                           core::options::choice(
                               "at_once", core::options::at(&Parameters::at_once),
                               "one: a pair of ranks at a time, all others wait; disjoint: as many "
                               "pairs as there are without a common rank; auto: one up to 16 "
                               "ranks, so that time grows with their number and not its square"),
                           core::options::count("round_trips",
                                                core::options::at(&Parameters::round_trips),
                                                "small messages in a row, each way, of which the "
                                                "latency is the mean",
                                                {.least = 1, .most = 1'000'000})}},
    .summary = "latency and rate from every rank to every other, and what joins them",
    .work = "S bytes from each rank to each: P (P - 1) S, and small messages beside",
    .local = false,
    .variants = exchange_rows(),
    .make = measure::make<Pairs>,
    .secondary = {{"pair", "s and B/s",
                   "of each rank to each other one the latency of 8 bytes and the rate of a "
                   "message, in this direction; medians over repetitions of the slower rank's time "
                   "from a common barrier. One way, the latency is half of a round trip, of "
                   "several in a row; both ways at once, the time of an exchange."},
                  {"link", "name",
                   "what joins the devices of two ranks. Of GPUs, by NVML: same GPU, NVLink, PCIe; "
                   "of hosts the memory of a node; between nodes the network. The best way that "
                   "there is: a transport may take another."}},
});

}  // namespace entries

}  // namespace quadrille::workloads

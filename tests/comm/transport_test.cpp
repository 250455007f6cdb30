// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/transport.hpp"

#include "comm/faulty_channel.hpp"
#include "core/config.hpp"
#include "support/expect_fails.hpp"
#include "support/mpi_world.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <thread>

namespace quadrille::comm {
namespace {

using test::world;
using Bytes = std::vector<std::byte>;

// Where the mpi transport cuts: slots of at most 2 MiB, shared by all pieces of a gather or
// scatter.
constexpr std::size_t kSlot = 2UL << 20;

device::StreamView stream() { return world().stream(); }
int ranks() { return world().size(); }
int self() { return world().rank(); }
std::size_t at(int r) { return static_cast<std::size_t>(r); }
int after(int r) { return (r + 1) % ranks(); }
int before(int r) { return (r + ranks() - 1) % ranks(); }

/// Differs by position, sender and receiver: byte i is 131 i + 17 (i / 256) + 59 from + 101 to + 7. All are
/// parts of one table with a period of 64 KiB, as 17 * 241 is 1 modulo 256.
Bytes message(std::size_t bytes, int from, int to) {
  static Bytes const table = [] {
    Bytes all(std::size_t{1} << 16);
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i] = static_cast<std::byte>((i * 131 + i / 256 * 17) & 0xff);
    }
    return all;
  }();
  std::size_t first = (at(from) * 59 + at(to) * 101 + 7) * 241 % 256 * 256;
  Bytes all;
  all.reserve(bytes);
  while (all.size() < bytes) {
    auto const begin = table.begin() + static_cast<std::ptrdiff_t>(first);
    std::size_t const n = std::min(bytes - all.size(), table.size() - first);
    all.insert(all.end(), begin, begin + static_cast<std::ptrdiff_t>(n));
    first = 0;
  }
  return all;
}

/// Small integers, so that sums are exact in every type.
template <class T>
T expected_value(std::size_t i, int from, int part) {
  constexpr int kMax = sizeof(T) > 2 ? 50 : 6;
  auto const drawn = (i * 7 + at(from) * 13 + at(part) * 5) % (2 * kMax + 1);
  return static_cast<T>(static_cast<double>(drawn) - kMax);
}

template <class T>
T combined(std::size_t i, int part, ReduceOp op) {
  T result = expected_value<T>(i, 0, part);
  for (int r = 1; r < ranks(); ++r) {
    T const value = expected_value<T>(i, r, part);
    auto const a = static_cast<double>(result), b = static_cast<double>(value);
    result = static_cast<T>(op == ReduceOp::sum   ? a + b
                            : op == ReduceOp::min ? std::min(a, b)
                                                  : std::max(a, b));
  }
  return result;
}

template <class T>
Bytes to_bytes(std::vector<T> const& values) {
  auto const* first = reinterpret_cast<std::byte const*>(values.data());
  return {first, first + values.size() * sizeof(T)};
}

template <class T>
Bytes contribution(std::size_t count, int from, int part) {
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = expected_value<T>(i, from, part);
  return to_bytes(values);
}

template <class T>
Bytes reduction(std::size_t count, int part, ReduceOp op) {
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = combined<T>(i, part, op);
  return to_bytes(values);
}

/// Device memory with a guard behind it; starts as 0xFF.
class Place {
 public:
  explicit Place(std::size_t bytes)
      : bytes_{bytes},
        memory_{world().device(), static_cast<std::int64_t>(bytes + kGuard), stream()} {}
  explicit Place(Bytes content) : Place{content.size()} {
    content_ = std::move(content);
    stream().copy(memory_.data(), content_.data(), bytes_);
  }
  Piece piece() const { return {memory_.data(), bytes_}; }
  ConstPiece const_piece() const { return {memory_.data(), bytes_}; }
  void erase() const { stream().fill(memory_.data(), 0xFF, bytes_ + kGuard); }
  /// The content once the world's stream is through; empty and a failure where the guard was hit.
  Bytes read() const {
    Bytes all(bytes_ + kGuard);
    stream().copy(all.data(), memory_.data(), all.size());
    stream().synchronize();
    bool const is_whole = std::all_of(all.begin() + static_cast<std::ptrdiff_t>(bytes_), all.end(),
                                      [](std::byte b) { return b == std::byte{0xFF}; });
    EXPECT_TRUE(is_whole) << "written behind the end";
    all.resize(bytes_);
    return all;
  }

 private:
  static constexpr std::size_t kGuard = 64;
  std::size_t bytes_;
  Bytes content_;  ///< alive while the stream copies it
  device::Buffer<std::byte> memory_;
};

std::vector<Piece> pieces(std::vector<Place> const& places) {
  std::vector<Piece> all;
  for (Place const& place : places) all.push_back(place.piece());
  return all;
}
std::vector<ConstPiece> const_pieces(std::vector<Place> const& places) {
  std::vector<ConstPiece> all;
  for (Place const& place : places) all.push_back(place.const_piece());
  return all;
}

struct Setting {
  TransportEntry const* transport;
  std::size_t chunk_bytes;
  bool always_stage = false;
  int max_ctas = 0;
  Order order = Order::own_streams;
  bool in_gpu_place = false;  ///< a transport of GPUs moves the host's memory by the same code
};

std::string name_of(Setting const& setting) {
  return std::string{setting.transport->name} + (setting.always_stage ? "_staged" : "") +
         (setting.max_ctas > 0 ? "_limited" : "") +
         (setting.order == Order::on_caller_stream ? "_on_caller_stream" : "") +
         (setting.in_gpu_place ? "_on_host" : "") + "_" +
         std::to_string(setting.chunk_bytes >> 10) + "KiB";
}

/// Stands for a transport of another owner.
class Borrowed final : public Transport {
 public:
  explicit Borrowed(Transport& real) : real_{real} {}

 private:
  std::unique_ptr<Channel> do_connect(Group const& group, Order order) override {
    return real_.connect(group, order);
  }
  Transport& real_;
};

class TransportTest : public testing::TestWithParam<Setting> {
 protected:
  /// Around every place where a message or a piece of a gather is cut, and many turns of the ring;
  /// multiples of `unit`.
  std::vector<std::size_t> sizes(std::size_t unit = 1) const {
    std::size_t const slot = std::min(GetParam().chunk_bytes, kSlot);
    std::size_t const share = slot / at(ranks()) / 64 * 64;
    std::size_t const many = slot > (256UL << 10) ? 5 : 11;
    return {0,    unit,        share - unit,          share, share + unit, slot - unit,
            slot, slot + unit, many * slot + 3 * unit};
  }
  bool is_equal(Place const& place, Bytes const& expected) const {
    return place.read() == expected;
  }

  void SetUp() override {
    std::string const reason = GetParam().transport->unavailable_reason(&world());
    if (!reason.empty() && !GetParam().in_gpu_place) GTEST_SKIP() << reason;
    channel_ = connect(world().group());
  }
  static void TearDownTestSuite() {
    faulty_.reset();
    made_.clear();
  }

  static std::unique_ptr<Channel> connect(Group const& group) {
    return transport().connect(group, GetParam().order);
  }
  static std::unique_ptr<Channel> connect_faulty(MessageFault fault) {
    faulty_ = make_faulty(std::make_unique<Borrowed>(transport()), fault, world().device(),
                          GetParam().chunk_bytes);
    return faulty_->connect(world().group(), GetParam().order);
  }

  std::unique_ptr<Channel> channel_;

 private:
  /// One for all tests of a setting: a communicator of NCCL takes longer than most of them.
  static Transport& transport() {
    Setting const& setting = GetParam();
    std::unique_ptr<Transport>& made = made_[name_of(setting)];
    TransportOptions const options{setting.chunk_bytes, 0, setting.always_stage, setting.max_ctas};
    if (!made) {
      made = setting.in_gpu_place ? setting.transport->make(world(), options)
                                  : make_transport(setting.transport->name, world(), options);
    }
    return *made;
  }

  static inline std::map<std::string, std::unique_ptr<Transport>> made_;
  static inline std::unique_ptr<Transport> faulty_;
};

TEST_P(TransportTest, BroadcastFromEveryRoot) {
  EXPECT_EQ(channel_->rank(), self());
  EXPECT_EQ(channel_->size(), ranks());
  for (std::size_t const bytes : sizes()) {
    for (int root = 0; root < ranks(); ++root) {
      for (Broadcast const algorithm : {Broadcast::library, Broadcast::ring}) {
        Bytes const expected = message(bytes, root, 0);
        Place const data = self() == root ? Place{expected} : Place{bytes};

        channel_->broadcast(data.piece(), root, stream(), algorithm).wait_on(stream());

        EXPECT_TRUE(is_equal(data, expected)) << bytes << " bytes from " << root;
      }
    }
  }
}

template <class T>
void check_allreduce(Channel& channel, std::size_t bytes, ReduceOp op) {
  std::size_t const count = bytes / sizeof(T);
  Bytes const expected = reduction<T>(count, 0, op);
  Place const in{contribution<T>(count, self(), 0)};
  Place const out{count * sizeof(T)};
  Place const both{contribution<T>(count, self(), 0)};

  channel.allreduce(in.const_piece(), out.piece(), core::type_of<T>(), op, stream());
  channel.allreduce(both.const_piece(), both.piece(), core::type_of<T>(), op, stream())
      .wait_on(stream());

  EXPECT_EQ(out.read() == expected, true) << bytes << " bytes";
  EXPECT_EQ(both.read() == expected, true) << bytes << " bytes in place";
  EXPECT_EQ(in.read() == contribution<T>(count, self(), 0), true) << "input changed";
}

TEST_P(TransportTest, AllreduceOfEveryTypeAndOperation) {
  for (std::size_t const bytes : sizes(8)) {
    check_allreduce<double>(*channel_, bytes, ReduceOp::sum);
    check_allreduce<float>(*channel_, bytes, ReduceOp::max);
    check_allreduce<core::bf16>(*channel_, bytes, ReduceOp::sum);
  }
  check_allreduce<core::f16>(*channel_, 1000, ReduceOp::sum);
  for (ReduceOp const op : {ReduceOp::sum, ReduceOp::min, ReduceOp::max}) {
    check_allreduce<double>(*channel_, 1000, op);
    check_allreduce<float>(*channel_, 1000, op);
    check_allreduce<std::int64_t>(*channel_, 1000, op);
    check_allreduce<std::int32_t>(*channel_, 1000, op);
  }
}

TEST_P(TransportTest, MinAndMaxKeepNan) {
  if (GetParam().transport->drops_nan) GTEST_SKIP() << "says so";
  for (int bad = 0; bad < ranks(); ++bad) {
    for (ReduceOp const op : {ReduceOp::sum, ReduceOp::min, ReduceOp::max}) {
      double const nan = std::numeric_limits<double>::quiet_NaN();
      Place const in{to_bytes<double>({self() == bad ? nan : self(), 1})};
      Place const out{16};

      channel_->allreduce(in.const_piece(), out.piece(), core::DataType::f64, op, stream())
          .wait_on(stream());

      Bytes const result = out.read();
      auto const* values = reinterpret_cast<double const*>(result.data());
      EXPECT_TRUE(std::isnan(values[0])) << "from rank " << bad;
      EXPECT_FALSE(std::isnan(values[1]));
    }
  }
}

template <class T>
void check_reduce_scatter(Channel& channel, std::vector<std::size_t> const& counts, ReduceOp op) {
  std::vector<Place> parts;
  for (int r = 0; r < ranks(); ++r) parts.emplace_back(contribution<T>(counts[at(r)], self(), r));
  Place const out{counts[at(self())] * sizeof(T)};

  channel.reduce_scatter(const_pieces(parts), out.piece(), core::type_of<T>(), op, stream())
      .wait_on(stream());

  EXPECT_EQ(out.read() == reduction<T>(counts[at(self())], self(), op), true)
      << counts[0] << " elements first";
}

/// Even pieces, ragged ones, one rank alone with data, one without.
std::vector<std::vector<std::size_t>> layouts(std::size_t count) {
  std::vector<std::size_t> even(at(ranks()), count);
  std::vector<std::size_t> ragged;
  for (int r = 0; r < ranks(); ++r) ragged.push_back(count / at(r + 1));
  std::vector<std::size_t> alone(at(ranks()), 0);
  alone.back() = count;
  std::vector<std::size_t> without = even;
  without.front() = 0;
  return {even, ragged, alone, without};
}

TEST_P(TransportTest, ReduceScatterOfEvenAndRaggedParts) {
  for (std::size_t const bytes : sizes(8)) {
    for (auto const& counts : layouts(bytes / 8)) {
      check_reduce_scatter<double>(*channel_, counts, ReduceOp::sum);
    }
  }
  for (ReduceOp const op : {ReduceOp::sum, ReduceOp::min, ReduceOp::max}) {
    for (auto const& counts : layouts(501)) {
      check_reduce_scatter<double>(*channel_, counts, op);
      check_reduce_scatter<float>(*channel_, counts, op);
      check_reduce_scatter<std::int64_t>(*channel_, counts, op);
      check_reduce_scatter<std::int32_t>(*channel_, counts, op);
    }
  }
}

TEST_P(TransportTest, AllgatherOfEvenAndRaggedPieces) {
  for (std::size_t const size : sizes()) {
    for (auto const& bytes : layouts(size)) {
      Place const mine{message(bytes[at(self())], self(), 0)};
      std::vector<Place> all;
      for (int r = 0; r < ranks(); ++r) all.emplace_back(bytes[at(r)]);

      channel_->allgather(mine.const_piece(), pieces(all), stream()).wait_on(stream());

      for (int r = 0; r < ranks(); ++r) {
        EXPECT_TRUE(is_equal(all[at(r)], message(bytes[at(r)], r, 0))) << size << " from " << r;
      }
    }
  }
}

TEST_P(TransportTest, AllgatherInPlaceOfOneRun) {
  std::size_t const each = 3 * std::min(GetParam().chunk_bytes, kSlot) + 5;
  Place const run{each * at(ranks())};
  Bytes const mine = message(each, self(), 0);
  std::vector<Piece> all;
  for (int r = 0; r < ranks(); ++r) {
    all.push_back({static_cast<std::byte*>(run.piece().data) + at(r) * each, each});
  }
  stream().copy(all[at(self())].data, mine.data(), each);

  channel_->allgather({all[at(self())].data, each}, all, stream()).wait_on(stream());

  Bytes const got = run.read();
  for (int r = 0; r < ranks(); ++r) {
    Bytes const expected = message(each, r, 0);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(),
                           got.begin() + static_cast<std::ptrdiff_t>(at(r) * each)));
  }
}

// Every rank sends a different amount to every other, some nothing.
TEST_P(TransportTest, AlltoallvOfRaggedPieces) {
  for (std::size_t const size : sizes()) {
    auto const bytes = [size](int from, int to) {
      switch ((from + 2 * to) % 4) {
        case 0: return size;
        case 1: return size / 3 + 1;
        case 2: return std::size_t{0};
        default: return size + at(from);
      }
    };
    std::vector<Place> send;
    std::vector<Place> receive;
    for (int r = 0; r < ranks(); ++r) {
      send.emplace_back(message(bytes(self(), r), self(), r));
      receive.emplace_back(bytes(r, self()));
    }

    channel_->alltoallv(const_pieces(send), pieces(receive), stream()).wait_on(stream());

    for (int r = 0; r < ranks(); ++r) {
      EXPECT_TRUE(is_equal(receive[at(r)], message(bytes(r, self()), r, self())))
          << size << " from " << r;
    }
  }
}

TEST_P(TransportTest, SendrecvAroundTheRingAndToItself) {
  for (std::size_t const bytes : sizes()) {
    Place const send{message(bytes + at(self()), self(), after(self()))};
    Place const receive{bytes + at(before(self()))};

    channel_->sendrecv(send.const_piece(), after(self()), receive.piece(), before(self()), stream())
        .wait_on(stream());

    EXPECT_TRUE(is_equal(receive, message(bytes + at(before(self())), before(self()), self())));
  }
  Place const send{message(1000, self(), self())};
  Place const receive{1000};
  channel_->sendrecv(send.const_piece(), self(), receive.piece(), self(), stream())
      .wait_on(stream());
  EXPECT_TRUE(is_equal(receive, message(1000, self(), self())));
}

// A chain: the first rank only sends, the last only receives.
TEST_P(TransportTest, SendrecvOneWay) {
  std::size_t const bytes = 5 * std::min(GetParam().chunk_bytes, kSlot) + 1;
  bool const is_first = self() == 0;
  bool const is_last = self() == ranks() - 1;
  Place const send{message(bytes, self(), self() + 1)};
  Place const receive{bytes};

  channel_
      ->sendrecv(send.const_piece(), is_last ? -1 : self() + 1, receive.piece(),
                 is_first ? -1 : self() - 1, stream())
      .wait_on(stream());

  Bytes const untouched(bytes, std::byte{0xFF});
  EXPECT_TRUE(is_equal(receive, is_first ? untouched : message(bytes, self() - 1, self())));
}

TEST_P(TransportTest, ManyExchangesKeepTheirOrder) {
  constexpr int kRounds = 200;
  Place const mine{std::size_t{8 * kRounds}};
  Place const all{std::size_t{8 * kRounds}};
  std::vector<std::int64_t> values(kRounds);
  for (int i = 0; i < kRounds; ++i) values[at(i)] = i * (self() + 1);
  stream().copy(mine.piece().data, values.data(), 8 * kRounds);

  Request last;
  for (int i = 0; i < kRounds; ++i) {
    auto* from = static_cast<std::byte*>(mine.piece().data) + 8 * i;
    auto* to = static_cast<std::byte*>(all.piece().data) + 8 * i;
    last = channel_->allreduce({from, 8}, {to, 8}, core::DataType::i64, ReduceOp::sum, stream());
  }
  last.wait_on(stream());

  Bytes const got = all.read();
  for (int i = 0; i < kRounds; ++i) {
    EXPECT_EQ(reinterpret_cast<std::int64_t const*>(got.data())[i],
              i * ranks() * (ranks() + 1) / 2);
  }
}

// The input is written by earlier work of one stream, the output read by later work of another. The
// last rank enters only when the calls of all others have returned: a call that waited for its peer
// would wait for ever.
TEST_P(TransportTest, StreamsWaitAndTheHostDoesNot) {
  std::size_t const bytes = 9 * std::min(GetParam().chunk_bytes, kSlot) + 8;
  // Copies of a GPU from and to pageable memory keep the host waiting.
  device::PinnedBuffer<std::byte> const content{world().device(), static_cast<std::int64_t>(bytes)};
  device::PinnedBuffer<std::byte> const seen{world().device(), static_cast<std::int64_t>(bytes)};
  std::ranges::copy(message(bytes, self(), after(self())), content.data());
  Place const send{bytes};
  Place const receive{bytes};
  bool const is_late = self() == ranks() - 1;
  // The first exchange with a rank may connect the two, for which the host waits.
  channel_->sendrecv(send.const_piece(), after(self()), receive.piece(), before(self()), stream())
      .wait_on(stream());
  stream().synchronize();

  if (is_late) world().group().barrier();
  stream().run([] { std::this_thread::sleep_for(std::chrono::milliseconds{50}); });
  stream().copy(send.piece().data, content.data(), bytes);
  channel_->sendrecv(send.const_piece(), after(self()), receive.piece(), before(self()), stream())
      .wait_on(world().comm_stream());
  world().comm_stream().copy(seen.data(), receive.piece().data, bytes);
  if (!is_late) world().group().barrier();
  world().comm_stream().synchronize();

  EXPECT_TRUE(
      std::ranges::equal(std::span{seen.data(), bytes}, message(bytes, before(self()), self())));
}

// With the channels entered in opposite orders, one alone would wait for ever.
TEST_P(TransportTest, ChannelsAreIndependent) {
  if (GetParam().transport->name.starts_with("nccl")) {
    GTEST_SKIP() << "channels of NCCL share one order";
  }
  if (GetParam().order == Order::on_caller_stream)
    GTEST_SKIP() << "channels in line share the stream's";
  auto const other = connect(world().group());
  std::size_t const bytes = 6 * std::min(GetParam().chunk_bytes, kSlot) + 3;
  Bytes const expected = message(bytes, 0, 0);
  Place const first = self() == 0 ? Place{expected} : Place{bytes};
  Place const second = self() == 0 ? Place{expected} : Place{bytes};
  bool const is_even = self() % 2 == 0;

  Channel& early = is_even ? *channel_ : *other;
  Channel& late = is_even ? *other : *channel_;
  Place const& early_data = is_even ? first : second;
  Place const& late_data = is_even ? second : first;
  Request const one = early.broadcast(early_data.piece(), 0, stream());
  std::this_thread::sleep_for(std::chrono::milliseconds{50});
  Request const two = late.broadcast(late_data.piece(), 0, stream());
  one.wait_on(stream());
  two.wait_on(stream());

  EXPECT_TRUE(is_equal(first, expected));
  EXPECT_TRUE(is_equal(second, expected));
}

TEST_P(TransportTest, SubgroupsExchangeAmongThemselves) {
  Group const pair = world().group().split(self() / 2, self());
  auto const channel = connect(pair);
  Place const in{to_bytes<std::int64_t>({self() + 1})};
  Place const out{8};

  channel->allreduce(in.const_piece(), out.piece(), core::DataType::i64, ReduceOp::sum, stream())
      .wait_on(stream());

  EXPECT_EQ(*reinterpret_cast<std::int64_t const*>(out.read().data()),
            pair.sum(std::int64_t{self() + 1}));
}

TEST_P(TransportTest, RefusesWhatDoesNotFit) {
  Place const data{64};
  std::vector<Piece> const none;
  EXPECT_FAILS(channel_->allreduce({nullptr, 8}, {nullptr, 16}, core::DataType::f64, ReduceOp::sum,
                                   stream()),
               "differ in size");
  EXPECT_FAILS(channel_->allgather(data.const_piece(), none, stream()), "0 pieces for");
  std::vector<ConstPiece> const parts(at(ranks()), data.const_piece());
  std::vector<Piece> const places(at(ranks()), data.piece());
  std::vector<Piece> const short_places(at(ranks()), {nullptr, 8});
  EXPECT_FAILS(channel_->alltoallv({}, places, stream()), "0 pieces for");
  EXPECT_FAILS(channel_->alltoallv(parts, none, stream()), "0 pieces for");
  EXPECT_FAILS(
      channel_->reduce_scatter({}, data.piece(), core::DataType::f64, ReduceOp::sum, stream()),
      "0 pieces for");
  EXPECT_FAILS(
      channel_->reduce_scatter(parts, {nullptr, 8}, core::DataType::f64, ReduceOp::sum, stream()),
      "differ in size");
  EXPECT_FAILS(channel_->allgather({nullptr, 8}, places, stream()), "differ in size");
  EXPECT_FAILS(channel_->alltoallv(parts, short_places, stream()), "differ in size");
  EXPECT_FAILS(channel_->broadcast(data.piece(), ranks(), stream()), "no rank");
  EXPECT_FAILS(channel_->broadcast(data.piece(), -1, stream()), "no rank -1");
  EXPECT_FAILS(channel_->sendrecv(data.const_piece(), ranks(), data.piece(), -1, stream()),
               "no rank");
  EXPECT_FAILS(channel_->sendrecv(data.const_piece(), -1, data.piece(), ranks(), stream()),
               "no rank");
  EXPECT_FAILS(channel_->sendrecv(data.const_piece(), self(), data.piece(), -1, stream()),
               "both sides");
  EXPECT_FAILS(channel_->sendrecv({nullptr, 8}, self(), data.piece(), self(), stream()),
               "both sides");
  EXPECT_FAILS(channel_->allreduce({nullptr, 8}, {nullptr, 8}, core::DataType::bf16, ReduceOp::max,
                                   stream()),
               "no reduction of bf16");
  for (core::DataType const type : {core::DataType::f64, core::DataType::i8}) {
    EXPECT_FAILS(channel_->allreduce({nullptr, 12}, {nullptr, 12}, type, ReduceOp::sum, stream()),
                 type == core::DataType::i8 ? "no reduction of i8" : "no whole elements of f64");
    std::vector<ConstPiece> const odd(at(ranks()), {nullptr, 12});
    EXPECT_FAILS(channel_->reduce_scatter(odd, {nullptr, 12}, type, ReduceOp::sum, stream()),
                 type == core::DataType::i8 ? "no reduction of i8" : "no whole elements of f64");
  }
  stream().synchronize();  // the memory is still being filled
}

/// What this rank has after an exchange of each kind, with every broadcast from rank 0; all[kind] are
/// its pieces. Places of a broadcast hold a message of their own before, others 0xFF.
std::vector<std::vector<Bytes>> exchange_all(Channel& channel, std::size_t size) {
  std::vector<std::vector<Bytes>> all;
  for (Broadcast const algorithm : {Broadcast::library, Broadcast::ring}) {
    Place const data{message(size, self(), 0)};
    channel.broadcast(data.piece(), 0, stream(), algorithm).wait_on(stream());
    all.push_back({data.read()});
  }
  for (ReduceOp const op : {ReduceOp::sum, ReduceOp::min, ReduceOp::max}) {
    Place const in{contribution<double>(size / 8, self(), 0)};
    Place const out{size / 8 * 8};
    channel.allreduce(in.const_piece(), out.piece(), core::DataType::f64, op, stream())
        .wait_on(stream());
    all.push_back({out.read()});
  }
  {
    std::vector<Place> parts;
    for (int r = 0; r < ranks(); ++r) parts.emplace_back(contribution<float>(size / 4, self(), r));
    Place const out{size / 4 * 4};
    channel
        .reduce_scatter(const_pieces(parts), out.piece(), core::DataType::f32, ReduceOp::sum,
                        stream())
        .wait_on(stream());
    all.push_back({out.read()});
  }
  {
    Place const mine{message(size, self(), 0)};
    std::vector<Place> places;
    for (int r = 0; r < ranks(); ++r) places.emplace_back(size);
    channel.allgather(mine.const_piece(), pieces(places), stream()).wait_on(stream());
    all.emplace_back();
    for (Place const& place : places) all.back().push_back(place.read());
  }
  {
    std::vector<Place> send;
    std::vector<Place> receive;
    for (int r = 0; r < ranks(); ++r) {
      send.emplace_back(message(size + at(r), self(), r));
      receive.emplace_back(size + at(self()));
    }
    channel.alltoallv(const_pieces(send), pieces(receive), stream()).wait_on(stream());
    all.emplace_back();
    for (Place const& place : receive) all.back().push_back(place.read());
  }
  {
    Place const send{message(size, self(), after(self()))};
    Place const receive{size};
    channel.sendrecv(send.const_piece(), after(self()), receive.piece(), before(self()), stream())
        .wait_on(stream());
    all.push_back({receive.read()});
  }
  return all;
}

/// What exchange_all() must give where nothing is wrong.
std::vector<std::vector<Bytes>> right_exchanges(std::size_t size) {
  std::vector<Bytes> gathered;
  std::vector<Bytes> scattered;
  for (int r = 0; r < ranks(); ++r) {
    gathered.push_back(message(size, r, 0));
    scattered.push_back(message(size + at(self()), r, self()));
  }
  return {{message(size, 0, 0)},
          {message(size, 0, 0)},
          {reduction<double>(size / 8, 0, ReduceOp::sum)},
          {reduction<double>(size / 8, 0, ReduceOp::min)},
          {reduction<double>(size / 8, 0, ReduceOp::max)},
          {reduction<float>(size / 4, self(), ReduceOp::sum)},
          gathered,
          scattered,
          {message(size, before(self()), self())}};
}

/// What it must give with the fault.
std::vector<std::vector<Bytes>> faulty_exchanges(std::size_t size, MessageFault fault,
                                                 std::size_t chunk_bytes) {
  std::vector<std::vector<Bytes>> all = right_exchanges(size);
  if (ranks() == 1) return all;
  Bytes const own = message(size, self(), 0);
  if (fault == MessageFault::drop_message) {
    int const last_sender = self() == ranks() - 1 ? ranks() - 2 : ranks() - 1;
    for (std::size_t kind = 0; kind < all.size(); ++kind) {
      bool const is_broadcast = kind < 2;
      if (is_broadcast && self() == 0) continue;
      Bytes& last = all[kind].size() == 1 ? all[kind][0] : all[kind][at(last_sender)];
      std::size_t const first = last.size() - std::min(last.size(), chunk_bytes);
      for (std::size_t i = first; i < last.size(); ++i) {
        last[i] = is_broadcast ? own[i] : std::byte{0xFF};
      }
    }
    return all;
  }
  Bytes const broadcast = self() == 0 ? own : message(size, 1, 0);
  Bytes const reduced = contribution<double>(size / 8, after(self()), 0);
  std::vector<Bytes> gathered;
  std::vector<Bytes> scattered;
  for (int r = 0; r < ranks(); ++r) {
    gathered.push_back(message(size, before(r), 0));
    scattered.push_back(message(size + at(self()), before(r), self()));
  }
  return {{broadcast}, {broadcast}, {reduced},
          {reduced},   {reduced},   {contribution<float>(size / 4, after(self()), self())},
          gathered,    scattered,   {message(size, self(), after(self()))}};
}

TEST_P(TransportTest, FaultsGiveTheirWrongDataAndNoHang) {
  std::array const tested{std::size_t{16}, 3 * std::min(GetParam().chunk_bytes, kSlot)};
  for (std::size_t const size : tested) {
    EXPECT_TRUE(exchange_all(*channel_, size) == right_exchanges(size)) << size << " bytes";
  }
  for (MessageFault const fault : {MessageFault::drop_message, MessageFault::wrong_rank}) {
    auto const channel = connect_faulty(fault);
    for (std::size_t const size : tested) {
      auto const got = exchange_all(*channel, size);
      auto const wrong = faulty_exchanges(size, fault, GetParam().chunk_bytes);
      auto const right = right_exchanges(size);

      for (std::size_t kind = 0; kind < right.size(); ++kind) {
        EXPECT_TRUE(got[kind] == wrong[kind]) << "exchange " << kind << ", " << size << " bytes";
        std::int64_t const differs = wrong[kind] != right[kind];
        if (ranks() > 1) {
          EXPECT_GT(world().group().sum(differs), 0) << "exchange " << kind << " has no fault";
        }
      }
    }
  }
}

// Two turns through the same places: in the first nothing has come, in the second what the first
// should have brought.
TEST_P(TransportTest, AMisplacedWaitReadsWhatWasThereBefore) {
  std::size_t const size = 3 * std::min(GetParam().chunk_bytes, kSlot) + 8;
  auto const channel = connect_faulty(MessageFault::misplaced_wait);
  Place const everybodys{size}, reduced{size};
  std::vector<Place> received;
  for (int r = 0; r < ranks(); ++r) received.emplace_back(size);
  Bytes const erased(size, std::byte{0xFF});

  for (int turn = 0; turn < 2; ++turn) {
    Bytes const sent = message(size, 0, turn);
    if (self() == 0) stream().copy(everybodys.piece().data, sent.data(), size);
    Place const in{contribution<double>(size / 8, self(), turn)};
    std::vector<Place> out;
    for (int r = 0; r < ranks(); ++r) out.emplace_back(message(size, self(), r + turn));

    channel->broadcast(everybodys.piece(), 0, stream()).wait_on(stream());
    channel
        ->allreduce(in.const_piece(), reduced.piece(), core::DataType::f64, ReduceOp::sum, stream())
        .wait_on(stream());
    channel->alltoallv(const_pieces(out), pieces(received), stream()).wait_on(stream());

    bool const is_alone = ranks() == 1;
    Bytes const before = turn == 0 ? erased : message(size, 0, turn - 1);
    EXPECT_TRUE(is_equal(everybodys, self() == 0 ? sent : before)) << "turn " << turn;
    Bytes const sum = reduction<double>(size / 8, is_alone ? turn : turn - 1, ReduceOp::sum);
    EXPECT_TRUE(is_equal(reduced, turn == 0 && !is_alone ? erased : sum)) << "turn " << turn;
    for (int r = 0; r < ranks(); ++r) {
      Bytes const earlier = turn == 0 ? erased : message(size, r, self() + turn - 1);
      EXPECT_TRUE(is_equal(received[at(r)], r == self() ? message(size, r, r + turn) : earlier))
          << "turn " << turn << ", from " << r;
    }
  }
}

/// What this rank reads of each rank's window in `turns` exchanges; before each, every rank has written
/// message(size, rank, turn) into its memory, and right behind it writes the next. Ranks read at
/// different times.
std::vector<std::vector<Bytes>> read_windows(Channel& channel, std::size_t size, int turns) {
  // Who has none of its own has as much as the others.
  std::unique_ptr<Window> const window = channel.share(self() == 0 ? size : 0);
  EXPECT_EQ(window->bytes(), size);
  std::vector<Bytes> written;
  for (int turn = 0; turn < turns; ++turn) written.push_back(message(size, self(), turn));
  std::vector<std::vector<Place>> places(at(turns));
  for (std::vector<Place>& of_turn : places) {
    for (int r = 0; r < ranks(); ++r) of_turn.emplace_back(size);
  }
  for (int turn = 0; turn < turns; ++turn) {
    stream().copy(window->data(), written[at(turn)].data(), size);
    std::vector<Access> reads;
    for (int r = 0; r < ranks(); ++r) {
      reads.emplace_back([&, r, turn](std::byte* memory, device::StreamView reader) {
        reader.run([r] { std::this_thread::sleep_for(std::chrono::milliseconds{3 * r}); });
        reader.copy(places[at(turn)][at(r)].piece().data, memory, size);
      });
    }
    channel.access(*window, reads, stream()).wait_on(stream());
  }
  std::vector<std::vector<Bytes>> seen;
  for (std::vector<Place> const& of_turn : places) {
    seen.emplace_back();
    for (Place const& place : of_turn) seen.back().push_back(place.read());
  }
  return seen;
}

TEST_P(TransportTest, WindowsAreReadInPlaceBeforeTheyChange) {
  if (!GetParam().transport->shares_windows) {
    EXPECT_FAILS(channel_->share(8), "shares none");
    return;
  }
  constexpr int kTurns = 6;  // more than messages that are under way at once
  for (std::size_t const size : {std::size_t{1}, std::size_t{300000}}) {
    auto const seen = read_windows(*channel_, size, kTurns);

    for (int turn = 0; turn < kTurns; ++turn) {
      for (int r = 0; r < ranks(); ++r) {
        EXPECT_TRUE(seen[at(turn)][at(r)] == message(size, r, turn))
            << "turn " << turn << ", of rank " << r;
      }
    }
  }
}

TEST_P(TransportTest, WhoReadsNothingIsReadAllTheSame) {
  if (!GetParam().transport->shares_windows) GTEST_SKIP() << "it shares none";
  auto const window = channel_->share(8);
  Bytes const own = message(8, self(), 0);
  stream().copy(window->data(), own.data(), own.size());
  Place const got{8};
  bool const is_last = self() == ranks() - 1;
  std::vector<Access> reads(at(ranks()));
  if (is_last) {
    reads[0] = [&](std::byte* memory, device::StreamView reader) {
      reader.copy(got.piece().data, memory, 8);
    };
  }

  channel_->access(*window, reads, stream()).wait_on(stream());

  EXPECT_TRUE(is_equal(got, is_last ? message(8, 0, 0) : Bytes(8, std::byte{0xFF})));
  EXPECT_FAILS(channel_->access(*window, {}, stream()), "0 pieces for");
}

TEST_P(TransportTest, FaultsOfWindowsGiveTheirWrongData) {
  if (!GetParam().transport->shares_windows) GTEST_SKIP() << "it shares none";
  constexpr std::size_t kSize = 5000;
  constexpr int kTurns = 3;
  Bytes const erased(kSize, std::byte{0xFF});
  for (MessageFault const fault :
       {MessageFault::drop_message, MessageFault::wrong_rank, MessageFault::misplaced_wait}) {
    auto const channel = connect_faulty(fault);

    auto const seen = read_windows(*channel, kSize, kTurns);

    int const last = self() == ranks() - 1 ? ranks() - 2 : ranks() - 1;
    for (int turn = 0; turn < kTurns; ++turn) {
      for (int r = 0; r < ranks(); ++r) {
        Bytes want = message(kSize, r, turn);
        bool const is_others = r != self();
        if (is_others && fault == MessageFault::drop_message && r == last) want = erased;
        if (is_others && fault == MessageFault::wrong_rank) want = message(kSize, after(r), turn);
        if (is_others && fault == MessageFault::misplaced_wait) {
          want = turn == 0 ? erased : message(kSize, r, turn - 1);
        }
        EXPECT_TRUE(seen[at(turn)][at(r)] == want)
            << "fault " << static_cast<int>(fault) << ", turn " << turn << ", of rank " << r;
      }
    }
  }
}

constexpr WindowRows kRows{.first = 24, .pitch = 1000, .row_bytes = 72, .rows = 300};
constexpr std::size_t kRowsBytes = kRows.row_bytes * kRows.rows;

Bytes rows_of(Bytes const& all) {
  Bytes rows;
  for (std::size_t row = 0; row < kRows.rows; ++row) {
    auto const from = all.begin() + static_cast<std::ptrdiff_t>(kRows.first + row * kRows.pitch);
    rows.insert(rows.end(), from, from + static_cast<std::ptrdiff_t>(kRows.row_bytes));
  }
  return rows;
}

/// What this rank reads of each rank's window in each turn; rank 1 reads in every second one alone. Each
/// writes message(size, rank, turn) before the turn, and keeps others waiting for a while.
std::vector<std::vector<Bytes>> read_rows(Channel& channel, int turns) {
  constexpr std::size_t kSize = 300000;
  auto const window = channel.share(kSize);
  std::vector<Bytes> written;
  for (int turn = 0; turn < turns; ++turn) written.push_back(message(kSize, self(), turn));
  std::vector<Place> places;
  for (int r = 0; r < ranks(); ++r) places.emplace_back(kRowsBytes);
  std::vector<std::vector<Bytes>> seen;
  for (int turn = 0; turn < turns; ++turn) {
    stream().run([] { std::this_thread::sleep_for(std::chrono::milliseconds{3 * self()}); });
    stream().copy(window->data(), written[at(turn)].data(), kSize);
    channel.barrier(stream()).wait_on(stream());
    for (int r = 0; r < ranks() && (self() != 1 || turn % 2 == 0); ++r) {
      channel.read(*window, r, kRows, places[at(r)].piece().data, stream()).wait_on(stream());
    }
    channel.barrier(stream()).wait_on(stream());
    seen.emplace_back();
    for (Place const& place : places) seen.back().push_back(place.read());
  }
  return seen;
}

TEST_P(TransportTest, RowsOfWindowsAreReadBetweenBarriers) {
  if (!GetParam().transport->shares_windows) {
    EXPECT_FAILS(channel_->barrier(stream()), "shares no windows");
    return;
  }
  constexpr int kTurns = 6;
  auto const seen = read_rows(*channel_, kTurns);

  for (int turn = 0; turn < kTurns; ++turn) {
    for (int r = 0; r < ranks(); ++r) {
      int const last = self() == 1 ? turn / 2 * 2 : turn;
      EXPECT_TRUE(seen[at(turn)][at(r)] == rows_of(message(300000, r, last)))
          << "turn " << turn << ", of rank " << r;
    }
  }
  auto const window = channel_->share(1000);
  WindowRows const beyond{.first = 0, .pitch = 500, .row_bytes = 501, .rows = 2};
  EXPECT_FAILS(channel_->read(*window, 0, beyond, nullptr, stream()), "beyond the end");
}

TEST_P(TransportTest, FaultsOfReadRowsGiveTheirWrongData) {
  if (!GetParam().transport->shares_windows) GTEST_SKIP() << "it shares none";
  constexpr int kTurns = 3;
  for (MessageFault const fault :
       {MessageFault::drop_message, MessageFault::wrong_rank, MessageFault::misplaced_wait}) {
    auto const channel = connect_faulty(fault);

    auto const seen = read_rows(*channel, kTurns);

    for (int r = 0; r < ranks() && self() != 1; ++r) {
      for (int turn = 0; turn < kTurns; ++turn) {
        Bytes want = rows_of(message(300000, r, turn));
        bool const is_others = r != self();
        if (is_others && fault == MessageFault::wrong_rank) {
          want = rows_of(message(300000, after(r), turn));
        }
        if (is_others && fault == MessageFault::misplaced_wait) {
          want = turn == 0 ? Bytes(kRowsBytes, std::byte{0xFF})
                           : rows_of(message(300000, r, turn - 1));
        }
        if (is_others && fault == MessageFault::drop_message) {
          auto const lost =
              static_cast<std::ptrdiff_t>(std::min(kRowsBytes, GetParam().chunk_bytes));
          std::fill(want.end() - lost, want.end(), std::byte{0xFF});
        }
        EXPECT_TRUE(seen[at(turn)][at(r)] == want)
            << "fault " << static_cast<int>(fault) << ", turn " << turn << ", of rank " << r;
      }
    }
  }
}

// In place, and none is waited for before the last.
TEST_P(TransportTest, FaultyExchangesKeepTheirOrder) {
  constexpr int kRounds = 200;
  for (MessageFault const fault : {MessageFault::drop_message, MessageFault::wrong_rank}) {
    auto const channel = connect_faulty(fault);
    std::vector<std::int64_t> values(kRounds);
    for (int i = 0; i < kRounds; ++i) values[at(i)] = 1000 * i + self();
    Place const data{to_bytes(values)};
    // The expected: what a rank has itself, or its neighbour.
    bool const keeps = fault == MessageFault::drop_message || ranks() == 1;
    for (std::int64_t& value : values) value += keeps ? 0 : after(self()) - self();

    Request last;
    for (int i = 0; i < kRounds; ++i) {
      std::byte* const value = static_cast<std::byte*>(data.piece().data) + 8 * i;
      last =
          channel->allreduce({value, 8}, {value, 8}, core::DataType::i64, ReduceOp::sum, stream());
    }
    last.wait_on(stream());

    EXPECT_TRUE(is_equal(data, to_bytes(values)));
  }
}

std::string setting_name(testing::TestParamInfo<Setting> const& tested) {
  return name_of(tested.param);
}

/// Each transport that moves memory of the device that the program was started for, in each order that
/// it has. Host devices stage nothing unless told.
std::vector<Setting> settings() {
  bool const is_host = test::device_name() == "host";
  std::vector<Setting> all;
  for (std::size_t const chunk_bytes : {16UL << 10, 256UL << 10}) {
    for (TransportEntry const* entry : transports()) {
      if (!entry->moves(is_host ? device::Kind::host : device::Kind::cuda)) continue;
      all.push_back({entry, chunk_bytes, false});
      if (is_host && entry->moves_gpu) all.push_back({entry, chunk_bytes, true});
      if (!is_host && entry->limits_ctas) all.push_back({entry, chunk_bytes, false, 1});
    }
  }
  for (TransportEntry const* entry : transports()) {
    if (!is_host || entry->name != "mpi_gpu") continue;
    all.push_back({.transport = entry, .chunk_bytes = 16UL << 10, .in_gpu_place = true});
  }
  for (TransportEntry const* entry : transports()) {
    if (is_host || !entry->runs_on_caller_stream) continue;
    all.push_back(
        {.transport = entry, .chunk_bytes = 256UL << 10, .order = Order::on_caller_stream});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, TransportTest, testing::ValuesIn(settings()), setting_name);

TEST(Transports, RefuseWhatTheyCannotDo) {
  for (TransportEntry const* entry : transports()) {
    if (!entry->moves(world().device().kind())) {
      EXPECT_FAILS(make_transport(entry->name, world(), {}), "memory only; use ");
    } else if (!entry->unavailable_reason(&world()).empty()) {
      EXPECT_FAILS(make_transport(entry->name, world(), {}), "is unavailable: ");
    } else {
      EXPECT_FAILS(make_transport(entry->name, world(), {63}), "chunk_bytes");
      if (!entry->models_link) {
        EXPECT_FAILS(make_transport(entry->name, world(), {1UL << 20, 1e9}), "modelled link");
      }
    }
  }
  EXPECT_FAILS(make_transport("pigeon", world(), {}), "pigeon");
}

}  // namespace
}  // namespace quadrille::comm

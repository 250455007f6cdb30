// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/group.hpp"

#include "comm/mpi_handle.hpp"
#include "core/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <numeric>
#include <string_view>
#include <thread>

namespace quadrille::comm {
namespace {

using Clock = std::chrono::steady_clock;

// Counts are int in MPI; 1 GiB stays clear of the limit for every type.
constexpr std::size_t kLargestMessage = 1UL << 30;

/// Asks until it is so, asleep: a rank that waits must not take a core from kernels still running. False
/// once the limit is over.
template <class IsDone>
bool wait_asleep(IsDone is_done, double limit_s = std::numeric_limits<double>::infinity()) {
  constexpr auto kAwake = std::chrono::microseconds{50};
  constexpr auto kShortest = std::chrono::microseconds{5};
  constexpr auto kLongest = std::chrono::microseconds{1000};
  auto const start = Clock::now();
  auto pause = kShortest;
  for (;;) {
    if (is_done()) return true;
    std::chrono::duration<double> const waited = Clock::now() - start;
    if (waited.count() >= limit_s) return false;
    if (waited < kAwake) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(pause);
      pause = std::min(2 * pause, kLongest);
    }
  }
}

void finish(MPI_Request request) {
  wait_asleep([&] {
    int done = 0;
    QUAD_MPI(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
    return done != 0;
  });
}

int checked_count(std::size_t count, std::size_t element_bytes) {
  QUAD_REQUIRE(count <= kLargestMessage / element_bytes,
               "group: more than 1 GiB in one small exchange; use a transport");
  return static_cast<int>(count);
}

template <class T>
void reduce(MPI_Comm comm, std::span<T> values, MPI_Datatype type, MPI_Op op) {
  MPI_Request request = MPI_REQUEST_NULL;
  QUAD_MPI(MPI_Iallreduce(MPI_IN_PLACE, values.data(), checked_count(values.size(), sizeof(T)),
                          type, op, comm, &request));
  finish(request);
}

void broadcast_bytes(MPI_Comm comm, void* data, std::size_t bytes, int root) {
  for (std::size_t done = 0; done < bytes; done += kLargestMessage) {
    MPI_Request request = MPI_REQUEST_NULL;
    auto const count = static_cast<int>(std::min(kLargestMessage, bytes - done));
    QUAD_MPI(
        MPI_Ibcast(static_cast<std::byte*>(data) + done, count, MPI_BYTE, root, comm, &request));
    finish(request);
  }
}

}  // namespace

void check_mpi(int code, char const* call, std::source_location where) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  std::string_view name = call;
  name = name.substr(0, name.find('('));
  core::fail(
      fmt::format("{}: {}", name, std::string_view{text.data(), static_cast<std::size_t>(length)}),
      core::Exit::runtime, where);
}

Group make_group(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) return {};
  auto impl = std::make_unique<Group::Impl>();
  impl->comm = comm;
  QUAD_MPI(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  QUAD_MPI(MPI_Comm_rank(comm, &impl->rank));
  QUAD_MPI(MPI_Comm_size(comm, &impl->size));
  return Group{std::move(impl)};
}

Group::Impl::~Impl() {
  if (comm != MPI_COMM_NULL) QUAD_MPI(MPI_Comm_free(&comm));
}

Group::Group() : impl_{std::make_unique<Impl>()} {}
Group::Group(std::unique_ptr<Impl> impl) : impl_{std::move(impl)} {}
Group::Group(Group&&) noexcept = default;
Group& Group::operator=(Group&&) noexcept = default;
Group::~Group() = default;

int Group::rank() const { return impl_->rank; }
int Group::size() const { return impl_->size; }

Group Group::duplicate() const {
  MPI_Comm comm = MPI_COMM_NULL;
  QUAD_MPI(MPI_Comm_dup(impl_->comm, &comm));
  return make_group(comm);
}

Group Group::split(int color, int key) const {
  MPI_Comm comm = MPI_COMM_NULL;
  QUAD_MPI(MPI_Comm_split(impl_->comm, color < 0 ? MPI_UNDEFINED : color, key, &comm));
  return make_group(comm);
}

Group Group::subset(std::vector<int> const& ranks) const {
  MPI_Group all = MPI_GROUP_NULL, some = MPI_GROUP_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  QUAD_MPI(MPI_Comm_group(impl_->comm, &all));
  QUAD_MPI(MPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &some));
  QUAD_MPI(MPI_Comm_create_group(impl_->comm, some, 0, &comm));
  QUAD_MPI(MPI_Group_free(&some));
  QUAD_MPI(MPI_Group_free(&all));
  return make_group(comm);
}

void Group::send(std::string const& text, int to) const {
  MPI_Request request = MPI_REQUEST_NULL;
  QUAD_MPI(MPI_Isend(text.data(), checked_count(text.size(), 1), MPI_CHAR, to, 0, impl_->comm,
                     &request));
  finish(request);
}

std::optional<Group::Letter> Group::receive(double limit_s) const {
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status{};
  bool const has_come = wait_asleep(
      [&] {
        int is_here = 0;
        QUAD_MPI(MPI_Improbe(MPI_ANY_SOURCE, 0, impl_->comm, &is_here, &message, &status));
        return is_here != 0;
      },
      limit_s);
  if (!has_come) return std::nullopt;
  int count = 0;
  QUAD_MPI(MPI_Get_count(&status, MPI_CHAR, &count));
  Letter letter{status.MPI_SOURCE, std::string(static_cast<std::size_t>(count), '\0')};
  QUAD_MPI(MPI_Mrecv(letter.text.data(), count, MPI_CHAR, &message, MPI_STATUS_IGNORE));
  return letter;
}

void Group::barrier() const {
  MPI_Request request = MPI_REQUEST_NULL;
  QUAD_MPI(MPI_Ibarrier(impl_->comm, &request));
  finish(request);
  // Sleepers leave the first one up to a millisecond apart; now that all are here, leave together.
  QUAD_MPI(MPI_Barrier(impl_->comm));
}

void Group::broadcast(std::string& text, int root) const {
  auto bytes = static_cast<std::int64_t>(text.size());
  broadcast_bytes(impl_->comm, &bytes, sizeof bytes, root);
  text.resize(static_cast<std::size_t>(bytes));
  broadcast_bytes(impl_->comm, text.data(), text.size(), root);
}

void Group::sum(std::span<double> values) const {
  reduce(impl_->comm, values, MPI_DOUBLE, MPI_SUM);
}

void Group::max(std::span<double> values) const {
  ReduceFunction const function{ReduceOp::max, core::DataType::f64};
  reduce(impl_->comm, values, MPI_DOUBLE, function.get());
}

void Group::min(std::span<double> values) const {
  ReduceFunction const function{ReduceOp::min, core::DataType::f64};
  reduce(impl_->comm, values, MPI_DOUBLE, function.get());
}

void Group::sum(std::span<std::int64_t> values) const {
  reduce(impl_->comm, values, MPI_INT64_T, MPI_SUM);
}

double Group::max(double value) const {
  max(std::span{&value, 1});
  return value;
}

double Group::min(double value) const {
  min(std::span{&value, 1});
  return value;
}

std::int64_t Group::sum(std::int64_t value) const {
  sum(std::span{&value, 1});
  return value;
}

std::int64_t Group::max(std::int64_t value) const {
  reduce(impl_->comm, std::span{&value, 1}, MPI_INT64_T, MPI_MAX);
  return value;
}

std::vector<std::string> Group::all_gather(std::string const& text) const {
  auto const ranks = static_cast<std::size_t>(impl_->size);
  int const mine = checked_count(text.size(), 1);
  std::vector<int> counts(ranks);
  MPI_Request request = MPI_REQUEST_NULL;
  QUAD_MPI(MPI_Iallgather(&mine, 1, MPI_INT, counts.data(), 1, MPI_INT, impl_->comm, &request));
  finish(request);

  checked_count(std::accumulate(counts.begin(), counts.end(), std::size_t{0},
                                [](std::size_t a, int b) { return a + static_cast<unsigned>(b); }),
                1);
  std::vector<int> places(ranks);
  std::exclusive_scan(counts.begin(), counts.end(), places.begin(), 0);
  std::string joined(static_cast<std::size_t>(places.back() + counts.back()), '\0');
  QUAD_MPI(MPI_Iallgatherv(text.data(), mine, MPI_CHAR, joined.data(), counts.data(), places.data(),
                           MPI_CHAR, impl_->comm, &request));
  finish(request);

  std::vector<std::string> all(ranks);
  for (std::size_t r = 0; r < ranks; ++r) {
    all[r] =
        joined.substr(static_cast<std::size_t>(places[r]), static_cast<std::size_t>(counts[r]));
  }
  return all;
}

std::vector<double> Group::gather(std::span<double const> values) const {
  std::size_t const pieces = impl_->rank == 0 ? static_cast<std::size_t>(impl_->size) : 0;
  std::vector<double> all(values.size() * pieces);
  int const count = checked_count(values.size(), sizeof(double));
  MPI_Request request = MPI_REQUEST_NULL;
  QUAD_MPI(MPI_Igather(values.data(), count, MPI_DOUBLE, all.data(), count, MPI_DOUBLE, 0,
                       impl_->comm, &request));
  finish(request);
  return all;
}

void Group::exchange(std::span<std::byte const> send, int to, std::span<std::byte> receive,
                     int from) const {
  // Both sides cut at the same places, so the pieces match in order; who is through sends to
  // nobody.
  std::size_t const longest = std::max(send.size(), receive.size());
  for (std::size_t done = 0; done < longest; done += kLargestMessage) {
    auto const outgoing = send.subspan(std::min(done, send.size()));
    auto const incoming = receive.subspan(std::min(done, receive.size()));
    QUAD_MPI(
        MPI_Sendrecv(outgoing.data(), static_cast<int>(std::min(outgoing.size(), kLargestMessage)),
                     MPI_BYTE, outgoing.empty() ? MPI_PROC_NULL : to, 0, incoming.data(),
                     static_cast<int>(std::min(incoming.size(), kLargestMessage)), MPI_BYTE,
                     incoming.empty() ? MPI_PROC_NULL : from, 0, impl_->comm, MPI_STATUS_IGNORE));
  }
}

int Group::agree(bool bad) const {
  std::int64_t first = bad ? impl_->rank : impl_->size;
  reduce(impl_->comm, std::span{&first, 1}, MPI_INT64_T, MPI_MIN);
  return first == impl_->size ? -1 : static_cast<int>(first);
}

}  // namespace quadrille::comm

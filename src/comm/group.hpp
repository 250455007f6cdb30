// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace quadrille::comm {

/// A set of ranks that agree on small things from host memory. Every call is collective unless it
/// says otherwise and is made by the main thread. Owns a communicator, which it frees.
class Group {
 public:
  struct Impl;

  Group();  ///< Empty: the rank is no member of any group. size() is 0.
  explicit Group(std::unique_ptr<Impl> impl);
  Group(Group&&) noexcept;
  Group& operator=(Group&&) noexcept;
  ~Group();  ///< On all ranks at the same place.

  int rank() const;  ///< Not collective.
  int size() const;  ///< Not collective.

  /// The same ranks with a communicator of their own, for another thread's messages.
  Group duplicate() const;
  /// Ranks with equal color form a group, in the order of key; a negative color joins none.
  Group split(int color, int key) const;
  /// These ranks, ascending, as a group. Collective over them alone, of which this rank is one.
  Group subset(std::vector<int> const& ranks) const;

  void barrier() const;
  void broadcast(std::string& text, int root = 0) const;
  /// In place, element by element, over all ranks. A NaN on any rank gives NaN in sum, max and min.
  void sum(std::span<double> values) const;
  void max(std::span<double> values) const;
  void min(std::span<double> values) const;
  void sum(std::span<std::int64_t> values) const;
  double max(double value) const;
  double min(double value) const;
  std::int64_t sum(std::int64_t value) const;
  std::int64_t max(std::int64_t value) const;
  /// Every rank's text, in rank order, on every rank.
  std::vector<std::string> all_gather(std::string const& text) const;
  /// Every rank's values (equal lengths), concatenated in rank order, on rank 0; nothing on others.
  std::vector<double> gather(std::span<double const> values) const;
  /// Raw bytes to one rank and from another, both in one call; for checks and faults, not for
  /// speed.
  void exchange(std::span<std::byte const> send, int to, std::span<std::byte> receive,
                int from) const;

  /// What one rank tells another, whatever the others do.
  struct Letter {
    int from = 0;
    std::string text;
  };
  /// Any thread; not collective. A short text leaves though its reader hangs.
  void send(std::string const& text, int to) const;
  /// The next letter from anybody; nothing where none came within the limit. Not collective.
  std::optional<Letter> receive(double limit_s) const;

  /// The lowest rank with bad news, or -1.
  int agree(bool bad) const;

  Impl const& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace quadrille::comm

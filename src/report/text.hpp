// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace quadrille::report {

/// Characters of UTF-8, each of which a terminal is taken to show in one place.
std::size_t width_of(std::string_view text);

/// The first characters, or the last.
std::string_view first(std::string_view text, std::size_t width);
std::string_view last(std::string_view text, std::size_t width);

/// At most so wide: without its middle, or its end, where it is longer. A width of 3 at least.
std::string clip(std::string_view text, std::size_t width);
std::string clip_end(std::string_view text, std::size_t width);
/// Each at most so wide, without what those that are longer have in common; what differed still differs.
/// A width of 10 at least.
std::vector<std::string> clip_apart(std::vector<std::string> const& texts, std::size_t width);

enum class LongWords { cut, keep };

/// As lines of at most `width` characters, broken at blanks, but not before "%"; a longer word is cut,
/// or has a wider line.
std::vector<std::string> wrap(std::string_view text, std::size_t width,
                              LongWords longer = LongWords::cut);

/// Messages that differ in measured values alone, as one: of "vary by 22 %" and "vary by 31 %" it is
/// "vary by 22 to 31 %". Values are numbers before " %" or " x".
class Ranged {
 public:
  explicit Ranged(std::string_view text);
  /// Takes the values of a message with the same words; false, and nothing done, for another.
  bool merge(Ranged const& other);
  std::string text() const;

 private:
  struct Value {
    double low = 0, high = 0;
    std::string low_text, high_text;
  };
  std::vector<std::string> words_;  ///< before each value, and behind the last
  std::vector<Value> values_;
};

/// Reasons, and who has them; those that differ in measured values alone are one.
class Reasons {
 public:
  struct Group {
    Ranged reason;
    std::vector<std::string> names;
  };
  void add(std::string name, std::string_view reason);
  /// The most frequent first.
  std::vector<Group> groups() const;

 private:
  std::vector<Group> groups_;
};

}  // namespace quadrille::report

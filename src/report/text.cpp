// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <set>
#include <utility>

namespace quadrille::report {
namespace {

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80; }

}  // namespace

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, begins_character));
}

std::string_view first(std::string_view text, std::size_t width) {
  std::size_t end = 0;
  while (end < text.size() && (!begins_character(text[end]) || width-- > 0)) ++end;
  return text.substr(0, end);
}

std::string_view last(std::string_view text, std::size_t width) {
  std::size_t const drop = width_of(text) - std::min(width, width_of(text));
  return text.substr(first(text, drop).size());
}

std::string clip(std::string_view text, std::size_t width) {
  if (width_of(text) <= width) return std::string{text};
  std::size_t const kept = width - 3;
  return fmt::format("{}...{}", first(text, kept - kept / 2), last(text, kept / 2));
}

std::vector<std::string> clip_apart(std::vector<std::string> const& texts, std::size_t width) {
  std::size_t const distinct = std::set(texts.begin(), texts.end()).size();
  std::size_t const kept = width - 3;
  std::vector<std::string> clipped(texts.size());
  // Halves first, then more and more of the end, or of the beginning.
  for (std::size_t shift = 0; shift <= kept - kept / 2; ++shift) {
    for (std::size_t const tail : {kept / 2 + shift, kept / 2 - std::min(shift, kept / 2)}) {
      std::ranges::transform(texts, clipped.begin(), [&](std::string const& text) {
        if (width_of(text) <= width) return text;
        return fmt::format("{}...{}", first(text, kept - tail), last(text, tail));
      });
      if (std::set(clipped.begin(), clipped.end()).size() == distinct) return clipped;
    }
  }
  // They differ in their middles: numbers tell them apart.
  std::set<std::string> longer;
  for (std::string const& text : texts) {
    if (width_of(text) > width) longer.insert(text);
  }
  std::ranges::transform(texts, clipped.begin(), [&](std::string const& text) {
    auto const found = longer.find(text);
    if (found == longer.end()) return text;
    std::string const number = fmt::format("~{}", std::distance(longer.begin(), found) + 1);
    return fmt::format("{}{}", first(text, width - number.size()), number);
  });
  return clipped;
}

std::string clip_end(std::string_view text, std::size_t width) {
  if (width_of(text) <= width) return std::string{text};
  return fmt::format("{}...", first(text, width - 3));
}

std::vector<std::string> wrap(std::string_view text, std::size_t width, LongWords longer) {
  std::vector<std::string> lines(1);
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = std::min(text.find(' ', at), text.size());
    if (text.substr(end).starts_with(" %")) end = std::min(text.find(' ', end + 1), text.size());
    std::string_view const whole = text.substr(at, end - at);
    std::string const word = longer == LongWords::cut ? clip(whole, width) : std::string{whole};
    std::string& line = lines.back();
    if (line.empty()) {
      line = word;
    } else if (width_of(line) + 1 + width_of(word) <= width) {
      line += ' ' + word;
    } else {
      line.erase(line.find_last_not_of(' ') + 1);
      lines.push_back(word);
    }
    at = end + 1;
  }
  return lines;
}

Ranged::Ranged(std::string_view text) {
  auto const is_digit = [](char c) { return c >= '0' && c <= '9'; };
  words_.emplace_back();
  for (std::size_t at = 0; at < text.size();) {
    bool const begins = is_digit(text[at]) && (at == 0 || text[at - 1] == ' ');
    double value = 0;
    char const* const from = text.data() + at;
    char const* const end =
        begins ? std::from_chars(from, text.data() + text.size(), value).ptr : from;
    std::string_view const number{from, end};
    std::string_view const behind = text.substr(at + number.size());
    bool const is_value = begins && (behind.starts_with(" %") || behind.starts_with(" x"));
    if (is_value) {
      values_.push_back({value, value, std::string{number}, std::string{number}});
      words_.emplace_back();
    } else {
      words_.back() += text[at];
    }
    at += is_value ? number.size() : 1;
  }
}

bool Ranged::merge(Ranged const& other) {
  if (words_ != other.words_) return false;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    Value& mine = values_[i];
    Value const& theirs = other.values_[i];
    if (theirs.low < mine.low) {
      mine.low = theirs.low;
      mine.low_text = theirs.low_text;
    }
    if (theirs.high > mine.high) {
      mine.high = theirs.high;
      mine.high_text = theirs.high_text;
    }
  }
  return true;
}

std::string Ranged::text() const {
  std::string text = words_.front();
  for (std::size_t i = 0; i < values_.size(); ++i) {
    Value const& value = values_[i];
    text += value.low_text == value.high_text
                ? value.low_text
                : fmt::format("{} to {}", value.low_text, value.high_text);
    text += words_[i + 1];
  }
  return text;
}

void Reasons::add(std::string name, std::string_view reason) {
  Ranged const ranged{reason};
  auto found =
      std::ranges::find_if(groups_, [&](Group& group) { return group.reason.merge(ranged); });
  if (found == groups_.end()) found = groups_.insert(found, {ranged, {}});
  found->names.push_back(std::move(name));
}

std::vector<Reasons::Group> Reasons::groups() const {
  std::vector<Group> sorted = groups_;
  std::ranges::stable_sort(sorted, std::greater{},
                           [](Group const& group) { return group.names.size(); });
  return sorted;
}

}  // namespace quadrille::report

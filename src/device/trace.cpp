// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/trace.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <set>

namespace quadrille::device {

namespace {

// Of most events a stream finds that they have passed.
constexpr double kShortestWaitSeconds = 5e-6;

}  // namespace

double host_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Trace::Trace(Device& device, StreamView idle) : device_{device} {
  // An event lies somewhere between the calls around it: the closest of a few pairs tells best.
  constexpr int kTries = 10;
  error_s_ = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kTries; ++i) {
    Event event{device};
    double const before = host_seconds();
    idle.record(event);
    event.synchronize();
    double const after = host_seconds();
    if ((after - before) / 2 >= error_s_) continue;
    error_s_ = (after - before) / 2;
    base_s_ = (before + after) / 2;
    base_ = std::move(event);
  }
  device_.set_trace(this);
}

void Trace::detach() {
  if (device_.trace() == this) device_.set_trace(nullptr);
}

std::string const& Trace::track_of(StreamView stream) {
  auto const [place, is_new] = tracks_.try_emplace(stream.backend());
  if (!is_new) return place->second;
  std::string const& label = stream.backend()->label();
  std::set<std::string> known;
  for (auto const& [backend, track] : tracks_) known.insert(track);
  std::string track = label;
  for (int i = 2; known.contains(track); ++i) track = label + " " + std::to_string(i);
  return place->second = std::move(track);
}

std::size_t Trace::begin(StreamView stream, TraceKind kind, std::string_view name,
                         std::size_t bytes) {
  Open& open = open_.emplace_back();
  open.span = {track_of(stream), kind, std::string{name}, label_, bytes, 0, 0};
  open.stream = stream;
  open.begin = Event{device_};
  open.end = Event{device_};
  stream.record(open.begin);
  return open_.size() - 1;
}

void Trace::end(std::size_t span) {
  Open& open = open_[span];
  open.stream.record(open.end);
}

void Trace::add(TraceSpan span) {
  std::lock_guard const lock{mutex_};
  added_.push_back(std::move(span));
}

std::vector<TraceSpan> Trace::finish() {
  detach();
  std::vector<TraceSpan> spans;
  for (Open& open : open_) {
    open.end.synchronize();
    open.span.begin_s = base_s_ + open.begin.seconds_since(base_);
    open.span.end_s = base_s_ + open.end.seconds_since(base_);
    double const seconds = open.span.end_s - open.span.begin_s;
    if (open.span.kind == TraceKind::wait && seconds < kShortestWaitSeconds) continue;
    spans.push_back(std::move(open.span));
  }
  open_.clear();
  std::lock_guard const lock{mutex_};
  std::ranges::move(added_, std::back_inserter(spans));
  added_.clear();
  return spans;
}

}  // namespace quadrille::device

// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/enum_names.hpp"
#include "device/device.hpp"

#include <cstddef>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace quadrille::device {

enum class TraceKind { repetition, kernel, copy, exchange, message, wait };
constexpr auto enum_names(TraceKind) {
  return core::EnumNames<TraceKind, 6>{{{TraceKind::repetition, "repetition"},
                                        {TraceKind::kernel, "kernel"},
                                        {TraceKind::copy, "copy"},
                                        {TraceKind::exchange, "exchange"},
                                        {TraceKind::message, "message"},
                                        {TraceKind::wait, "wait"}}};
}

/// What one stream or thread did for a while.
struct TraceSpan {
  std::string track;  ///< the stream, or what a thread carries
  TraceKind kind = TraceKind::kernel;
  std::string name;
  std::string label;              ///< the part of the work that it belongs to, such as a panel
  std::size_t bytes = 0;          ///< of copies and messages
  double begin_s = 0, end_s = 0;  ///< by host_seconds() of this rank
};

/// The clock of the host that traces show.
double host_seconds();

/// Collects what the streams of a device do between its construction and finish(): copies, waits, host
/// tasks and what is put into a TraceScope. Each takes two events, on a GPU two timed ones.
class Trace {
 public:
  /// From now on the device's streams are traced. `idle` has no work.
  Trace(Device& device, StreamView idle);
  ~Trace() { detach(); }
  Trace(Trace const&) = delete;
  Trace& operator=(Trace const&) = delete;

  /// Of what is enqueued from now on. By the thread that enqueues, as all but add().
  void set_label(std::string label) { label_ = std::move(label); }
  std::string const& label() const { return label_; }

  /// What `stream` does from now on, until end().
  std::size_t begin(StreamView stream, TraceKind kind, std::string_view name, std::size_t bytes);
  void end(std::size_t span);
  /// What a thread has seen itself. Spans of such a track may overlap. Any thread.
  void add(TraceSpan span);

  /// Ends the trace, waits for what it has traced, and returns it in the order of enqueueing.
  std::vector<TraceSpan> finish();
  /// By how much events can be early or late by the host's clock.
  double error_s() const { return error_s_; }

 private:
  struct Open {
    TraceSpan span;
    StreamView stream;
    Event begin, end;
  };
  void detach();
  std::string const& track_of(StreamView stream);

  Device& device_;
  std::string label_;
  Event base_;
  double base_s_ = 0, error_s_ = 0;  ///< host_seconds() at base_
  std::deque<Open> open_;
  std::map<StreamBackend*, std::string> tracks_;
  std::mutex mutex_;
  std::vector<TraceSpan> added_;
};

/// What a stream is given while this lives, as one span of a trace; nothing where there is none.
class TraceScope {
 public:
  TraceScope(StreamView stream, TraceKind kind, std::string_view name, std::size_t bytes = 0)
      : trace_{stream.device().trace()} {
    if (trace_ != nullptr) span_ = trace_->begin(stream, kind, name, bytes);
  }
  ~TraceScope() {
    if (trace_ != nullptr) trace_->end(span_);
  }
  TraceScope(TraceScope const&) = delete;
  TraceScope& operator=(TraceScope const&) = delete;

 private:
  Trace* trace_;
  std::size_t span_ = 0;
};

}  // namespace quadrille::device

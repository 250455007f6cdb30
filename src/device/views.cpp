// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/views.hpp"

#include "device/device.hpp"
#include "device/gate.hpp"
#include "device/trace.hpp"

namespace quadrille::device {

Device& StreamView::device() const { return backend_->device(); }

Facts const& StreamView::facts() const { return backend_->device().facts(); }

void StreamView::copy(void* to, void const* from, std::size_t bytes) const {
  if (bytes == 0) return;
  TraceScope const traced{*this, TraceKind::copy, "copy", bytes};
  count_call(*this, "copy");
  backend_->copy(to, from, bytes);
}

void StreamView::copy_2d(void* to, std::size_t to_pitch, void const* from, std::size_t from_pitch,
                         std::size_t row_bytes, std::size_t rows) const {
  if (row_bytes == 0 || rows == 0) return;
  TraceScope const traced{*this, TraceKind::copy, "copy of rows", row_bytes * rows};
  count_call(*this, "copy of rows");
  backend_->copy_2d(to, to_pitch, from, from_pitch, row_bytes, rows);
}

void StreamView::fill(void* to, unsigned char value, std::size_t bytes) const {
  if (bytes == 0) return;
  TraceScope const traced{*this, TraceKind::copy, "fill", bytes};
  count_call(*this, "fill");
  backend_->fill(to, value, bytes);
}

void StreamView::record(Event& event) const {
  count_call(*this, "record");
  backend_->record(event);
}

void StreamView::wait(Event const& event) const {
  TraceScope const traced{*this, TraceKind::wait, "wait for another stream"};
  count_call(*this, "wait for another stream");
  backend_->wait(event);
}

void StreamView::wait(Flag const& flag, std::uint32_t value) const {
  TraceScope const traced{*this, TraceKind::wait, "wait for a message"};
  count_call(*this, "wait for a message");
  backend_->wait(flag, value);
}

void SharedWord::wait_on(StreamView stream, std::uint32_t value) const {
  TraceScope const traced{stream, TraceKind::wait, "wait for a peer"};
  count_call(stream, "wait for a peer");
  stream.backend()->wait(word_, value);
}

void run_task(StreamView stream, std::function<void()> task) {
  // Kernels of a host device are tasks.
  bool const is_kernel = stream.device().kind() == Kind::host;
  TraceScope const traced{stream, TraceKind::kernel, is_kernel ? "task" : "host function"};
  count_call(stream, is_kernel ? "task" : "host function");
  stream.backend()->run(std::move(task));
}

void StreamView::synchronize() const {
  count_call(*this, "synchronize");
  backend_->synchronize();
}

}  // namespace quadrille::device

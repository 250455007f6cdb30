// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/views.hpp"

#include "device/device.hpp"

namespace quadrille::device {

Device& StreamView::device() const { return backend_->device(); }

Facts const& StreamView::facts() const { return backend_->device().facts(); }

void StreamView::copy(void* to, void const* from, std::size_t bytes) const {
  if (bytes > 0) backend_->copy(to, from, bytes);
}

void StreamView::copy_2d(void* to, std::size_t to_pitch, void const* from, std::size_t from_pitch,
                         std::size_t row_bytes, std::size_t rows) const {
  if (row_bytes > 0 && rows > 0) backend_->copy_2d(to, to_pitch, from, from_pitch, row_bytes, rows);
}

void StreamView::fill(void* to, unsigned char value, std::size_t bytes) const {
  if (bytes > 0) backend_->fill(to, value, bytes);
}

void StreamView::record(Event& event) const { backend_->record(event); }

void StreamView::wait(Event const& event) const { backend_->wait(event); }

void StreamView::wait(Flag const& flag, std::uint32_t value) const { backend_->wait(flag, value); }

void StreamView::synchronize() const { backend_->synchronize(); }

}  // namespace quadrille::device

// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/device.hpp"

#include <algorithm>

namespace quadrille::device {

Stream::Stream(Device& device, std::string const& label, Priority priority)
    : backend_{device.make_stream(priority, label).release(), Release{&device}} {
  backend_->set_label(label);
  std::lock_guard const lock{device.streams_mutex_};
  device.streams_.push_back(backend_.get());
}

Stream::Stream(std::unique_ptr<StreamBackend> backend) : backend_{backend.release(), Release{}} {}

void Stream::Release::operator()(StreamBackend* backend) const noexcept {
  if (device != nullptr) {
    std::lock_guard const lock{device->streams_mutex_};
    std::erase(device->streams_, backend);
  }
  delete backend;
}

void Device::for_each_stream(std::function<void(StreamView)> const& visit) const {
  std::lock_guard const lock{streams_mutex_};
  for (StreamBackend* const stream : streams_) visit(StreamView{stream});
}

}  // namespace quadrille::device

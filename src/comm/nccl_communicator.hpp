// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/group.hpp"

#include <string>

namespace quadrille::comm {

class Machine;

/// A communicator of NCCL over the ranks of a group, for libraries that take one.
class NcclCommunicator {
 public:
  /// Why the ranks of this machine cannot have one, or, without one, why this process cannot; empty
  /// where they can.
  static std::string unavailable_reason(Machine const* machine);

  /// Collective over the group; ends the job where there can be none.
  explicit NcclCommunicator(Group const& group);
  ~NcclCommunicator();  ///< On all ranks at the same place, with nothing under way.
  NcclCommunicator(NcclCommunicator const&) = delete;
  NcclCommunicator& operator=(NcclCommunicator const&) = delete;

  void* get() const { return handle_; }  ///< an ncclComm_t

 private:
  void* handle_ = nullptr;
};

}  // namespace quadrille::comm

// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace quadrille::commands {

/// What a line that starts ranks here depends on.
struct LaunchFacts {
  std::string mpirun = "mpirun";  ///< of the MPI library in use
  bool is_open_mpi = true;
  bool is_slurm = false;  ///< within an allocation of Slurm
  bool is_root = false;
  int nodes = 1;
  int ranks_per_node = 1;
  int cores_per_node = 1;
  int gpus_per_node = 0;
};

/// A text as one word of a shell, quoted where it must be.
std::string shell_word(std::string_view text);

/// Where this program lies; "quadrille" where the system does not tell.
std::string program_path();

/// A line for the shell that starts `command` on so many ranks: srun within Slurm, else mpirun.
std::string launch_line(LaunchFacts const& facts, std::string_view command);

}  // namespace quadrille::commands

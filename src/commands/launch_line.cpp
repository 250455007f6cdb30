// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "commands/launch_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace quadrille::commands {

std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+./=:,%@";
  if (!text.empty() && text.find_first_not_of(kPlain) == text.npos) return std::string{text};
  std::string word = "'";
  for (char const c : text) c == '\'' ? word += "'\\''" : word += c;
  return word + "'";
}

std::string program_path() {
  std::error_code none;
  std::filesystem::path const path = std::filesystem::read_symlink("/proc/self/exe", none);
  return none ? "quadrille" : path.string();
}

std::string launch_line(LaunchFacts const& facts, std::string_view command) {
  if (facts.is_slurm) {
    std::string line = fmt::format("srun --mpi=pmix --nodes={} --ntasks-per-node={}", facts.nodes,
                                   facts.ranks_per_node);
    // Every task sees all GPUs of its node and takes that of its local rank.
    if (facts.gpus_per_node > 0)
      line += fmt::format(" --gpus-per-node={} --gpu-bind=none", facts.gpus_per_node);
    return fmt::format("{} --cpus-per-task={} --kill-on-bad-exit=1 -W 60 {}", line,
                       std::max(1, facts.cores_per_node / facts.ranks_per_node), command);
  }
  std::string line = fmt::format("{} -n {}", facts.mpirun, facts.nodes * facts.ranks_per_node);
  if (facts.is_open_mpi) {
    if (facts.nodes > 1) line += fmt::format(" --map-by ppr:{}:node", facts.ranks_per_node);
    if (facts.ranks_per_node > facts.cores_per_node) line += " --oversubscribe";
    // It would pin up to two ranks to one core each.
    line += " --bind-to none";
    if (facts.is_root) line += " --allow-run-as-root";
  }
  return fmt::format("{} {}", line, command);
}

}  // namespace quadrille::commands

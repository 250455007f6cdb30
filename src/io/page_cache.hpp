// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace quadrille::io {

/// Returns when what this node wrote to a file is in the storage. Empty, or why it is not.
std::string flush_to_storage(std::string const& path);

/// Takes a file out of this node's page cache, so that the next read comes from the storage. False
/// where pages stay: the file cannot be opened or flushed, somebody has it mapped, or its file
/// system keeps files in memory.
bool drop_cached_pages(std::string const& path);

}  // namespace quadrille::io

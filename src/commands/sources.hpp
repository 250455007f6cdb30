// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace quadrille::commands {

/// Something that a document shows, and what of this program shows it.
struct SourceItem {
  std::string_view document;
  std::string_view place;  ///< chapter, kernel or table of the document
  std::string_view item;
  std::string_view input{};    ///< the name of an input that comes with the program ...
  std::string_view cases{};    ///< ... and those of its cases, with commas between
  std::string_view variant{};  ///< of these cases, where it is one
  std::string_view command{};  ///< in place of an input
};

/// In the order of the documents.
std::span<SourceItem const> source_items();

}  // namespace quadrille::commands

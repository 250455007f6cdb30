// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "core/former_names.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace quadrille::core {
namespace {

using enum FormerName::Kind;

constexpr FormerName kNames[]{
    {key, "", "timeout.patience", "timeout.grace"},
    {key, "ring_attention", "deal", "partition"},
    {key, "serving", "most_running", "max_running"},
    {key, "serving", "block", "block_size"},
    {key, "parallel_serving", "block", "block_size"},
    {variant, "", "wmma_async_two_slots", "wmma_async_double_buffer"},
    {variant, "", "wmma_async_two_slots_two_registers", "wmma_async_double_buffer_fragments"},
    {variant, "", "wmma_async_stage2", "wmma_async_cross_tile_pipeline"},
    {variant, "", "mma_async_two_slots", "mma_async_double_buffer"},
    {variant, "", "mma_async_two_slots_two_registers", "mma_async_double_buffer_fragments"},
    {variant, "", "mma_async_stage2", "mma_async_cross_tile_pipeline"},
};

}  // namespace

std::span<FormerName const> former_names() { return kNames; }

std::string note_of(FormerName const& name) {
  return fmt::format("{} '{}' is called '{}' now", name.kind == key ? "key" : "variant",
                     name.former, name.present);
}

FormerName const* find_former_key(std::string_view workload, std::string_view name) {
  auto const found = std::ranges::find_if(kNames, [&](FormerName const& one) {
    return one.kind == key && one.workload == workload && one.former == name;
  });
  return found == std::end(kNames) ? nullptr : found;
}

std::string with_present_variants(std::string_view of_key, std::string_view value,
                                  std::vector<FormerName const*>* used) {
  if (of_key != "variant" && of_key != "config" && of_key != "published") return std::string{value};
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  std::string text;
  while (!value.empty()) {
    std::size_t const end = std::min(value.find_first_not_of(kLetters), value.size());
    std::string_view word = value.substr(0, end);
    for (FormerName const& one : kNames) {
      if (one.kind != variant || one.former != word) continue;
      word = one.present;
      if (used != nullptr) used->push_back(&one);
    }
    text += word;
    value.remove_prefix(end);
    std::size_t const next = std::min(value.find_first_of(kLetters), value.size());
    text += value.substr(0, next);
    value.remove_prefix(next);
  }
  return text;
}

std::string with_present_id(std::string_view id) {
  std::size_t const colon = std::min(id.find(':'), id.size());
  return std::string{id.substr(0, colon)} + with_present_variants("variant", id.substr(colon));
}

std::string with_present_names(std::string_view config) {
  std::string text, workload;
  while (!config.empty()) {
    std::string_view const line = config.substr(0, config.find('\n'));
    std::size_t const equals = std::min(line.find(" = "), line.size());
    std::string_view const name = line.substr(0, equals);
    std::string_view const value = line.substr(equals);
    if (line.starts_with('[')) workload.clear();
    if (name == "workload" && value.size() > 5) workload = value.substr(4, value.size() - 5);
    FormerName const* const former = find_former_key(workload, name);
    text += former == nullptr ? name : former->present;
    text += with_present_variants(name, value);
    config.remove_prefix(line.size());
    if (config.empty()) break;
    text += '\n';
    config.remove_prefix(1);
  }
  return text;
}

}  // namespace quadrille::core

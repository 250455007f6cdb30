// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/summa/panels.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace quadrille::workloads::summa {

std::vector<Panel> travelling(Division const& division, std::int64_t widest) {
  comm::Distribution const& a = division.layout.a.cols;
  comm::Distribution const& b = division.layout.b.rows;
  std::map<std::pair<int, int>, std::vector<Panel>> of_owners;
  for (std::int64_t first = 0; first < division.k;) {
    std::int64_t const width =
        std::min({widest, a.block_end(first) - first, b.block_end(first) - first});
    std::int64_t const here = std::exchange(first, first + width);
    if (a.owner(here) % division.layers != division.layer) continue;
    int const a_owner = a.owner(here) / division.layers;
    int const b_owner = b.owner(here) / division.layers;
    of_owners[{b_owner, a_owner}].push_back({.first = here,
                                             .width = width,
                                             .a = {a_owner, a_owner == division.col},
                                             .b = {b_owner, b_owner == division.row}});
  }
  std::vector<Panel> panels;
  for (std::size_t turn = 0, before = 1; panels.size() != before; ++turn) {
    before = panels.size();
    for (auto const& [owners, theirs] : of_owners) {
      if (turn < theirs.size()) panels.push_back(theirs[turn]);
    }
  }
  Panel next;
  auto const count = [](Panel::Part& part, Panel::Part& following) {
    part.received = following.received;
    part.sent = following.sent;
    ++(part.is_own ? following.sent : following.received);
  };
  for (Panel& panel : panels) {
    panel.index = next.index++;
    count(panel.a, next.a);
    count(panel.b, next.b);
  }
  return panels;
}

Step alone(Panel const& panel) {
  return {panel.index, panel.index, panel.width, {panel.index}, panel.index == 0};
}

namespace {

/// Whether two own panels lie side by side.
bool continues(Division const& division, Panel const& left, Panel const& right) {
  auto const follows = [&](comm::Distribution const& k) {
    return k.local(right.first) == k.local(left.first) + left.width;
  };
  return left.is_own() && right.is_own() && follows(division.layout.a.cols) &&
         follows(division.layout.b.rows);
}

}  // namespace

std::vector<Step> steps_of(Division const& division, std::vector<Panel> const& panels,
                           std::size_t buffers) {
  std::vector<Panel> own;
  std::ranges::copy_if(panels, std::back_inserter(own),
                       [](Panel const& panel) { return panel.is_own(); });
  std::size_t next_own = std::min(own.size(), buffers);
  std::vector<Panel> order(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(next_own));
  for (Panel const& panel : panels) {
    if (!panel.is_own()) order.push_back(panel);
    if (panel.is_own() && next_own < own.size()) order.push_back(own[next_own++]);
  }
  std::vector<Step> steps;
  for (Panel const& panel : order) {
    if (!steps.empty() && continues(division, panels[steps.back().last], panel)) {
      Step& step = steps.back();
      step.width += panel.width;
      step.last = panel.index;
      step.panels.push_back(panel.index);
    } else {
      steps.push_back(alone(panel));
      steps.back().is_first = steps.size() == 1;
    }
  }
  return steps;
}

}  // namespace quadrille::workloads::summa

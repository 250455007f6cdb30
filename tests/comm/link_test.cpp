// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/link.hpp"

#include "support/fake_device.hpp"

#include <gtest/gtest.h>

#include <string>

namespace quadrille::comm {
namespace {

using device::Kind;
using device::Link;

Placement at(std::string node, std::string uuid = "") {
  Placement place;
  place.node = std::move(node);
  place.uuid = std::move(uuid);
  return place;
}

TEST(LinkBetween, HostsIsTheirMemoryOrTheNetwork) {
  test::FakeDevice const host{Kind::host, {}};
  EXPECT_EQ(link_between(at("n1"), at("n1"), host), Link::memory);
  EXPECT_EQ(link_between(at("n1"), at("n2"), host), Link::network);
}

TEST(LinkBetween, GpusOfANodeIsWhatTheDeviceSays) {
  test::FakeDevice gpu{Kind::cuda, {}};
  for (Link const link : {Link::nvlink, Link::pcie, Link::unknown}) {
    gpu.link = link;
    EXPECT_EQ(link_between(at("n1", "a"), at("n1", "b"), gpu), link);
    EXPECT_EQ(link_between(at("n1", "a"), at("n2", "b"), gpu), Link::network);
    EXPECT_EQ(link_between(at("n1", "a"), at("n1", "a"), gpu), Link::same_gpu);
  }
}

TEST(LinkBetween, GpusWithoutIdentifiersIsUnknown) {
  test::FakeDevice gpu{Kind::cuda, {}};
  gpu.link = Link::nvlink;
  EXPECT_EQ(link_between(at("n1"), at("n1"), gpu), Link::unknown);
}

}  // namespace
}  // namespace quadrille::comm

// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/host/topology.hpp"

#include "core/error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <hwloc.h>
#include <memory>

#if HWLOC_API_VERSION < 0x00020100
#error "hwloc 2.1 or later is needed"
#endif

namespace quadrille::device {
namespace {

struct Destroy {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
  void operator()(hwloc_bitmap_t bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Topology = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, Destroy>;
using Bitmap = std::unique_ptr<std::remove_pointer_t<hwloc_bitmap_t>, Destroy>;

Topology load() {
  hwloc_topology_t made = nullptr;
  if (hwloc_topology_init(&made) != 0)
    core::fail("hwloc_topology_init failed", core::Exit::environment);
  Topology topology{made};
  // Other ranks may use CPUs that the control group of this one leaves out.
  hwloc_topology_set_flags(made, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  hwloc_topology_set_type_filter(made, HWLOC_OBJ_PCI_DEVICE, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  // They would start the drivers of accelerators before this program has chosen one.
  for (char const* const component : {"cuda", "nvml", "opencl", "rsmi", "levelzero", "gl"}) {
    hwloc_topology_set_components(made, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, component);
  }
  if (hwloc_topology_load(made) != 0) {
    core::fail("hwloc cannot read the topology of this machine; check HWLOC_* variables and /sys",
               core::Exit::environment);
  }
  return topology;
}

/// Read at the first call: it takes some 10 ms.
hwloc_topology_t topology() {
  static Topology const machine = load();
  return machine.get();
}

std::string text_of(hwloc_const_bitmap_t set) {
  char* text = nullptr;
  if (hwloc_bitmap_list_asprintf(&text, set) < 0) return {};
  std::unique_ptr<char, decltype(&std::free)> const owner{text, std::free};
  return text;
}

std::string info_of(hwloc_obj_t object, char const* name) {
  char const* const text = hwloc_obj_get_info_by_name(object, name);
  return text == nullptr ? "" : text;
}

}  // namespace

std::string cpu_name() {
  // Where packages are unknown, the whole machine has it.
  for (hwloc_obj_t const object :
       {hwloc_get_obj_by_type(topology(), HWLOC_OBJ_PACKAGE, 0), hwloc_get_root_obj(topology())}) {
    std::string const name = object == nullptr ? "" : info_of(object, "CPUModel");
    if (!name.empty()) return name;
  }
  return "CPU";
}

std::string network_cards() {
  constexpr int kNetwork = 0x02;  // class of PCI devices
  std::set<std::string> cards;
  for (hwloc_obj_t device = nullptr; (device = hwloc_get_next_pcidev(topology(), device));) {
    auto const& pci = device->attr->pcidev;
    if (pci.class_id >> 8 != kNetwork) continue;
    std::string const vendor = info_of(device, "PCIVendor"), model = info_of(device, "PCIDevice");
    cards.insert(vendor.empty() || model.empty()
                     ? fmt::format("PCI {:04x}:{:04x}", pci.vendor_id, pci.device_id)
                     : vendor + " " + model);
  }
  return cards.empty() ? "none" : fmt::format("{}", fmt::join(cards, ", "));
}

std::string usable_cpus() {
  Bitmap const set{hwloc_bitmap_alloc()};
  if (hwloc_get_cpubind(topology(), set.get(), HWLOC_CPUBIND_THREAD) == 0)
    return text_of(set.get());
  return text_of(hwloc_topology_get_allowed_cpuset(topology()));
}

std::set<int> cores_of(std::string const& cpus) {
  Bitmap const set{hwloc_bitmap_alloc()};
  hwloc_bitmap_list_sscanf(set.get(), cpus.c_str());
  bool const has_cores = hwloc_get_nbobjs_by_type(topology(), HWLOC_OBJ_CORE) > 0;
  hwloc_obj_type_t const type = has_cores ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
  std::set<int> cores;
  for (hwloc_obj_t core = nullptr; (core = hwloc_get_next_obj_by_type(topology(), type, core));) {
    if (hwloc_bitmap_intersects(core->cpuset, set.get())) {
      cores.insert(static_cast<int>(core->logical_index));
    }
  }
  return cores;
}

int threads_per_core() {
  int most = 1;
  for (hwloc_obj_t core = nullptr;
       (core = hwloc_get_next_obj_by_type(topology(), HWLOC_OBJ_CORE, core));) {
    most = std::max(most, hwloc_bitmap_weight(core->cpuset));
  }
  return most;
}

int numa_node_of(std::string const& pci) {
  hwloc_obj_t const gpu = hwloc_get_pcidev_by_busidstring(topology(), pci.c_str());
  if (gpu == nullptr) return -1;
  hwloc_const_bitmap_t const nodes = hwloc_get_non_io_ancestor_obj(topology(), gpu)->nodeset;
  return hwloc_bitmap_weight(nodes) == 1 ? hwloc_bitmap_first(nodes) : -1;
}

std::string cpus_of_numa_node(int node) {
  hwloc_obj_t const found =
      hwloc_get_numanode_obj_by_os_index(topology(), static_cast<unsigned>(node));
  return node < 0 || found == nullptr ? "" : text_of(found->cpuset);
}

}  // namespace quadrille::device

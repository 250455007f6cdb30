// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/host/cgroup.hpp"
#include "device/host/memory.hpp"
#include "device/host/shared_memory.hpp"
#include "device/semantics.hpp"
#include "support/temporary_folder.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <filesystem>
#include <fstream>

namespace quadrille::device {
namespace {

INSTANTIATE_TEST_SUITE_P(Host, DeviceSemantics, testing::Values(Kind::host));

double process_cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

TEST(HostDevice, TasksOfTwoStreamsRunAtTheSameTime) {
  auto const device = make_host_device(1);
  Stream const a{*device}, b{*device};
  std::atomic<int> arrived{0};
  int met = 0;
  auto const meet = [&] {
    arrived.fetch_add(1);
    auto const limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (arrived.load() < 2 && std::chrono::steady_clock::now() < limit) {
      std::this_thread::yield();
    }
  };

  a.view().run(meet);
  b.view().run([&] {
    meet();
    met = arrived.load();
  });
  a.view().synchronize();
  b.view().synchronize();

  EXPECT_EQ(met, 2);
}

TEST(HostDevice, SharedMemoryOpensByItsHandleAlone) {
  auto const device = make_host_device(1);
  SharedMemory const shared{*device, *device->allocate_shared(5000)};
  EXPECT_EQ(shared.data()[4999], std::byte{0});
  std::string const handle = *device->handle_of(shared.data());

  core::Parsed<void*> const opened = device->open_shared(handle);
  ASSERT_TRUE(opened) << opened.why();
  PeerMemory const peer{*device, *opened};
  ASSERT_NE(peer.data(), shared.data());
  peer.data()[4999] = std::byte{7};
  EXPECT_EQ(shared.data()[4999], std::byte{7});

  // The same file, said to be of another size: what another process may have under the number.
  std::string const other = handle.substr(0, handle.rfind(' ')) + " 6000";
  EXPECT_EQ(device->open_shared(other).why().find("is not the shared memory") != std::string::npos,
            true);
}

TEST(HostDevice, ReadsMemoryOfProcesses) {
  std::vector<int> const there{1, 2, 3};
  std::vector<int> here(3);
  EXPECT_TRUE(read_remote(here.data(), readable_address(there.data()), 12));
  EXPECT_EQ(here, there);
  EXPECT_FALSE(read_remote(here.data(), {readable_address(nullptr).process, nullptr}, 12));
  EXPECT_FALSE(read_remote(here.data(), {1 << 30, there.data()}, 12));
}

TEST(HostDevice, BlockedAndIdleStreamsSleep) {
  auto const device = make_host_device(1);
  Stream const a{*device}, b{*device}, idle{*device};
  Flag const gate{*device};
  Event event{*device};
  a.view().wait(gate, 1);
  a.view().record(event);
  b.view().wait(event);
  idle.view().synchronize();

  double const before = process_cpu_seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_LT(process_cpu_seconds() - before, 0.05);

  gate.set(1);
  b.view().synchronize();
}

TEST(HostDevice, NeedsAThread) {
  auto const failure = test::failure_of([] { make_host_device(0); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, core::Exit::bad_config);
}

TEST(HostDevice, ElapsedTimeNeedsTwoRecordedEvents) {
  auto const device = make_host_device(1);
  Stream const stream{*device};
  Event recorded{*device}, never{*device};
  stream.view().record(recorded);
  recorded.synchronize();
  EXPECT_FAILS(recorded.seconds_since(never), "not both done");
  EXPECT_FAILS(never.seconds_since(recorded), "not both done");
}

TEST(HostDevice, MemoryNotYetTouchedIsNotFree) {
  auto const device = make_host_device(1);
  bool is_taken = false, is_back = false;
  // Other programs come and go meanwhile, but not each time as much as a quarter of what is asked.
  for (int i = 0; i < 50 && !(is_taken && is_back); ++i) {
    std::size_t const before = device->free_memory();
    std::size_t const asked = std::min(before / 2, std::size_t{1} << 30);

    void* const memory = device->allocate(asked);
    std::size_t const after = device->free_memory();
    device->release(memory);

    is_taken |= after < before - asked / 4 * 3 + resident_host_memory();
    is_back |= device->free_memory() > before - asked / 4;
  }
  EXPECT_TRUE(is_taken);
  EXPECT_TRUE(is_back);
}

// A system of files as Linux shows it, below a folder of its own.
class FakeSystem {
 public:
  void write(std::string const& file, std::string const& text) const {
    std::filesystem::create_directories((root() / file).parent_path());
    std::ofstream{root() / file} << text;
  }
  std::filesystem::path const& root() const { return folder_.path(); }

 private:
  test::TemporaryFolder folder_;
};

TEST(HostMemory, IsWhatTheKernelCallsAvailable) {
  FakeSystem const system;
  system.write("proc/meminfo", "MemTotal: 9000 kB\nMemAvailable:    4000 kB\n");
  EXPECT_EQ(available_host_memory(system.root()), 4000U * 1024);

  system.write("proc/self/cgroup", "0::/\n");
  EXPECT_EQ(available_host_memory(system.root()), 4000U * 1024);
  EXPECT_EQ(total_host_memory(system.root()), 9000U * 1024);
}

TEST(HostMemory, TheTightestGroupCounts) {
  FakeSystem const system;
  system.write("proc/meminfo", "MemTotal: 9000 kB\nMemAvailable:    4000 kB\n");
  system.write("proc/self/cgroup", "0::/job/step\n");
  system.write("sys/fs/cgroup/job/step/memory.max", "max\n");
  system.write("sys/fs/cgroup/job/step/memory.current", "500000\n");
  system.write("sys/fs/cgroup/job/memory.max", "2000000\n");
  system.write("sys/fs/cgroup/job/memory.current", "900000\n");
  EXPECT_EQ(available_host_memory(system.root()), 1100000U);
  EXPECT_EQ(total_host_memory(system.root()), 2000000U);

  // Cached files are given back on demand.
  system.write("sys/fs/cgroup/job/memory.stat", "anon 600000\ninactive_file 300000\n");
  EXPECT_EQ(available_host_memory(system.root()), 1400000U);

  system.write("sys/fs/cgroup/job/memory.current", "9000000\n");
  EXPECT_EQ(available_host_memory(system.root()), 0U);
}

TEST(HostMemory, GroupsOfTheOldKindCountToo) {
  FakeSystem const system;
  system.write("proc/meminfo", "MemAvailable:    4000 kB\n");
  system.write("proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/slurm/job\n0::/\n");
  system.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  system.write("sys/fs/cgroup/memory/memory.usage_in_bytes", "100\n");
  EXPECT_EQ(available_host_memory(system.root()), 4000U * 1024);

  system.write("sys/fs/cgroup/memory/slurm/job/memory.limit_in_bytes", "1000\n");
  system.write("sys/fs/cgroup/memory/slurm/job/memory.usage_in_bytes", "100\n");
  EXPECT_EQ(available_host_memory(system.root()), 900U);
}

TEST(CpuQuotas, AreThoseOfAllGroupsAround) {
  FakeSystem const system;
  EXPECT_TRUE(cpu_quotas(system.root()).empty());
  system.write("proc/self/cgroup", "0::/job/step\n");
  system.write("sys/fs/cgroup/job/step/cpu.max", "50000 100000\n");
  system.write("sys/fs/cgroup/job/cpu.max", "max 100000\n");
  system.write("sys/fs/cgroup/cpu.max", "800000 200000\n");
  std::vector<CpuQuota> const found = cpu_quotas(system.root());
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].cpus, 0.5);
  EXPECT_EQ(found[1].cpus, 4);
  EXPECT_NE(found[0].group, found[1].group);
}

TEST(CpuQuotas, OfTheOldKindCountToo) {
  FakeSystem const system;
  system.write("proc/self/cgroup", "5:cpu,cpuacct:/pod\n4:memory:/pod\n0::/\n");
  system.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  system.write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_TRUE(cpu_quotas(system.root()).empty());
  system.write("sys/fs/cgroup/cpu/pod/cpu.cfs_quota_us", "150000\n");
  system.write("sys/fs/cgroup/cpu/pod/cpu.cfs_period_us", "100000\n");
  ASSERT_EQ(cpu_quotas(system.root()).size(), 1U);
  EXPECT_EQ(cpu_quotas(system.root())[0].cpus, 1.5);
}

/// No file can be opened while this lives.
class NoFiles {
 public:
  NoFiles() {
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    rlimit const none{.rlim_cur = 0, .rlim_max = before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  }
  ~NoFiles() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST(HostMemory, IsNotNoneWhereTooManyFilesAreOpen) {
  FakeSystem const system;
  system.write("proc/meminfo", "MemAvailable:    4000 kB\n");
  {
    NoFiles const none;
    EXPECT_FAILS(available_host_memory(system.root()), "Too many open files; raise");
    EXPECT_FAILS(resident_host_memory(), "Too many open files; raise");
  }
  EXPECT_EQ(available_host_memory(system.root()), 4000U * 1024);
}

/// As after `ulimit -v` in the shell that starts the program.
TEST(HostMemory, IsNoMoreThanTheProcessMayMap) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  std::ifstream in{"/proc/self/statm"};
  std::size_t mapped = 0;
  in >> mapped;
  mapped *= static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  constexpr std::size_t kMore = 64UL << 20;
  std::size_t const of_machine = total_host_memory();
  rlimit limited = before;
  limited.rlim_cur = mapped + kMore;
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limited), 0);
  std::size_t const left = available_host_memory(), total = total_host_memory();
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);

  EXPECT_LE(left, kMore);
  EXPECT_GT(left, kMore / 2);
  EXPECT_EQ(total, std::min(of_machine, mapped + kMore)) << "AddressSanitizer maps terabytes";
}

}  // namespace
}  // namespace quadrille::device

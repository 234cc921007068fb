#include "exec/usable_cpus.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace tailor {
namespace {

// A file tree as the system shows it to a process.
class CpuQuotaTest : public testing::Test {
 protected:
  CpuQuotaTest() : root_(testing::TempDir() + "cpu_quota") { std::filesystem::remove_all(root_); }
  ~CpuQuotaTest() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  std::optional<double> Quota() const { return CpuQuota(root_); }

  const std::string root_;
};

TEST_F(CpuQuotaTest, NoFilesAreNoQuota) {
  EXPECT_EQ(Quota(), std::nullopt);
  Write("/proc/self/cgroup", "0::/\n");
  EXPECT_EQ(Quota(), std::nullopt);
}

TEST_F(CpuQuotaTest, TheLowestOfTheGroupsAbove) {
  Write("/proc/self/cgroup", "0::/user.slice/service\n");
  Write("/sys/fs/cgroup/user.slice/service/cpu.max", "max 100000\n");
  EXPECT_EQ(Quota(), std::nullopt);
  Write("/sys/fs/cgroup/user.slice/cpu.max", "250000 100000\n");
  EXPECT_EQ(Quota(), 2.5);
  Write("/sys/fs/cgroup/user.slice/service/cpu.max", "50000 100000\n");
  EXPECT_EQ(Quota(), 0.5);
  Write("/sys/fs/cgroup/cpu.max", "40000 100000\n");
  EXPECT_EQ(Quota(), 0.4);
}

TEST_F(CpuQuotaTest, AContainerWithThePathOfItsHost) {
  Write("/proc/self/cgroup", "0::/docker/0123\n");
  Write("/sys/fs/cgroup/cpu.max", "150000 100000\n");
  EXPECT_EQ(Quota(), 1.5);
}

TEST_F(CpuQuotaTest, Version1) {
  Write("/proc/self/cgroup", "12:memory:/a\n4:cpu,cpuacct:/a\n1:name=systemd:/a\n");
  Write("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "-1\n");
  Write("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Quota(), std::nullopt);
  Write("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "300000\n");
  EXPECT_EQ(Quota(), 3);
}

TEST_F(CpuQuotaTest, Version1WithALinkToTheController) {
  Write("/proc/self/cgroup", "4:cpuacct,cpu:/a\n");
  Write("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "250000\n");
  Write("/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Quota(), 2.5);
}

TEST_F(CpuQuotaTest, DamagedFilesAreNoQuota) {
  Write("/proc/self/cgroup", "\n:\n0::\nnothing\n3:cpu:/\n");
  Write("/sys/fs/cgroup/cpu.max", "100000 0\n");
  Write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "no number");
  EXPECT_EQ(Quota(), std::nullopt);
}

TEST(UsableCpus, AreThoseOfTheAffinityMask) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  EXPECT_GE(UsableCpus(), 1u);
  EXPECT_LE(UsableCpus(), static_cast<size_t>(CPU_COUNT(&before)));
  std::thread([&] {  // only this thread is bound
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int cpu = 0; CPU_COUNT(&one) == 0; ++cpu) {
      if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
    }
    ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
    EXPECT_EQ(UsableCpus(), 1u);
  })
      .join();
}

}  // namespace
}  // namespace tailor

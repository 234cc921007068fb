#include "exec/cpu_features.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exec/tile_state.h"

namespace tailor {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

CpuId EverythingSet() {
  CpuId cpu;
  for (uint32_t CpuId::*word : {&CpuId::leaf1_ecx, &CpuId::leaf1_edx, &CpuId::leaf7_ebx, &CpuId::leaf7_ecx,
                                &CpuId::leaf7_edx, &CpuId::leaf7_1_eax, &CpuId::leaf7_1_edx, &CpuId::extended1_ecx}) {
    cpu.*word = ~0u;
  }
  cpu.xcr0 = ~0ull;
  return cpu;
}

TEST(CpuFeatures, ListsEveryMissingFeature) {
  CpuId cpu = EverythingSet();
  cpu.leaf7_ebx &= ~(1u << 16);  // avx512f
  const std::vector<std::string> needed = {"avx2", "avx512f", "warp-drive", "fma"};
  EXPECT_THAT(MissingFeatures(cpu, needed),
              ElementsAre("avx512f: the CPU does not have it", "warp-drive: this runtime does not know the feature"));
}

TEST(CpuFeatures, RegistersMustBeSavedByTheSystem) {
  CpuId cpu = EverythingSet();
  cpu.xcr0 = 0x7;  // x87, SSE, AVX: no AVX-512 state
  const std::vector<std::string> needed = {"sse4.2", "avx2", "avx512bw", "amx-tile"};
  EXPECT_THAT(MissingFeatures(cpu, needed), ElementsAre("avx512bw: the operating system does not save its registers",
                                                        "amx-tile: the operating system does not save its registers"));
  cpu.xcr0 = 0x3;
  EXPECT_THAT(MissingFeatures(cpu, std::vector<std::string>{"f16c"}),
              ElementsAre("f16c: the operating system does not save its registers"));
}

TEST(CpuFeatures, FamilyIsVendorAndNumber) {
  CpuId cpu;
  cpu.leaf0_ebx = 0x68747541, cpu.leaf0_edx = 0x69746e65, cpu.leaf0_ecx = 0x444d4163;
  cpu.leaf1_eax = 0x00a10f11;  // of an EPYC 9004
  EXPECT_EQ(CpuFamily(cpu), "AuthenticAMD 25");
  cpu.leaf0_ebx = 0x756e6547, cpu.leaf0_edx = 0x49656e69, cpu.leaf0_ecx = 0x6c65746e;
  cpu.leaf1_eax = 0x000806f8;  // of Sapphire Rapids
  EXPECT_EQ(CpuFamily(cpu), "GenuineIntel 6");
}

TEST(CpuFeatures, LevelsAreWholeSets) {
  CpuId cpu = EverythingSet();
  EXPECT_EQ(CpuLevel(cpu), "x86-64-v4");
  cpu.leaf7_ebx &= ~(1u << 31);  // avx512vl
  EXPECT_EQ(CpuLevel(cpu), "x86-64-v3");
  cpu.leaf1_ecx &= ~(1u << 22);  // movbe
  EXPECT_EQ(CpuLevel(cpu), "x86-64-v2");
  cpu.leaf1_ecx &= ~(1u << 23);  // popcnt
  EXPECT_EQ(CpuLevel(cpu), "x86-64");
}

TEST(TileState, IsGrantedWhereItIsSaved) {
  if (!MissingFeatures(ThisCpu(), std::vector<std::string>{"amx-tile"}).empty()) GTEST_SKIP() << "no tile registers";
  EXPECT_TRUE(RequestTileState());
  EXPECT_TRUE(RequestTileState()) << "asked again";
}

// The compiler's own probe knows the same machine.
TEST(CpuFeatures, AgreesWithTheCompilersProbe) {
  const auto has = [](const char* feature) {
    return MissingFeatures(ThisCpu(), std::vector<std::string>{feature}).empty();
  };
  EXPECT_EQ(has("sse4.2"), __builtin_cpu_supports("sse4.2") != 0);
  EXPECT_EQ(has("avx2"), __builtin_cpu_supports("avx2") != 0);
  EXPECT_EQ(has("fma"), __builtin_cpu_supports("fma") != 0);
  EXPECT_EQ(has("bmi2"), __builtin_cpu_supports("bmi2") != 0);
  EXPECT_EQ(has("avx512f"), __builtin_cpu_supports("avx512f") != 0);
  EXPECT_EQ(has("avx512vl"), __builtin_cpu_supports("avx512vl") != 0);
  EXPECT_EQ(has("avx512vnni"), __builtin_cpu_supports("avx512vnni") != 0);
  EXPECT_EQ(has("avx512bf16"), __builtin_cpu_supports("avx512bf16") != 0);
  EXPECT_EQ(CpuLevel(ThisCpu()) == "x86-64-v4", __builtin_cpu_supports("x86-64-v4") != 0);
  EXPECT_EQ(CpuLevel(ThisCpu()) == "x86-64-v3",
            __builtin_cpu_supports("x86-64-v3") != 0 && __builtin_cpu_supports("x86-64-v4") == 0);
}

TEST(CpuFeatures, KnowsItsOwnNames) {
  for (std::string_view name : KnownFeatures()) {
    EXPECT_THAT(MissingFeatures(EverythingSet(), std::vector<std::string>{std::string(name)}), IsEmpty()) << name;
  }
}

}  // namespace
}  // namespace tailor

#include "tools/tune/kernel_pack.h"

#include <stdexcept>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/tune/measure_kernels.h"

namespace tailor::tune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Two tiles; the second function, like the first, only returns.
KernelPack Pack() {
  return {.target = "x86-64-v2",
          .features = {"sse3", "popcnt"},
          .kernels = {{.rows = 6, .panels = 4, .offset = 0}, {.rows = 1, .panels = 2, .offset = 2}},
          .code = {std::byte{0xc3}, std::byte{'\n'}, std::byte{0xc3}}};
}

std::string ErrorOf(const std::string& bytes) {
  try {
    ParseKernelPack(bytes);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

TEST(KernelPack, SurvivesItsBytes) {
  const KernelPack back = ParseKernelPack(KernelPackBytes(Pack()));
  EXPECT_EQ(back.target, "x86-64-v2");
  EXPECT_THAT(back.features, ElementsAre("sse3", "popcnt"));
  ASSERT_EQ(back.kernels.size(), 2);
  EXPECT_EQ(back.kernels[1].rows, 1);
  EXPECT_EQ(back.kernels[1].panels, 2);
  EXPECT_EQ(back.kernels[1].offset, 2);
  EXPECT_EQ(back.code, Pack().code);
}

TEST(KernelPack, RefusesWhatIsNotWhole) {
  const std::string bytes = KernelPackBytes(Pack());
  const size_t code = bytes.find("\ncode");
  for (size_t size = 0; size < bytes.size(); ++size) EXPECT_NE(ErrorOf(bytes.substr(0, size)), "") << size;
  EXPECT_THAT(ErrorOf("graph @g"), HasSubstr("does not begin with \"tailor-kernels 1\""));
  EXPECT_THAT(ErrorOf(bytes + "x"), HasSubstr("cut off, or followed by more"));
  EXPECT_THAT(ErrorOf(bytes.substr(0, code + 1)), HasSubstr("a line of code is missing"));
  std::string damaged = bytes;
  damaged.back() = 'x';
  EXPECT_THAT(ErrorOf(damaged), HasSubstr("damaged"));
}

TEST(KernelPack, RefusesTilesThatAreNone) {
  for (const auto& [rows, panels] : {std::pair(0, 1), {17, 1}, {1, 9}, {-1, 2}}) {
    KernelPack pack = Pack();
    pack.kernels[0].rows = rows, pack.kernels[0].panels = panels;
    EXPECT_THAT(ErrorOf(KernelPackBytes(pack)), HasSubstr("a tile is none"));
  }
  KernelPack pack = Pack();
  pack.kernels[0].offset = 3;
  EXPECT_THAT(ErrorOf(KernelPackBytes(pack)), HasSubstr("beyond the code"));
}

TEST(MeasureKernels, TimesEachTileAtEachDepth) {
  const std::vector<TileTimes> times = MeasureKernels(Pack(), 1);
  ASSERT_EQ(times.size(), 2);
  EXPECT_EQ(times[0].rows, 6);
  EXPECT_EQ(times[1].panels, 2);
  EXPECT_EQ(times[0].fitted.size(), 10);
  EXPECT_EQ(times[0].held_out.size(), 5);
  EXPECT_EQ(times[1].held_out[0].depth, 48);
  EXPECT_GT(times[1].held_out[0].time, 0);
}

TEST(MeasureKernels, NamesWhatTheMachineLacks) {
  KernelPack pack = Pack();
  pack.features.push_back("teleport");
  try {
    MeasureKernels(pack, 1);
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("this machine does not run x86-64-v2; teleport"));
  }
}

}  // namespace
}  // namespace tailor::tune

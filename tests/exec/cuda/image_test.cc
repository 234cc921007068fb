#include "exec/cuda/image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tailor {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr auto kCubin = DeviceImageKind::kCubin;
constexpr auto kPtx = DeviceImageKind::kPtx;
constexpr auto kIr = DeviceImageKind::kIr;

TEST(CudaImage, ACubinRunsOnLaterMinorVersionsOfItsMajorOne) {
  const std::vector<DeviceImage> images = {{"sm_80", kCubin, {}}, {"sm_86", kCubin, {}}, {"sm_90", kCubin, {}}};
  EXPECT_THAT(ImagesFor({8, 0}, images), ElementsAre(0));
  EXPECT_THAT(ImagesFor({8, 6}, images), ElementsAre(0, 1));
  EXPECT_THAT(ImagesFor({8, 9}, images), ElementsAre(0, 1));
  EXPECT_THAT(ImagesFor({9, 0}, images), ElementsAre(2));
  EXPECT_THAT(ImagesFor({7, 5}, images), IsEmpty());
  EXPECT_THAT(ImagesFor({10, 0}, images), IsEmpty());
}

TEST(CudaImage, PtxRunsOnAllLaterOnesAndComesLast) {
  const std::vector<DeviceImage> images = {{"sm_80", kPtx, {}}, {"sm_90", kPtx, {}}, {"sm_90", kCubin, {}}};
  EXPECT_THAT(ImagesFor({7, 5}, images), IsEmpty());
  EXPECT_THAT(ImagesFor({8, 6}, images), ElementsAre(0));
  EXPECT_THAT(ImagesFor({9, 0}, images), ElementsAre(2, 0, 1));
  EXPECT_THAT(ImagesFor({12, 0}, images), ElementsAre(0, 1));
}

TEST(CudaImage, ALetterMeansExactlyThisArchitecture) {
  for (const auto kind : {kCubin, kPtx}) {
    const std::vector<DeviceImage> images = {{"sm_90a", kind, {}}};
    EXPECT_THAT(ImagesFor({9, 0}, images), ElementsAre(0));
    EXPECT_THAT(ImagesFor({9, 1}, images), IsEmpty());
    EXPECT_THAT(ImagesFor({10, 0}, images), IsEmpty());
  }
}

TEST(CudaImage, IrIsForEmulators) {
  const std::vector<DeviceImage> images = {{"sm_90", kCubin, {}}, {"simt", kIr, {}}};
  EXPECT_THAT(ImagesFor({9, 0}, images), ElementsAre(0));
  EXPECT_THAT(ImagesFor({9, 0, /*emulated=*/true}, images), ElementsAre(1, 0));
}

TEST(CudaImage, TargetsThatAreNoneRunNowhere) {
  for (const char* target : {"", "sm_", "sm_9", "sm_90ab", "90", "sm_x", "sm_99999999999", "sm_-90"}) {
    EXPECT_THAT(ImagesFor({9, 0}, {{target, kCubin, {}}}), IsEmpty()) << target;
  }
}

TEST(CudaImage, Lists) {
  EXPECT_EQ(ListImages({{"sm_90a", kCubin, {}}, {"sm_80", kPtx, {}}, {"simt", kIr, {}}}),
            "cubin sm_90a, ptx sm_80, ir simt");
  EXPECT_EQ(NameOf(CudaArchitecture{12, 1}), "sm_121");
}

}  // namespace
}  // namespace tailor

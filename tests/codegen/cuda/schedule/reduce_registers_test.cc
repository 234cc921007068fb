#include "codegen/cuda/schedule/reduce_registers.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tailor::cuda {
namespace {

using testing::ElementsAre;

std::string Shape(const CudaVersion& version) {
  return absl::StrCat(version.ShapeText(), ", threads ", version.threads, ", resident ", version.resident_blocks);
}

std::vector<std::string> Steps(CudaVersion version) {
  std::vector<std::string> steps;
  while (ReduceRegisters(version)) steps.push_back(Shape(version));
  return steps;
}

TEST(ReduceRegisters, RegistersFirstThenLanes) {
  EXPECT_THAT(Steps({.shape = CudaVersion::Shape::kRows,
                     .threads = 256,
                     .resident_blocks = 4,
                     .row_threads = 256,
                     .lanes = 4,
                     .lane_axis = 1,
                     .vectors_per_thread = 8}),
              ElementsAre("256 threads per row, lanes 4, threads 256, resident 4",
                          "256 threads per row, lanes 4, threads 256, resident 2",
                          "256 threads per row, lanes 4, threads 256, resident 1",
                          "256 threads per row, lanes 2, threads 256, resident 1",
                          "256 threads per row, threads 256, resident 1"));
  EXPECT_THAT(Steps({.shape = CudaVersion::Shape::kRows, .threads = 512, .row_threads = 512}),
              ElementsAre("256 threads per row, threads 256, resident 0"));
  EXPECT_THAT(Steps({.threads = 256, .lanes = 2, .lane_axis = 0}),
              ElementsAre("thread per element, threads 256, resident 0"));
}

TEST(ReduceRegisters, TilesHaveOneFormButBlocksMayBeFewer) {
  EXPECT_THAT(Steps({.shape = CudaVersion::Shape::kMatmulTile, .threads = 128, .resident_blocks = 4}),
              testing::SizeIs(1));
  for (auto shape : {CudaVersion::Shape::kMatmulTile, CudaVersion::Shape::kAttentionTile}) {
    CudaVersion version{.shape = shape, .threads = 128, .resident_blocks = 3};
    EXPECT_TRUE(ReduceRegisters(version));
    EXPECT_EQ(version.resident_blocks, 2);  // each thread may have all registers
    EXPECT_FALSE(ReduceRegisters(version));
    CudaVersion grid_sync{.shape = shape, .threads = 128, .resident_blocks = 3, .persistent = true};
    EXPECT_FALSE(ReduceRegisters(grid_sync));
  }
}

TEST(ReduceRegisters, OthersHaveOneForm) {
  for (auto shape : {CudaVersion::Shape::kTransposed, CudaVersion::Shape::kMatmulTile}) {
    CudaVersion version{.shape = shape, .threads = 512};
    EXPECT_FALSE(ReduceRegisters(version));
    EXPECT_EQ(version.threads, 512);
  }
}

}  // namespace
}  // namespace tailor::cuda

#include "exec/cuda/kernel_parameters.h"

#include <gtest/gtest.h>

#include <cstring>

namespace tailor {
namespace {

int encoded = 0;

// The map that the driver is asked for, in the bytes of the one it makes.
struct Asked {
  uint64_t address, dim_sizes[3], strides[2];
  uint32_t box[3], swizzle;
};

cuda::Result Encode(cuda::EncodedTensorMap* map, cuda::TensorMapDataType, uint32_t rank, void* address,
                    const uint64_t* dim_sizes, const uint64_t* strides, const uint32_t* box, const uint32_t*,
                    cuda::TensorMapInterleave, cuda::TensorMapSwizzle swizzle, cuda::TensorMapL2Promotion,
                    cuda::TensorMapFill) {
  EXPECT_EQ(rank, 3u);
  if (dim_sizes[0] > 1000) return cuda::kInvalidValue;
  ++encoded;
  Asked asked{reinterpret_cast<uint64_t>(address), {}, {strides[0], strides[1]}, {}, static_cast<uint32_t>(swizzle)};
  for (int d = 0; d < 3; ++d) asked.dim_sizes[d] = dim_sizes[d], asked.box[d] = box[d];
  std::memcpy(map, &asked, sizeof(asked));
  return cuda::kSuccess;
}

class KernelParametersTest : public testing::Test {
 protected:
  KernelParametersTest() {
    driver_.TensorMapEncodeTiled = Encode;
    encoded = 0;
  }
  // The map of kernel 1, whose parameters are two addresses and two dims.
  Asked Map(int64_t address, int64_t k, int64_t n) {
    const int64_t args[] = {0, address, k, n};
    void* places[5] = {};
    result_ = parameters_.Point(1, args, places);
    Asked asked = {};
    if (places[4] != nullptr) std::memcpy(&asked, places[4], sizeof(asked));
    return asked;
  }

  CudaDriver driver_;
  const TensorMap map_{
      .address = 1, .factors = {{0, 2, 1}, {2, 3, 16}, {2, -1, 3}}, .box = {64, 1, 128}, .swizzle_bytes = 128};
  const std::vector<DeviceKernel> kernels_ = {{"plain", 32, 3, {}}, {"boxes", 32, 4, {map_}}};
  KernelParameters parameters_{driver_, kernels_};
  cuda::Result result_ = cuda::kSuccess;
};

TEST_F(KernelParametersTest, AreTheSlotsOfTheArgumentBlock) {
  const int64_t args[] = {1, 2, 3};
  void* places[3] = {};
  ASSERT_EQ(parameters_.Point(0, args, places), cuda::kSuccess);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(places[i], &args[i]);
}

TEST_F(KernelParametersTest, MapsComeBehindTheArguments) {
  const int64_t args[] = {0, 4096, 24, 17};
  void* places[5] = {};
  ASSERT_EQ(parameters_.Point(1, args, places), cuda::kSuccess);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(places[i], &args[i]);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(places[4]) % 64, 0u);
  Asked asked;
  std::memcpy(&asked, places[4], sizeof(asked));
  EXPECT_EQ(asked.address, 4096u);
  EXPECT_EQ(asked.dim_sizes[0], 24u);
  EXPECT_EQ(asked.dim_sizes[1], 1u);
  EXPECT_EQ(asked.dim_sizes[2], 6u);  // ceil(17 / 16) * 3
  EXPECT_EQ(asked.strides[0], 48u);
  EXPECT_EQ(asked.strides[1], 48u);
  EXPECT_EQ(asked.box[2], 128u);
  EXPECT_EQ(asked.swizzle, static_cast<uint32_t>(cuda::kSwizzle128Bytes));
}

TEST_F(KernelParametersTest, AMapIsMadeAnewWhereItsTensorIsAnother) {
  for (int i = 0; i < 3; ++i) Map(4096, 24, 17);
  EXPECT_EQ(encoded, 1);
  Map(4096, 24, 32);  // as many panels
  EXPECT_EQ(encoded, 1);
  Map(8192, 24, 32);
  EXPECT_EQ(encoded, 2);
  EXPECT_EQ(Map(8192, 32, 32).dim_sizes[0], 32u);
  EXPECT_EQ(encoded, 3);
}

TEST_F(KernelParametersTest, WhatCopiesCannotReadHasAMapOfZeros) {
  for (const auto& [address, k] : {std::pair<int64_t, int64_t>{4098, 24}, {4096, 25}}) {
    EXPECT_EQ(Map(address, k, 17).dim_sizes[0], 0u);
    ASSERT_EQ(result_, cuda::kSuccess);
  }
  EXPECT_EQ(encoded, 0);
}

TEST_F(KernelParametersTest, NoDimSizeIsZeroAndFailuresAreTheDrivers) {
  EXPECT_EQ(Map(4096, 8, 0).dim_sizes[2], 1u);
  Map(4096, 1008, 17);
  EXPECT_EQ(result_, cuda::kInvalidValue);
  EXPECT_EQ(Map(4096, 8, 0).dim_sizes[0], 8u);
}

}  // namespace
}  // namespace tailor

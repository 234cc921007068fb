// Holds exec/cuda/types.h against cuda.h, where there is one.
#include "exec/cuda/types.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <type_traits>

#if __has_include(<cuda.h>)
#include <cuda.h>

namespace tailor::cuda {
namespace {

static_assert(sizeof(DeviceNumber) == sizeof(CUdevice) && sizeof(Address) == sizeof(CUdeviceptr));
static_assert(sizeof(Context) == sizeof(CUcontext) && sizeof(Stream) == sizeof(CUstream));
static_assert(sizeof(Result) == sizeof(CUresult) && sizeof(JitOption) == sizeof(CUjit_option));
static_assert(sizeof(DeviceAttribute) == sizeof(CUdevice_attribute));
static_assert(sizeof(FunctionAttribute) == sizeof(CUfunction_attribute));
static_assert(sizeof(PointerAttribute) == sizeof(CUpointer_attribute) && sizeof(MemoryType) == sizeof(CUmemorytype));

// The number of an enumerator, whatever the enum.
template <typename A, typename B>
constexpr bool Equal(A a, B b) {
  return static_cast<long>(a) == static_cast<long>(b);
}
static_assert(Equal(kSuccess, CUDA_SUCCESS) && Equal(kInvalidValue, CUDA_ERROR_INVALID_VALUE));
static_assert(Equal(kOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY) && Equal(kNoDevice, CUDA_ERROR_NO_DEVICE));
static_assert(Equal(kInvalidDevice, CUDA_ERROR_INVALID_DEVICE) && Equal(kLaunchFailed, CUDA_ERROR_LAUNCH_FAILED));
static_assert(Equal(kInvalidImage, CUDA_ERROR_INVALID_IMAGE) && Equal(kInvalidContext, CUDA_ERROR_INVALID_CONTEXT));
static_assert(Equal(kNoBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU));
static_assert(Equal(kUnsupportedPtxVersion, CUDA_ERROR_UNSUPPORTED_PTX_VERSION));
static_assert(Equal(kInvalidHandle, CUDA_ERROR_INVALID_HANDLE) && Equal(kNotFound, CUDA_ERROR_NOT_FOUND));
static_assert(Equal(kLaunchOutOfResources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES));
static_assert(Equal(kCooperativeLaunchTooLarge, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE));
static_assert(Equal(kMultiprocessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
static_assert(Equal(kUnifiedAddressing, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING));
static_assert(Equal(kComputeCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
static_assert(Equal(kComputeCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
static_assert(Equal(kMaxSharedMemoryPerBlockOptin, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
static_assert(Equal(kMemoryPoolsSupported, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED));
static_assert(Equal(kSharedSizeBytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
static_assert(Equal(kMaxDynamicSharedSizeBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES));
static_assert(Equal(kMemoryType, CU_POINTER_ATTRIBUTE_MEMORY_TYPE));
static_assert(Equal(kDeviceOrdinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL));
static_assert(Equal(kMemoryHost, CU_MEMORYTYPE_HOST) && Equal(kMemoryDevice, CU_MEMORYTYPE_DEVICE));
static_assert(Equal(kNotReady, CUDA_ERROR_NOT_READY) && Equal(kLaunchCooperative, CU_LAUNCH_ATTRIBUTE_COOPERATIVE));
static_assert(sizeof(LaunchAttribute) == sizeof(CUlaunchAttributeID));
static_assert(sizeof(LaunchAttributeValue) == sizeof(CUlaunchAttributeValue));
static_assert(sizeof(KernelNodeParams) == sizeof(CUDA_KERNEL_NODE_PARAMS_v1));
static_assert(offsetof(KernelNodeParams, grid) == offsetof(CUDA_KERNEL_NODE_PARAMS_v1, gridDimX));
static_assert(offsetof(KernelNodeParams, block) == offsetof(CUDA_KERNEL_NODE_PARAMS_v1, blockDimX));
static_assert(offsetof(KernelNodeParams, shared_bytes) == offsetof(CUDA_KERNEL_NODE_PARAMS_v1, sharedMemBytes));
static_assert(offsetof(KernelNodeParams, parameters) == offsetof(CUDA_KERNEL_NODE_PARAMS_v1, kernelParams));
static_assert(offsetof(KernelNodeParams, extra) == offsetof(CUDA_KERNEL_NODE_PARAMS_v1, extra));
static_assert(Equal(kJitErrorLogBuffer, CU_JIT_ERROR_LOG_BUFFER));
static_assert(Equal(kJitErrorLogBufferSizeBytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES));
static_assert(kStreamNonBlocking == CU_STREAM_NON_BLOCKING && kEventDisableTiming == CU_EVENT_DISABLE_TIMING);
static_assert(kHostAllocPortable == CU_MEMHOSTALLOC_PORTABLE && kHostAllocDeviceMap == CU_MEMHOSTALLOC_DEVICEMAP);

static_assert(sizeof(EncodedTensorMap) == sizeof(CUtensorMap) && alignof(EncodedTensorMap) >= alignof(CUtensorMap));
static_assert(Equal(kTensorUint16, CU_TENSOR_MAP_DATA_TYPE_UINT16));
static_assert(Equal(kInterleaveNone, CU_TENSOR_MAP_INTERLEAVE_NONE));
static_assert(Equal(kSwizzle32Bytes, CU_TENSOR_MAP_SWIZZLE_32B) && Equal(kSwizzle64Bytes, CU_TENSOR_MAP_SWIZZLE_64B));
static_assert(Equal(kSwizzle128Bytes, CU_TENSOR_MAP_SWIZZLE_128B));
static_assert(Equal(kL2Promotion256Bytes, CU_TENSOR_MAP_L2_PROMOTION_L2_256B));
static_assert(Equal(kFillZeros, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));

TEST(CudaTypes, MarksOfLaunchParameters) {
  EXPECT_EQ(kLaunchParamEnd, CU_LAUNCH_PARAM_END);
  EXPECT_EQ(kLaunchParamBufferPointer, CU_LAUNCH_PARAM_BUFFER_POINTER);
  EXPECT_EQ(kLaunchParamBufferSize, CU_LAUNCH_PARAM_BUFFER_SIZE);
}

}  // namespace
}  // namespace tailor::cuda
#else
TEST(CudaTypes, EqualCudaH) { GTEST_SKIP() << "this machine has no cuda.h"; }
#endif

// Types and constants of the CUDA Driver API that Tailor uses, declared here so that building needs no CUDA toolkit.
// Names are cuda.h's without their prefix; tests/exec/cuda/types_test.cc compares them with the header.
#ifndef TAILOR_EXEC_CUDA_TYPES_H_
#define TAILOR_EXEC_CUDA_TYPES_H_

#include <cstddef>
#include <cstdint>

namespace tailor::cuda {

using DeviceNumber = int;                       // CUdevice
using Address = unsigned long long;             // CUdeviceptr: a device address, unique in the process
using Context = struct CUctx_st*;               // CUcontext
using Module = struct CUmod_st*;                // CUmodule
using Function = struct CUfunc_st*;             // CUfunction
using Stream = struct CUstream_st*;             // CUstream
using MemoryPool = struct CUmemPoolHandle_st*;  // CUmemoryPool
using Event = struct CUevent_st*;               // CUevent
using DriverGraph = struct CUgraph_st*;         // CUgraph
using GraphNode = struct CUgraphNode_st*;       // CUgraphNode
using GraphExec = struct CUgraphExec_st*;       // CUgraphExec: an executable graph
using HostFunction = void (*)(void* user);      // CUhostFn

enum Result : int {  // CUresult
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kNoBinaryForGpu = 209,
  kUnsupportedPtxVersion = 222,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kLaunchOutOfResources = 701,
  kLaunchFailed = 719,
  kCooperativeLaunchTooLarge = 720,
};

enum DeviceAttribute : int {
  kMultiprocessorCount = 16,
  kUnifiedAddressing = 41,
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
  kMaxSharedMemoryPerBlockOptin = 97,
  kMemoryPoolsSupported = 115,
};

enum FunctionAttribute : int {
  kSharedSizeBytes = 1,
  kMaxDynamicSharedSizeBytes = 8,
};

enum PointerAttribute : int {
  kMemoryType = 2,
  kDeviceOrdinal = 9,
};

enum MemoryType : unsigned {
  kMemoryHost = 1,
  kMemoryDevice = 2,
};

enum JitOption : int {
  kJitErrorLogBuffer = 5,
  kJitErrorLogBufferSizeBytes = 6,
};

enum LaunchAttribute : int {
  kLaunchCooperative = 2,
};

union LaunchAttributeValue {  // CUlaunchAttributeValue
  char bytes[64];
  int cooperative;
};

struct KernelNodeParams {  // CUDA_KERNEL_NODE_PARAMS_v1
  Function function;
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  void** parameters;
  void** extra;
};

// CUtensorMap: opaque, encoded by the driver. Aligned as in the latest driver headers.
struct alignas(128) EncodedTensorMap {
  std::byte bytes[128];
};

enum TensorMapDataType : int {
  kTensorUint16 = 1,
};

enum TensorMapInterleave : int {
  kInterleaveNone = 0,
};

enum TensorMapSwizzle : int {
  kSwizzleNone = 0,
  kSwizzle32Bytes = 1,
  kSwizzle64Bytes = 2,
  kSwizzle128Bytes = 3,
};

enum TensorMapL2Promotion : int {
  kL2Promotion256Bytes = 3,
};

enum TensorMapFill : int {
  kFillZeros = 0,
};

inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventDisableTiming = 2;
inline constexpr unsigned kHostAllocPortable = 1;
inline constexpr unsigned kHostAllocDeviceMap = 2;

// Marks in the last argument of cuLaunchKernel.
inline void* const kLaunchParamEnd = nullptr;
inline void* const kLaunchParamBufferPointer = reinterpret_cast<void*>(1);
inline void* const kLaunchParamBufferSize = reinterpret_cast<void*>(2);

}  // namespace tailor::cuda

#endif  // TAILOR_EXEC_CUDA_TYPES_H_

// CudaDriver: the CUDA Driver API, loaded at run time, so that one runtime library serves machines with and without it.
// A loaded driver is immutable and thread-safe, and stays loaded.
#ifndef TAILOR_EXEC_CUDA_DRIVER_H_
#define TAILOR_EXEC_CUDA_DRIVER_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "exec/cuda/types.h"
#include "exec/failure.h"

namespace tailor {

// All functions of the driver that Tailor calls: name here, symbol with these parameters, parameters.
#define TAILOR_CUDA_FUNCTIONS(F)                                                                                      \
  F(Init, "cuInit", (unsigned flags))                                                                                 \
  F(DriverGetVersion, "cuDriverGetVersion", (int* version))                                                           \
  F(GetErrorName, "cuGetErrorName", (cuda::Result result, const char** name))                                         \
  F(GetErrorString, "cuGetErrorString", (cuda::Result result, const char** text))                                     \
  F(DeviceGetCount, "cuDeviceGetCount", (int* count))                                                                 \
  F(DeviceGet, "cuDeviceGet", (cuda::DeviceNumber * device, int ordinal))                                             \
  F(DeviceGetName, "cuDeviceGetName", (char* name, int size, cuda::DeviceNumber device))                              \
  F(DeviceGetAttribute, "cuDeviceGetAttribute",                                                                       \
    (int* value, cuda::DeviceAttribute attribute, cuda::DeviceNumber device))                                         \
  F(DeviceTotalMem, "cuDeviceTotalMem_v2", (size_t * bytes, cuda::DeviceNumber device))                               \
  F(DevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (cuda::Context * context, cuda::DeviceNumber device))         \
  F(CtxGetCurrent, "cuCtxGetCurrent", (cuda::Context * context))                                                      \
  F(CtxSetCurrent, "cuCtxSetCurrent", (cuda::Context context))                                                        \
  F(DeviceGetDefaultMemPool, "cuDeviceGetDefaultMemPool", (cuda::MemoryPool * pool, cuda::DeviceNumber device))       \
  F(MemPoolTrimTo, "cuMemPoolTrimTo", (cuda::MemoryPool pool, size_t bytes_to_keep))                                  \
  F(MemAlloc, "cuMemAlloc_v2", (cuda::Address * address, size_t bytes))                                               \
  F(MemFree, "cuMemFree_v2", (cuda::Address address))                                                                 \
  F(MemAllocAsync, "cuMemAllocAsync", (cuda::Address * address, size_t bytes, cuda::Stream stream))                   \
  F(MemFreeAsync, "cuMemFreeAsync", (cuda::Address address, cuda::Stream stream))                                     \
  F(MemHostAlloc, "cuMemHostAlloc", (void** data, size_t bytes, unsigned flags))                                      \
  F(MemFreeHost, "cuMemFreeHost", (void* data))                                                                       \
  F(PointerGetAttribute, "cuPointerGetAttribute",                                                                     \
    (void* value, cuda::PointerAttribute attribute, cuda::Address address))                                           \
  F(MemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", (cuda::Address to, const void* from, size_t bytes, cuda::Stream stream)) \
  F(MemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", (void* to, cuda::Address from, size_t bytes, cuda::Stream stream))       \
  F(MemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2",                                                                          \
    (cuda::Address to, cuda::Address from, size_t bytes, cuda::Stream stream))                                        \
  F(ModuleLoadDataEx, "cuModuleLoadDataEx",                                                                           \
    (cuda::Module * module, const void* image, unsigned count, cuda::JitOption* options, void** values))              \
  F(ModuleUnload, "cuModuleUnload", (cuda::Module module))                                                            \
  F(ModuleGetFunction, "cuModuleGetFunction", (cuda::Function * function, cuda::Module module, const char* name))     \
  F(FuncGetAttribute, "cuFuncGetAttribute", (int* value, cuda::FunctionAttribute attribute, cuda::Function function)) \
  F(FuncSetAttribute, "cuFuncSetAttribute", (cuda::Function function, cuda::FunctionAttribute attribute, int value))  \
  F(OccupancyMaxActiveBlocksPerMultiprocessor, "cuOccupancyMaxActiveBlocksPerMultiprocessor",                         \
    (int* blocks, cuda::Function function, int threads, size_t shared_bytes))                                         \
  F(LaunchKernel, "cuLaunchKernel",                                                                                   \
    (cuda::Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,  \
     unsigned block_z, unsigned shared_bytes, cuda::Stream stream, void** parameters, void** extra))                  \
  F(LaunchCooperativeKernel, "cuLaunchCooperativeKernel",                                                             \
    (cuda::Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,  \
     unsigned block_z, unsigned shared_bytes, cuda::Stream stream, void** parameters))                                \
  F(StreamCreate, "cuStreamCreate", (cuda::Stream * stream, unsigned flags))                                          \
  F(StreamDestroy, "cuStreamDestroy_v2", (cuda::Stream stream))                                                       \
  F(StreamSynchronize, "cuStreamSynchronize", (cuda::Stream stream))                                                  \
  F(StreamGetCtx, "cuStreamGetCtx", (cuda::Stream stream, cuda::Context * context))                                   \
  F(StreamQuery, "cuStreamQuery", (cuda::Stream stream))                                                              \
  F(StreamWaitEvent, "cuStreamWaitEvent", (cuda::Stream stream, cuda::Event event, unsigned flags))                   \
  F(LaunchHostFunc, "cuLaunchHostFunc", (cuda::Stream stream, cuda::HostFunction function, void* user))               \
  F(EventCreate, "cuEventCreate", (cuda::Event * event, unsigned flags))                                              \
  F(EventDestroy, "cuEventDestroy_v2", (cuda::Event event))                                                           \
  F(EventRecord, "cuEventRecord", (cuda::Event event, cuda::Stream stream))                                           \
  F(CtxSynchronize, "cuCtxSynchronize", ())

// Functions for CUDA graphs, missing in older drivers: either all are present or none is used.
#define TAILOR_CUDA_GRAPH_FUNCTIONS(F)                                                                               \
  F(GraphCreate, "cuGraphCreate", (cuda::DriverGraph * graph, unsigned flags))                                       \
  F(GraphDestroy, "cuGraphDestroy", (cuda::DriverGraph graph))                                                       \
  F(GraphAddKernelNode, "cuGraphAddKernelNode",                                                                      \
    (cuda::GraphNode * node, cuda::DriverGraph graph, const cuda::GraphNode* after, size_t after_count,              \
     const cuda::KernelNodeParams* params))                                                                          \
  F(GraphKernelNodeSetAttribute, "cuGraphKernelNodeSetAttribute",                                                    \
    (cuda::GraphNode node, cuda::LaunchAttribute attribute, const cuda::LaunchAttributeValue* value))                \
  F(GraphInstantiateWithFlags, "cuGraphInstantiateWithFlags",                                                        \
    (cuda::GraphExec * exec, cuda::DriverGraph graph, unsigned long long flags))                                     \
  F(GraphExecDestroy, "cuGraphExecDestroy", (cuda::GraphExec exec))                                                  \
  F(GraphExecKernelNodeSetParams, "cuGraphExecKernelNodeSetParams",                                                  \
    (cuda::GraphExec exec, cuda::GraphNode node, const cuda::KernelNodeParams* params))                              \
  F(GraphNodeSetEnabled, "cuGraphNodeSetEnabled", (cuda::GraphExec exec, cuda::GraphNode node, unsigned is_enabled)) \
  F(GraphLaunch, "cuGraphLaunch", (cuda::GraphExec exec, cuda::Stream stream))

// Functions of later drivers; null if missing.
#define TAILOR_CUDA_LATER_FUNCTIONS(F)                                                                           \
  F(TensorMapEncodeTiled, "cuTensorMapEncodeTiled", /* CUDA 12.0 */                                              \
    (cuda::EncodedTensorMap * map, cuda::TensorMapDataType type, uint32_t rank, void* address,                   \
     const uint64_t* dim_sizes, const uint64_t* strides, const uint32_t* box, const uint32_t* element_strides,   \
     cuda::TensorMapInterleave interleave, cuda::TensorMapSwizzle swizzle, cuda::TensorMapL2Promotion promotion, \
     cuda::TensorMapFill fill))

struct CudaDriver {
#define TAILOR_CUDA_MEMBER(name, symbol, parameters) cuda::Result(*name) parameters = nullptr;
  TAILOR_CUDA_FUNCTIONS(TAILOR_CUDA_MEMBER)
  TAILOR_CUDA_GRAPH_FUNCTIONS(TAILOR_CUDA_MEMBER)
  TAILOR_CUDA_LATER_FUNCTIONS(TAILOR_CUDA_MEMBER)
#undef TAILOR_CUDA_MEMBER

  // Whether all graph functions are present (CUDA 11.6 or later).
  bool has_graphs = false;

  // Loads LLVM bitcode that calls the device intrinsics. Exported only by the emulator of Tailor's tests, as
  // tailor_emulator_load_ir; null in NVIDIA's driver.
  cuda::Result (*LoadIr)(cuda::Module* module, const void* bytes, size_t size) = nullptr;

  // Binds all functions to the library `path` and initialises it. FAILED_PRECONDITION with the reason: no such library,
  // a missing function, or a failed initialisation.
  static Failure Load(const std::string& path, CudaDriver* out);
};

// The environment variable TAILOR_CUDA_DRIVER, else "libcuda.so.1".
std::string CudaDriverPath();

// The one conversion of driver results: `call` failed with `result` while doing `purpose`, as in "cuMemAlloc_v2 for the
// constants: CUDA_ERROR_OUT_OF_MEMORY: out of memory". RESOURCE_EXHAUSTED if memory is out, else INTERNAL. No failure
// for kSuccess.
Failure CudaFailure(const CudaDriver& driver, cuda::Result result, const char* call, const std::string& purpose);

}  // namespace tailor

#endif  // TAILOR_EXEC_CUDA_DRIVER_H_

// The exported functions of devices, memory and modules. Each returns a real driver's error for bad arguments, and
// complains where a real driver would not notice.
#include "tests/emulator/fake_driver.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "exec/cuda/driver.h"
#include "tests/emulator/encode_tensor_map.h"
#include "tests/emulator/fake_calls.h"
#include "tests/emulator/fake_state.h"

namespace tailor::fake_cuda {
namespace {

using cuda::Address;
using cuda::Result;

void* PointerTo(Address address) { return reinterpret_cast<void*>(address); }

// Whether [address, address + bytes) is allocated on the stream's device; complains if it is not.
bool CheckRange(FakeStream* stream, Address address, size_t bytes, const char* call) {
  uintptr_t begin = 0;
  uint64_t size = 0;
  const bool found = stream->device->memory.Find(PointerTo(address), &begin, &size);
  if (found && bytes <= size && address - begin <= size - bytes) return true;
  state().Complain(std::string(call) + " outside of what is allocated");
  return false;
}

Result Allocate(Address* address, size_t bytes) {
  if (state().broken != cuda::kSuccess) return state().broken;
  if (current == nullptr) return cuda::kInvalidContext;
  if (bytes == 0) return cuda::kInvalidValue;
  if (bytes > state().options.memory - std::min(state().options.memory, current->memory.used())) {
    return cuda::kOutOfMemory;
  }
  void* data = current->memory.Allocate(bytes);
  if (data == nullptr) return cuda::kOutOfMemory;
  ++state().counts.total_allocations;
  *address = reinterpret_cast<Address>(data);
  return cuda::kSuccess;
}

void Free(FakeDevice* device, Address address) {
  if (!device->memory.Free(PointerTo(address))) state().Complain("memory freed that is not allocated");
}

Result LoadKernels(cuda::Module* out, std::string_view bitcode) {
  std::unique_ptr<Kernels> kernels =
      Kernels::Load(bitcode, [](uint64_t address) { return state().FindMemory(address); });
  if (kernels == nullptr) return cuda::kInvalidImage;
  auto* module = new FakeModule{std::move(kernels)};
  state().modules.insert(module);
  *out = reinterpret_cast<cuda::Module>(module);
  return cuda::kSuccess;
}

}  // namespace
}  // namespace tailor::fake_cuda

using namespace tailor;
using namespace tailor::cuda;
using namespace tailor::fake_cuda;

extern "C" {

Result tailor_emulator_load_ir(Module* module, const void* bytes, size_t size) {
  const Lock lock(state().mutex);
  return LoadKernels(module, {static_cast<const char*>(bytes), size});
}

Result cuInit(unsigned) {
  const Lock lock(state().mutex);
  state().Initialise();
  return state().options.devices > 0 ? kSuccess : kNoDevice;
}

Result cuDriverGetVersion(int* version) {
  *version = state().options.driver;
  return kSuccess;
}

Result cuGetErrorName(Result result, const char** name) {
  switch (static_cast<int>(result)) {
    case kInvalidValue:
      return *name = "CUDA_ERROR_INVALID_VALUE", kSuccess;
    case kOutOfMemory:
      return *name = "CUDA_ERROR_OUT_OF_MEMORY", kSuccess;
    case kNoDevice:
      return *name = "CUDA_ERROR_NO_DEVICE", kSuccess;
    case kNoBinaryForGpu:
      return *name = "CUDA_ERROR_NO_BINARY_FOR_GPU", kSuccess;
    case kUnsupportedPtxVersion:
      return *name = "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", kSuccess;
    case kLaunchOutOfResources:
      return *name = "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", kSuccess;
    case kLaunchFailed:
      return *name = "CUDA_ERROR_LAUNCH_FAILED", kSuccess;
    default:
      return kInvalidValue;
  }
}

Result cuGetErrorString(Result, const char**) { return kInvalidValue; }

Result cuDeviceGetCount(int* count) {
  *count = state().options.devices;
  return kSuccess;
}

Result cuDeviceGet(DeviceNumber* device, int ordinal) {
  *device = ordinal;
  return ordinal >= 0 && ordinal < state().options.devices ? kSuccess : kInvalidDevice;
}

Result cuDeviceGetName(char* name, int size, DeviceNumber) {
  std::snprintf(name, static_cast<size_t>(size), "Tailor emulator");
  return kSuccess;
}

Result cuDeviceGetAttribute(int* value, DeviceAttribute attribute, DeviceNumber) {
  const Options& options = state().options;
  switch (attribute) {
    case kMultiprocessorCount:
      return *value = options.multiprocessors, kSuccess;
    case kUnifiedAddressing:
      return *value = 1, kSuccess;
    case kComputeCapabilityMajor:
      return *value = options.major, kSuccess;
    case kComputeCapabilityMinor:
      return *value = options.minor, kSuccess;
    case kMaxSharedMemoryPerBlockOptin:
      return *value = options.shared, kSuccess;
    case kMemoryPoolsSupported:
      return *value = options.pools, kSuccess;
  }
  return kInvalidValue;
}

Result cuDeviceTotalMem_v2(size_t* bytes, DeviceNumber) {
  *bytes = state().options.memory;
  return kSuccess;
}

Result cuDevicePrimaryCtxRetain(Context* context, DeviceNumber device) {
  const Lock lock(state().mutex);
  *context = reinterpret_cast<Context>(state().devices[static_cast<size_t>(device)].get());
  return kSuccess;
}

Result cuCtxGetCurrent(Context* context) {
  *context = reinterpret_cast<Context>(current);
  return kSuccess;
}

Result cuCtxSetCurrent(Context context) {
  current = reinterpret_cast<FakeDevice*>(context);
  return kSuccess;
}

Result cuDeviceGetDefaultMemPool(MemoryPool* pool, DeviceNumber) {
  *pool = nullptr;
  return kSuccess;
}

Result cuMemPoolTrimTo(MemoryPool, size_t) { return kSuccess; }

Result cuMemAlloc_v2(Address* address, size_t bytes) {
  const Lock lock(state().mutex);
  return Allocate(address, bytes);
}

Result cuMemFree_v2(Address address) {
  const Lock lock(state().mutex);
  if (current == nullptr) return kInvalidContext;
  state().Finish(nullptr);
  Free(current, address);
  return state().broken;
}

Result cuMemAllocAsync(Address* address, size_t bytes, Stream stream) {
  const Lock lock(state().mutex);
  if (state().options.pools == 0) return kInvalidValue;
  if (Result bad = CheckStream(StreamOf(stream)); bad != kSuccess) return bad;
  return Allocate(address, bytes);
}

Result cuMemFreeAsync(Address address, Stream stream) {
  const Lock lock(state().mutex);
  if (Result bad = CheckStream(StreamOf(stream)); bad != kSuccess) return bad;
  state().Enqueue(StreamOf(stream), [device = current, address] { Free(device, address); });
  return kSuccess;
}

Result cuMemHostAlloc(void** data, size_t bytes, unsigned) {
  const Lock lock(state().mutex);
  if (current == nullptr) return kInvalidContext;
  *data = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  state().host_memory[reinterpret_cast<uintptr_t>(*data)] = bytes;
  return kSuccess;
}

Result cuMemFreeHost(void* data) {
  const Lock lock(state().mutex);
  if (state().counts.pending > 0) state().Complain("host memory freed while work is pending");
  if (state().host_memory.erase(reinterpret_cast<uintptr_t>(data)) == 0) {
    state().Complain("host memory freed that is not allocated");
    return kInvalidValue;
  }
  std::free(data);
  return kSuccess;
}

Result cuPointerGetAttribute(void* value, PointerAttribute attribute, Address address) {
  const Lock lock(state().mutex);
  FakeDevice* device = state().DeviceOf(PointerTo(address));
  if (device == nullptr && (!state().IsHostMemory(PointerTo(address)) || attribute != kMemoryType)) {
    return kInvalidValue;
  }
  switch (attribute) {
    case kMemoryType:
      return *static_cast<unsigned*>(value) = device != nullptr ? kMemoryDevice : kMemoryHost, kSuccess;
    case kDeviceOrdinal:
      return *static_cast<int*>(value) = device->ordinal, kSuccess;
  }
  return kInvalidValue;
}

Result cuMemcpyHtoDAsync_v2(Address to, const void* from, size_t bytes, Stream stream) {
  const Lock lock(state().mutex);
  FakeStream* in = StreamOf(stream);
  if (Result bad = CheckStream(in); bad != kSuccess) return bad;
  if (!CheckRange(in, to, bytes, "cuMemcpyHtoDAsync")) return kInvalidValue;
  if (state().IsHostMemory(from)) {
    state().Enqueue(in, [=] { std::memcpy(PointerTo(to), from, bytes); });
    return kSuccess;
  }
  const auto* first = static_cast<const char*>(from);
  state().Enqueue(in, [to, staged = std::string(first, first + bytes)] {
    std::memcpy(PointerTo(to), staged.data(), staged.size());
  });
  return kSuccess;
}

Result cuMemcpyDtoHAsync_v2(void* to, Address from, size_t bytes, Stream stream) {
  const Lock lock(state().mutex);
  FakeStream* in = StreamOf(stream);
  if (Result bad = CheckStream(in); bad != kSuccess) return bad;
  if (!CheckRange(in, from, bytes, "cuMemcpyDtoHAsync")) return kInvalidValue;
  state().Enqueue(in, [=] { std::memcpy(to, PointerTo(from), bytes); });
  return kSuccess;
}

Result cuMemcpyDtoDAsync_v2(Address to, Address from, size_t bytes, Stream stream) {
  const Lock lock(state().mutex);
  FakeStream* in = StreamOf(stream);
  if (Result bad = CheckStream(in); bad != kSuccess) return bad;
  if (!CheckRange(in, from, bytes, "cuMemcpyDtoDAsync") || !CheckRange(in, to, bytes, "cuMemcpyDtoDAsync")) {
    return kInvalidValue;
  }
  state().Enqueue(in, [=] { std::memmove(PointerTo(to), PointerTo(from), bytes); });
  return kSuccess;
}

Result cuModuleLoadDataEx(Module* module, const void* image, unsigned count, JitOption* options, void** values) {
  const Lock lock(state().mutex);
  if (current == nullptr) return kInvalidContext;
  const bool cubin = IsCubin(image);
  const int answer = cubin ? state().options.cubin : state().options.ptx;
  if (answer == 0) return LoadKernels(module, BitcodeOfImage(image));
  for (unsigned i = 0; !cubin && i < count; ++i) {
    if (options[i] == kJitErrorLogBuffer)
      std::strcpy(static_cast<char*>(values[i]), "the fake assembler is told to fail");
  }
  return static_cast<Result>(answer);
}

Result cuTensorMapEncodeTiled(EncodedTensorMap* map, TensorMapDataType type, uint32_t rank, void* address,
                              const uint64_t* dim_sizes, const uint64_t* strides, const uint32_t* box,
                              const uint32_t* element_strides, TensorMapInterleave interleave, TensorMapSwizzle swizzle,
                              TensorMapL2Promotion promotion, TensorMapFill fill) {
  const Lock lock(state().mutex);
  ++state().counts.total_maps;
  return EncodeTensorMap(map, type, rank, address, dim_sizes, strides, box, element_strides, interleave, swizzle,
                         promotion, fill);
}

Result cuModuleUnload(Module module) {
  const Lock lock(state().mutex);
  auto* unloaded = reinterpret_cast<FakeModule*>(module);
  if (state().modules.erase(unloaded) == 0) return kInvalidHandle;
  if (state().counts.pending > 0) state().Complain("a module unloaded while work is pending");
  for (auto it = state().functions.begin(); it != state().functions.end();) {
    FakeFunction* function = *it;
    if (function->module != unloaded) {
      ++it;
      continue;
    }
    it = state().functions.erase(it);
    delete function;
  }
  delete unloaded;
  return kSuccess;
}

Result cuModuleGetFunction(Function* out, Module module, const char* name) {
  const Lock lock(state().mutex);
  auto* loaded = reinterpret_cast<FakeModule*>(module);
  if (loaded->kernels->Parameters(name) < 0) return kNotFound;
  auto* function = new FakeFunction{loaded, name};
  state().functions.insert(function);
  *out = reinterpret_cast<Function>(function);
  return kSuccess;
}

Result cuFuncGetAttribute(int* value, FunctionAttribute, Function) {
  *value = 0;
  return kSuccess;
}

Result cuFuncSetAttribute(Function function, FunctionAttribute attribute, int value) {
  const Lock lock(state().mutex);
  if (attribute != kMaxDynamicSharedSizeBytes || value < 0 || value > state().options.shared) return kInvalidValue;
  reinterpret_cast<FakeFunction*>(function)->most_shared_bytes = value;
  return kSuccess;
}

}  // extern "C"

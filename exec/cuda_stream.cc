#include "exec/cuda_stream.h"

#include <algorithm>
#include <climits>
#include <cstring>

namespace tailor {
namespace {

cuda::Address AddressOf(const void* data) { return reinterpret_cast<cuda::Address>(data); }

}  // namespace

CudaStream::CudaStream(const CudaProgram& program)
    : program_(program),
      device_(program.device()),
      driver_(device_.driver()),
      memory_{[](void* self, size_t bytes, size_t) { return static_cast<CudaStream*>(self)->Allocate(bytes); },
              [](void* self, void* data, size_t) { static_cast<CudaStream*>(self)->Deallocate(data); }, this} {
  int32_t most = 0;
  for (const DeviceKernel& kernel : program.variant().device_kernels) most = std::max(most, kernel.parameters);
  parameters_.resize(most);
}

Failure CudaStream::Create(const CudaProgram& program, void* native, std::unique_ptr<DeviceStream>* out) {
  const CurrentContext current(program.device());
  std::unique_ptr<CudaStream> made(new CudaStream(program));
  const CudaDriver& driver = made->driver_;
  if (native == nullptr) {
    Failure f = CudaFailure(driver, driver.StreamCreate(&made->stream_, cuda::kStreamNonBlocking), "cuStreamCreate",
                            "a session");
    if (!f.ok()) return f;
    made->own_ = true;
  } else {
    cuda::Context context = nullptr;
    made->stream_ = static_cast<cuda::Stream>(native);
    Failure f = CudaFailure(driver, driver.StreamGetCtx(made->stream_, &context), "cuStreamGetCtx", "options.stream");
    if (!f.ok() || context != made->device_.context()) {
      made->stream_ = nullptr;
      return {Code::kInvalidArgument,
              "options.stream is no stream of device " + std::to_string(made->device_.info().ordinal) +
                  "'s primary context" + (f.ok() ? "" : ": " + f.message),
              ""};
    }
  }
  if (Failure f = made->MakeMemo(); !f.ok()) return f;
  *out = std::move(made);
  return {};
}

Failure CudaStream::MakeMemo() {
  const uint64_t bytes = std::max<uint64_t>(program_.variant().memo_slots, 1) * sizeof(int64_t);
  void* data = nullptr;
  const auto result = driver_.MemHostAlloc(&data, bytes, cuda::kHostAllocPortable | cuda::kHostAllocDeviceMap);
  if (result != cuda::kSuccess) return CudaFailure(driver_, result, "cuMemHostAlloc", "a session's memo");
  std::memset(data, 0, bytes);
  memo_ = static_cast<int64_t*>(data);
  return {};
}

CudaStream::~CudaStream() {
  const CurrentContext current(device_);
  if (stream_ != nullptr) driver_.StreamSynchronize(stream_);
  if (memo_ != nullptr) driver_.MemFreeHost(memo_);
  if (own_) driver_.StreamDestroy(stream_);
}

void* CudaStream::Enter() {
  failed_ = {};
  cuda::Context before = nullptr;
  driver_.CtxGetCurrent(&before);
  if (before != device_.context()) driver_.CtxSetCurrent(device_.context());
  return before;
}

void CudaStream::Leave(void* entered) {
  if (entered != device_.context()) driver_.CtxSetCurrent(static_cast<cuda::Context>(entered));
}

void* CudaStream::Allocate(size_t bytes) {
  const CurrentContext current(device_);
  const auto allocate = [&] {
    cuda::Address address = 0;
    const auto result = device_.info().memory_pools ? driver_.MemAllocAsync(&address, bytes, stream_)
                                                    : driver_.MemAlloc(&address, bytes);
    return result == cuda::kSuccess ? reinterpret_cast<void*>(address) : nullptr;
  };
  if (void* data = allocate()) return data;
  // What other streams have freed may still be waiting for them, or in the pool.
  driver_.StreamSynchronize(stream_);
  device_.TrimPool();
  return allocate();
}

void CudaStream::Deallocate(void* data) {
  const CurrentContext current(device_);
  if (device_.info().memory_pools) {
    driver_.MemFreeAsync(AddressOf(data), stream_);
  } else {
    driver_.StreamSynchronize(stream_);
    driver_.MemFree(AddressOf(data));
  }
}

std::string CudaStream::ProblemWithMemory(const void* data, uint64_t bytes) const {
  int ordinal = -1;
  if (!IsDeviceMemory(data)) return "it is not device memory";
  if (driver_.PointerGetAttribute(&ordinal, cuda::kDeviceOrdinal, AddressOf(data)) != cuda::kSuccess ||
      ordinal != device_.info().ordinal) {
    return "it is memory of device " + std::to_string(ordinal) + ", not of device " +
           std::to_string(device_.info().ordinal);
  }
  // Memory may be mapped piece by piece, so that its first piece need not hold it all.
  const void* last = static_cast<const char*>(data) + bytes - 1;
  return IsDeviceMemory(last) ? "" : "the last of its " + std::to_string(bytes) + " bytes is not device memory";
}

bool CudaStream::IsDeviceMemory(const void* data) const {
  unsigned type = 0;
  return driver_.PointerGetAttribute(&type, cuda::kMemoryType, AddressOf(data)) == cuda::kSuccess &&
         type == cuda::kMemoryDevice;
}

bool CudaStream::Note(const Failed& failed) {
  if (failed.result == cuda::kSuccess) [[likely]]
    return true;
  if (failed_.result == cuda::kSuccess) failed_ = failed;
  return false;
}

bool CudaStream::Upload(void* to, const void* from, uint64_t bytes) {
  return Check(driver_.MemcpyHtoDAsync(AddressOf(to), from, bytes, stream_), "cuMemcpyHtoDAsync");
}

bool CudaStream::Download(void* to, const void* from, uint64_t bytes) {
  return Check(driver_.MemcpyDtoHAsync(to, AddressOf(from), bytes, stream_), "cuMemcpyDtoHAsync");
}

bool CudaStream::Copy(void* to, const void* from, uint64_t bytes) {
  return Check(driver_.MemcpyDtoDAsync(AddressOf(to), AddressOf(from), bytes, stream_), "cuMemcpyDtoDAsync");
}

bool CudaStream::Launch(int32_t number, const int64_t* args, const LaunchGrid& grid) {
  const CudaProgram::Kernel& kernel = program_.kernel(number);
  size_t bytes = kernel.described->parameters * sizeof(int64_t);
  void* extra[] = {cuda::kLaunchParamBufferPointer, const_cast<int64_t*>(args), cuda::kLaunchParamBufferSize, &bytes,
                   cuda::kLaunchParamEnd};
  cuda::Result result = cuda::kInvalidValue;
  const char* call = "cuLaunchKernel";
  if (grid.blocks > INT_MAX || grid.shared_bytes > INT_MAX) {
    // More than any device has; the driver would see their low halves.
  } else if (grid.together != 0) {
    call = "cuLaunchCooperativeKernel";
    result = LaunchTogether(kernel, args, grid);
  } else {
    result = driver_.LaunchKernel(kernel.function, static_cast<unsigned>(grid.blocks), 1, 1,
                                  static_cast<unsigned>(kernel.described->threads), 1, 1,
                                  static_cast<unsigned>(grid.shared_bytes), stream_, nullptr, extra);
  }
  return Note({result, call, number, grid});
}

cuda::Result CudaStream::LaunchTogether(const CudaProgram::Kernel& kernel, const int64_t* args,
                                        const LaunchGrid& grid) {
  // The driver takes parameters one by one here.
  for (int32_t i = 0; i < kernel.described->parameters; ++i) parameters_[i] = const_cast<int64_t*>(&args[i]);
  return driver_.LaunchCooperativeKernel(kernel.function, static_cast<unsigned>(grid.blocks), 1, 1,
                                         static_cast<unsigned>(kernel.described->threads), 1, 1,
                                         static_cast<unsigned>(grid.shared_bytes), stream_, parameters_.data());
}

bool CudaStream::Wait() { return Check(driver_.StreamSynchronize(stream_), "cuStreamSynchronize"); }

std::string CudaStream::DescribeLaunch() const {
  const DeviceKernel& kernel = *program_.kernel(failed_.kernel).described;
  return "kernel " + kernel.symbol + " of " + std::to_string(failed_.grid.blocks) + " blocks of " +
         std::to_string(kernel.threads) + " threads with " + std::to_string(failed_.grid.shared_bytes) +
         " bytes of shared memory";
}

Failure CudaStream::FirstFailure() const {
  const std::string device = "device " + std::to_string(device_.info().ordinal);
  if (failed_.kernel < 0) return CudaFailure(driver_, failed_.result, failed_.call, "a run on " + device);
  Failure f = CudaFailure(driver_, failed_.result, failed_.call, DescribeLaunch());
  if (failed_.result != cuda::kCooperativeLaunchTooLarge) return f;
  const CudaProgram::Kernel& kernel = program_.kernel(failed_.kernel);
  const CurrentContext current(device_);
  int blocks = 0;
  driver_.OccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel.function, kernel.described->threads,
                                                    static_cast<size_t>(failed_.grid.shared_bytes));
  return {Code::kFailedPrecondition,
          DescribeLaunch() + " has all blocks run at once, but " + device + " holds " +
              std::to_string(int64_t{blocks} * device_.info().multiprocessors),
          ""};
}

}  // namespace tailor

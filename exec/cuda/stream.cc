#include "exec/cuda/stream.h"

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
              [](void* self, void* data, size_t) { static_cast<CudaStream*>(self)->Deallocate(data); }, this},
      kernel_parameters_(driver_, program.variant().device_kernels),
      parameters_(program.most_parameters()) {}

Failure CudaStream::Create(const CudaProgram& program, const StreamOptions& options,
                           std::unique_ptr<DeviceStream>* out) {
  const CurrentContext current(program.device());
  std::unique_ptr<CudaStream> made(new CudaStream(program));
  const CudaDriver& driver = made->driver_;
  if (options.native == nullptr) {
    Failure f = CudaFailure(driver, driver.StreamCreate(&made->stream_, cuda::kStreamNonBlocking), "cuStreamCreate",
                            "a session");
    if (!f.ok()) return f;
    made->own_ = true;
  } else {
    cuda::Context context = nullptr;
    made->stream_ = static_cast<cuda::Stream>(options.native);
    Failure f = CudaFailure(driver, driver.StreamGetCtx(made->stream_, &context), "cuStreamGetCtx", "options.stream");
    if (!f.ok() || context != made->device_.context()) {
      made->stream_ = nullptr;
      return {Code::kInvalidArgument,
              "options.stream is no stream of device " + std::to_string(made->device_.info().ordinal) +
                  "'s primary context" + (f.ok() ? "" : ": " + f.message),
              ""};
    }
  }
  if (options.graph) {
    if (Failure f = made->MakeGraph(); !f.ok()) return f;
  }
  if (Failure f = made->MakeShapeCache(); !f.ok()) return f;
  if (Failure f = made->MakeGridSync(); !f.ok()) return f;
  if (const CublasLt* library = program.gemm_library()) {
    Failure f = CudaGemms::Create(program, *library, made->stream_, made->memory_, &made->gemms_);
    if (!f.ok()) return f;
  }
  *out = std::move(made);
  return {};
}

Failure CudaStream::MakeGraph() {
  const char* problem = !driver_.has_graphs ? "the driver has no graphs that can be changed: it is older than CUDA 11.6"
                        : program_.variant().reads_back ? "the program reads results back in the middle of its runs"
                        : program_.gemm_library() != nullptr
                            ? "cuBLASLt computes products of the program, which a graph of its kernels cannot have"
                            : nullptr;
  if (problem != nullptr) return {Code::kFailedPrecondition, std::string("options.cuda_graph: ") + problem, ""};
  graphs_.push_back(std::make_unique<CudaGraph>(program_));
  return {};
}

Failure CudaStream::MakeShapeCache() {
  const uint64_t bytes = std::max<uint64_t>(program_.variant().shape_cache_slots, 1) * sizeof(int64_t);
  void* data = nullptr;
  const auto result = driver_.MemHostAlloc(&data, bytes, cuda::kHostAllocPortable | cuda::kHostAllocDeviceMap);
  if (result != cuda::kSuccess) return CudaFailure(driver_, result, "cuMemHostAlloc", "a session's shape cache");
  std::memset(data, 0, bytes);
  shape_cache_ = static_cast<int64_t*>(data);
  return {};
}

// Zeroed once: each cooperative kernel restores its initial state, and after a failed kernel nothing else runs.
Failure CudaStream::MakeGridSync() {
  static constexpr char kZeros[kGridSyncBytes] = {};
  const std::string purpose = "a session's barriers";
  void* data = Allocate(kGridSyncBytes);
  if (data == nullptr) return CudaFailure(driver_, cuda::kOutOfMemory, "cuMemAlloc", purpose);
  grid_sync_ = data;
  const auto copied = driver_.MemcpyHtoDAsync(AddressOf(data), kZeros, kGridSyncBytes, stream_);
  if (copied != cuda::kSuccess) return CudaFailure(driver_, copied, "cuMemcpyHtoDAsync", purpose);
  return CudaFailure(driver_, driver_.StreamSynchronize(stream_), "cuStreamSynchronize", purpose);
}

CudaStream::~CudaStream() {
  const CurrentContext current(device_);
  if (gemms_ != nullptr) {
    driver_.StreamSynchronize(stream_);
    gemms_.reset();
  }
  if (grid_sync_ != nullptr) Deallocate(grid_sync_);
  if (stream_ != nullptr) driver_.StreamSynchronize(stream_);
  graphs_.clear();
  if (shape_cache_ != nullptr) driver_.MemFreeHost(shape_cache_);
  if (own_) driver_.StreamDestroy(stream_);
}

void* CudaStream::Enter() {
  failed_ = {};
  if (!failed_gemm_.ok()) failed_gemm_ = {};
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
  // Memory freed by other streams may still be in use by them, or in the pool.
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
  // Memory may be mapped piecewise, so the piece of the first byte may be too short.
  const void* last = static_cast<const char*>(data) + bytes - 1;
  return IsDeviceMemory(last) ? "" : "the last of its " + std::to_string(bytes) + " bytes is not device memory";
}

bool CudaStream::IsDeviceMemory(const void* data) const {
  unsigned type = 0;
  return driver_.PointerGetAttribute(&type, cuda::kMemoryType, AddressOf(data)) == cuda::kSuccess &&
         type == cuda::kMemoryDevice;
}

bool CudaStream::Note(const CudaCall& call) {
  if (call.ok()) [[likely]]
    return true;
  if (failed_.ok()) failed_ = call;
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
  // Exceeds the limits of any device; the driver's 32-bit parameters would be truncated.
  if (grid.blocks > INT_MAX || grid.shared_bytes > INT_MAX)
    return Note({cuda::kInvalidValue, "cuLaunchKernel", number, grid});
  if (!graphs_.empty()) {
    return graphs_[graph_]->Add(number, args, grid) ||
           (LaunchGathered() && graphs_[graph_]->Add(number, args, grid));  // the graph was full
  }
  const CudaProgram::Kernel& kernel = program_.kernel(number);
  const auto blocks = static_cast<unsigned>(grid.blocks), threads = static_cast<unsigned>(kernel.described->threads),
             shared_bytes = static_cast<unsigned>(grid.shared_bytes);
  if (grid.cooperative == 0 && kernel.described->maps.empty()) {  // passes the argument block as a whole
    size_t bytes = kernel.described->parameters * sizeof(int64_t);
    void* extra[] = {cuda::kLaunchParamBufferPointer, const_cast<int64_t*>(args), cuda::kLaunchParamBufferSize, &bytes,
                     cuda::kLaunchParamEnd};
    return Note(
        {driver_.LaunchKernel(kernel.function, blocks, 1, 1, threads, 1, 1, shared_bytes, stream_, nullptr, extra),
         "cuLaunchKernel", number, grid});
  }
  void** const parameters = parameters_.data();
  if (const auto result = kernel_parameters_.Point(number, args, parameters); result != cuda::kSuccess) {
    return Note({result, "cuTensorMapEncodeTiled", number, grid});
  }
  if (grid.cooperative != 0) {
    return Note({driver_.LaunchCooperativeKernel(kernel.function, blocks, 1, 1, threads, 1, 1, shared_bytes, stream_,
                                                 parameters),
                 "cuLaunchCooperativeKernel", number, grid});
  }
  return Note(
      {driver_.LaunchKernel(kernel.function, blocks, 1, 1, threads, 1, 1, shared_bytes, stream_, parameters, nullptr),
       "cuLaunchKernel", number, grid});
}

bool CudaStream::Multiply(const GemmArgs& gemm) {
  Failure f = gemms_->Multiply(gemm);
  if (f.ok()) [[likely]]
    return true;
  if (failed_gemm_.ok()) failed_gemm_ = std::move(f);
  return false;
}

void CudaStream::BeginRun() {
  graph_ = 0;
  if (!graphs_.empty()) graphs_[0]->Begin();
}

bool CudaStream::LaunchGathered() {
  if (!EndRun()) return false;
  if (graphs_.empty()) return true;
  graph_ = (graph_ + 1) % kMostGraphs;  // a graph in flight keeps its parameters
  if (graph_ == graphs_.size()) graphs_.push_back(std::make_unique<CudaGraph>(program_));
  graphs_[graph_]->Begin();
  return true;
}

bool CudaStream::EndRun() { return graphs_.empty() || Note(graphs_[graph_]->Launch(stream_)); }

bool CudaStream::Wait() { return Check(driver_.StreamSynchronize(stream_), "cuStreamSynchronize"); }

DeviceStream::Progress CudaStream::Poll() {
  const auto result = driver_.StreamQuery(stream_);
  if (result == cuda::kNotReady) return Progress::kBusy;
  return Check(result, "cuStreamQuery") ? Progress::kDone : Progress::kFailed;
}

bool CudaStream::CallWhenDone(void (*function)(void* user), void* user) {
  return Check(driver_.LaunchHostFunc(stream_, function, user), "cuLaunchHostFunc");
}

bool CudaStream::WaitForEvent(void* event) {
  return Check(driver_.StreamWaitEvent(stream_, static_cast<cuda::Event>(event), 0), "cuStreamWaitEvent");
}

bool CudaStream::Record(void* event) {
  return Check(driver_.EventRecord(static_cast<cuda::Event>(event), stream_), "cuEventRecord");
}

bool CudaStream::MakeStreamWait(void* stream) {
  if (stream == stream_) return true;
  cuda::Event event = nullptr;
  if (!Check(driver_.EventCreate(&event, cuda::kEventDisableTiming), "cuEventCreate")) return false;
  const bool ok =
      Record(event) && Check(driver_.StreamWaitEvent(static_cast<cuda::Stream>(stream), event, 0), "cuStreamWaitEvent");
  driver_.EventDestroy(event);  // waits on the event stay valid
  return ok;
}

void CudaStream::WaitForDevice() const {
  const CurrentContext current(device_);
  driver_.CtxSynchronize();
}

std::string CudaStream::DescribeLaunch() const {
  const DeviceKernel& kernel = *program_.kernel(failed_.kernel).described;
  return "kernel " + kernel.symbol + " of " + std::to_string(failed_.grid.blocks) + " blocks of " +
         std::to_string(kernel.threads) + " threads with " + std::to_string(failed_.grid.shared_bytes) +
         " bytes of shared memory";
}

Failure CudaStream::FirstFailure() const {
  if (!failed_gemm_.ok()) return failed_gemm_;  // no launch follows it
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

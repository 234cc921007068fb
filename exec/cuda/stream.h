// CudaStream: a CUDA stream, its stream-ordered device memory, and the shape cache that its kernels write.
#ifndef TAILOR_EXEC_CUDA_STREAM_H_
#define TAILOR_EXEC_CUDA_STREAM_H_

#include <memory>
#include <string>
#include <vector>

#include "exec/cuda/call.h"
#include "exec/cuda/graph.h"
#include "exec/cuda/kernel_parameters.h"
#include "exec/cuda/gemms.h"
#include "exec/cuda/program.h"
#include "exec/device.h"

namespace tailor {

class CudaStream : public DeviceStream {
 public:
  // A stream of the caller is a CUstream in the device's primary context; a new one does not wait for the legacy
  // default stream. Errors: INVALID_ARGUMENT for a stream of another context; FAILED_PRECONDITION for a graph if the
  // variant reads back, a library computes its matmuls, or the driver does not support graphs.
  static Failure Create(const CudaProgram& program, const StreamOptions& options, std::unique_ptr<DeviceStream>* out);
  ~CudaStream() override;

  const Allocator& memory() const override { return memory_; }
  int64_t* shape_cache() const override { return shape_cache_; }
  void* grid_sync() const override { return grid_sync_; }
  void* native() const override { return stream_; }
  void* Enter() override;
  void Leave(void* entered) override;
  std::string ProblemWithMemory(const void* data, uint64_t bytes) const override;
  bool IsDeviceMemory(const void* data) const override;
  bool Upload(void* to, const void* from, uint64_t bytes) override;
  bool Download(void* to, const void* from, uint64_t bytes) override;
  bool Copy(void* to, const void* from, uint64_t bytes) override;
  bool Launch(int32_t kernel, const int64_t* args, const LaunchGrid& grid) override;
  bool AcceptsGemm(const GemmArgs& gemm) override { return gemms_ != nullptr && gemms_->Take(gemm); }
  bool Multiply(const GemmArgs& gemm) override;
  void BeginRun() override;
  bool LaunchGathered() override;
  bool EndRun() override;
  bool Wait() override;
  Progress Poll() override;
  bool CallWhenDone(void (*function)(void* user), void* user) override;
  bool WaitForEvent(void* event) override;
  bool Record(void* event) override;
  bool MakeStreamWait(void* stream) override;
  void WaitForDevice() const override;
  Failure FirstFailure() const override;

 private:
  explicit CudaStream(const CudaProgram& program);
  Failure MakeGraph();
  Failure MakeShapeCache();
  Failure MakeGridSync();
  bool Check(cuda::Result result, const char* call) { return Note({result, call, -1, {}}); }
  bool Note(const CudaCall& call);
  std::string DescribeLaunch() const;
  void* Allocate(size_t bytes);
  void Deallocate(void* data);

  const CudaProgram& program_;
  const CudaDevice& device_;
  const CudaDriver& driver_;
  cuda::Stream stream_ = nullptr;
  bool own_ = false;
  int64_t* shape_cache_ = nullptr;
  void* grid_sync_ = nullptr;
  const Allocator memory_;
  KernelParameters kernel_parameters_;
  std::vector<void*> parameters_;  // of a launch; sized for the kernel with the most
  // The graphs of a run: one, and another after each LaunchGathered and for launches that do not fit, kMostGraphs in
  // turn. Empty: launches go to the driver one by one.
  static constexpr size_t kMostGraphs = 16;
  std::vector<std::unique_ptr<CudaGraph>> graphs_;
  size_t graph_ = 0;                  // takes the next launch
  std::unique_ptr<CudaGemms> gemms_;  // null: the program's kernels compute all matmuls
  CudaCall failed_;                   // the first failure
  Failure failed_gemm_;               // the first failed matmul
};

}  // namespace tailor

#endif  // TAILOR_EXEC_CUDA_STREAM_H_

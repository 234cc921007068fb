// CudaStream: a CUDA stream, the device memory that is allocated in its order, and the memo that its kernels write.
#ifndef TAILOR_EXEC_CUDA_STREAM_H_
#define TAILOR_EXEC_CUDA_STREAM_H_

#include <memory>
#include <string>
#include <vector>

#include "exec/cuda_program.h"
#include "exec/device.h"

namespace tailor {

class CudaStream : public DeviceStream {
 public:
  // `native` is the caller's CUstream, in the device's primary context, or null: a stream of its own is made, which
  // does not wait for the legacy default stream. Errors: INVALID_ARGUMENT for a stream of another context.
  static Failure Create(const CudaProgram& program, void* native, std::unique_ptr<DeviceStream>* out);
  ~CudaStream() override;

  const Allocator& memory() const override { return memory_; }
  int64_t* memo() const override { return memo_; }
  void* native() const override { return stream_; }
  void* Enter() override;
  void Leave(void* entered) override;
  std::string ProblemWithMemory(const void* data, uint64_t bytes) const override;
  bool IsDeviceMemory(const void* data) const override;
  bool Upload(void* to, const void* from, uint64_t bytes) override;
  bool Download(void* to, const void* from, uint64_t bytes) override;
  bool Copy(void* to, const void* from, uint64_t bytes) override;
  bool Launch(int32_t kernel, const int64_t* args, const LaunchGrid& grid) override;
  bool Wait() override;
  Failure FirstFailure() const override;

 private:
  // What failed first, as plain numbers: noting it allocates nothing.
  struct Failed {
    cuda::Result result = cuda::kSuccess;
    const char* call = "";
    int32_t kernel = -1;
    LaunchGrid grid = {};
  };

  explicit CudaStream(const CudaProgram& program);
  Failure MakeMemo();
  bool Check(cuda::Result result, const char* call) { return Note({result, call, -1, {}}); }
  bool Note(const Failed& failed);
  cuda::Result LaunchTogether(const CudaProgram::Kernel& kernel, const int64_t* args, const LaunchGrid& grid);
  std::string DescribeLaunch() const;
  void* Allocate(size_t bytes);
  void Deallocate(void* data);

  const CudaProgram& program_;
  const CudaDevice& device_;
  const CudaDriver& driver_;
  cuda::Stream stream_ = nullptr;
  bool own_ = false;
  int64_t* memo_ = nullptr;
  const Allocator memory_;
  std::vector<void*> parameters_;  // of a cooperative launch; as many as any kernel has
  Failed failed_;
};

}  // namespace tailor

#endif  // TAILOR_EXEC_CUDA_STREAM_H_

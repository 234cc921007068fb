// CudaProgram: a variant's kernels and its program's constants, loaded on a GPU.
#ifndef TAILOR_EXEC_CUDA_PROGRAM_H_
#define TAILOR_EXEC_CUDA_PROGRAM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "codegen/contract/program.h"
#include "exec/cuda/device.h"
#include "exec/cuda/row_major_constants.h"
#include "exec/device.h"
#include "exec/failure.h"
#include "exec/runtime.h"

namespace tailor {

class CudaProgram : public DeviceProgram {
 public:
  struct Kernel {
    cuda::Function function = nullptr;
    const DeviceKernel* described = nullptr;
  };

  // Loads the best of the variant's images that the driver accepts, looks up its kernels, allows each the device's
  // maximum shared memory, and copies the constants to the device. All arguments but `out` outlive the result.
  // Errors:  FAILED_PRECONDITION with the reason of each image if none runs here; RESOURCE_EXHAUSTED; else INTERNAL.
  static Failure Create(const Runtime& runtime, const CudaDevice& device, const Program& program,
                        const Variant& variant, std::unique_ptr<DeviceProgram>* out);
  ~CudaProgram() override;

  const Runtime& runtime() const { return runtime_; }
  const Program& program() const { return program_; }
  const CudaDevice& device() const { return device_; }
  const Variant& variant() const { return variant_; }
  const Kernel& kernel(int32_t number) const { return kernels_[number]; }
  // The library that computes the matmuls that the variant offers; null: its kernels do.
  const CublasLt* gemm_library() const { return variant_.offers_products ? runtime_.cublas_lt() : nullptr; }
  RowMajorConstants& row_major_constants() const { return row_major_constants_; }
  size_t most_parameters() const;  // maximum over the kernels, tensor maps included

  int32_t ordinal() const override { return device_.info().ordinal; }
  const void* const* constants() const override { return constants_.data(); }
  int64_t workers() const override { return device_.info().multiprocessors; }
  Failure MakeStream(const StreamOptions& options, std::unique_ptr<DeviceStream>* out) const override;

 private:
  CudaProgram(const Runtime& runtime, const CudaDevice& device, const Program& program, const Variant& variant)
      : runtime_(runtime), device_(device), program_(program), variant_(variant), row_major_constants_(device) {}
  Failure LoadImage(const DeviceImage& image);
  Failure LoadAnyImage();
  Failure FindKernels();
  Failure UploadConstants();

  const Runtime& runtime_;
  const CudaDevice& device_;
  const Program& program_;
  const Variant& variant_;
  cuda::Module module_ = nullptr;
  std::vector<Kernel> kernels_;
  cuda::Address memory_ = 0;  // of the constants
  std::vector<const void*> constants_;
  mutable RowMajorConstants row_major_constants_;
};

}  // namespace tailor

#endif  // TAILOR_EXEC_CUDA_PROGRAM_H_

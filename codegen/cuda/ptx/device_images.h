// From device kernels to the images of a variant: one cubin for each architecture, and PTX for those to come.
#ifndef TAILOR_CODEGEN_CUDA_PTX_DEVICE_IMAGES_H_
#define TAILOR_CODEGEN_CUDA_PTX_DEVICE_IMAGES_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "codegen/contract/program.h"
#include "codegen/cuda/ptx/assembler.h"
#include "codegen/cuda/ptx/target.h"
#include "llvm/IR/Module.h"

namespace tailor::cuda {

// A DeviceImage that owns its bytes.
struct BuiltDeviceImage {
  std::string target;
  DeviceImageKind kind = DeviceImageKind::kCubin;
  std::vector<std::byte> bytes;
  std::vector<AssemblerProblem> problems;  // of its kernels, where this machine's assembler made it
};

struct DeviceImages {
  std::vector<BuiltDeviceImage> images;  // in the order in which a device should try them
  std::string assembler;                 // what made the cubins, with its version; else why there are none
};

// Adds the kernels that belong to module `number` to `module`, as they are for `target`. Called from several threads.
using EmitDeviceModule = std::function<absl::Status(const CudaTarget& target, int number, llvm::Module& module)>;

struct DeviceImageOptions {
  int threads = 1;  // modules, then images, are made in parallel
  // As in RunJobs.
  std::function<absl::Status(double)> report = [](double) { return absl::OkStatus(); };
};

// Makes the images of a variant whose kernels are split into modules 0 to `modules` - 1, which define distinct symbols;
// the split decides nothing but what runs in parallel. Per target, latest first: a cubin, or, where this machine has no
// assembler, PTX that ends in NUL; for "simt" the bitcode of all modules as they were emitted. Behind the cubins, once,
// the PTX of the earliest target that later ones run. A failure of `emit`, or of the assembler,
// names the target. What the assembler finds fault with is no failure.
absl::StatusOr<DeviceImages> MakeDeviceImages(int modules, const EmitDeviceModule& emit,
                                              absl::Span<const CudaTarget> targets,
                                              const DeviceImageOptions& options = {});

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_PTX_DEVICE_IMAGES_H_

// From modules of device kernels to the images of one target.
#ifndef TAILOR_CODEGEN_CUDA_PTX_DEVICE_IMAGES_H_
#define TAILOR_CODEGEN_CUDA_PTX_DEVICE_IMAGES_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "codegen/contract/program.h"
#include "codegen/cuda/ptx/assembler.h"
#include "codegen/cuda/ptx/target.h"
#include "llvm/IR/Module.h"

namespace tailor::cuda {

struct DeviceImages {
  struct Image {
    DeviceImageKind kind = DeviceImageKind::kCubin;
    std::vector<std::byte> bytes;
  };
  std::vector<Image> images;               // in the order in which a device should try them
  std::string assembler;                   // what made the cubin, with its version; else why there is none
  std::vector<AssemblerProblem> problems;  // of kernels of the cubin
};

// The kernels of `module` as MakeDeviceImages takes them: PTX; for "simt" bitcode, as they were emitted and verified.
// Names of tables begin with the module's, which no other module of the program has.
absl::StatusOr<std::string> CompileDeviceModule(std::unique_ptr<llvm::Module> module, const CudaTarget& target);

// The images of `target` from its modules, which define distinct symbols: a cubin, or, where this machine has no
// assembler, PTX that ends in NUL; for "simt" the bitcode of all modules. Behind a cubin, where later architectures run
// what is made for this one, its PTX. What the assembler finds fault with is no failure.
absl::StatusOr<DeviceImages> MakeDeviceImages(const std::vector<std::string>& modules, const CudaTarget& target);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_PTX_DEVICE_IMAGES_H_

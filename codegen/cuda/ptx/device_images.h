// From modules of device kernels to the device images of one target.
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
  std::vector<Image> images;               // in the order in which a device tries them
  std::string assembler;                   // assembler of the cubin, with its version; else why there is none
  std::vector<AssemblerProblem> problems;  // of the cubin's kernels
};

// Compiles the kernels of `module` for MakeDeviceImages: to PTX, or for "simt" to bitcode, as emitted and verified.
// Names of tables begin with the module's name, which must be unique in the program.
absl::StatusOr<std::string> CompileDeviceModule(std::unique_ptr<llvm::Module> module, const CudaTarget& target);

// The images of `target` from its modules, which define distinct symbols. A cubin or, if this machine has no assembler,
// NUL-terminated PTX; for "simt" the bitcode of all modules. A cubin is followed by its PTX if later architectures run
// this target's code. Assembler problems are no failure.
absl::StatusOr<DeviceImages> MakeDeviceImages(const std::vector<std::string>& modules, const CudaTarget& target);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_PTX_DEVICE_IMAGES_H_

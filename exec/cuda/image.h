// Selects the device images of a variant that a CUDA device can run.
#ifndef TAILOR_EXEC_CUDA_IMAGE_H_
#define TAILOR_EXEC_CUDA_IMAGE_H_

#include <string>
#include <vector>

#include "codegen/contract/program.h"

namespace tailor {

struct CudaArchitecture {
  int major = 0;
  int minor = 0;
  bool emulated = false;  // an emulator, which accepts IR
};

// "sm_90"
std::string NameOf(const CudaArchitecture& architecture);

// Indices of the images that `device` can run, best first: cubins in order, then PTX, which the driver assembles. A
// cubin runs on its own major architecture, from its minor one on; PTX runs on its architecture and all later ones.
// Either, for a target that ends in a letter ("sm_90a"), runs on exactly that architecture. On an emulator, IR comes
// first.
std::vector<size_t> ImagesFor(const CudaArchitecture& device, const std::vector<DeviceImage>& images);

// "cubin sm_90, ptx sm_80"
std::string ListImages(const std::vector<DeviceImage>& images);

}  // namespace tailor

#endif  // TAILOR_EXEC_CUDA_IMAGE_H_

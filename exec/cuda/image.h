// Which of a variant's device images a CUDA device may run.
#ifndef TAILOR_EXEC_CUDA_IMAGE_H_
#define TAILOR_EXEC_CUDA_IMAGE_H_

#include <string>
#include <vector>

#include "codegen/contract/program.h"

namespace tailor {

struct CudaArchitecture {
  int major = 0;
  int minor = 0;
  bool emulated = false;  // it takes IR
};

// "sm_90"
std::string NameOf(const CudaArchitecture& architecture);

// Numbers of the images that `device` may run, best first: cubins in their order, then PTX, which the driver assembles.
// A cubin runs on its own major architecture from its own minor one on, PTX from its architecture on; both of a target
// that ends in a letter ("sm_90a") on exactly that one. IR comes before both, on an emulator only.
std::vector<size_t> ImagesFor(const CudaArchitecture& device, const std::vector<DeviceImage>& images);

// "cubin sm_90, ptx sm_80"
std::string ListImages(const std::vector<DeviceImage>& images);

}  // namespace tailor

#endif  // TAILOR_EXEC_CUDA_IMAGE_H_

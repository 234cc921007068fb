// Kernels of one image, and the image formats that the fake driver loads.
#ifndef TAILOR_TESTS_EMULATOR_FAKE_KERNELS_H_
#define TAILOR_TESTS_EMULATOR_FAKE_KERNELS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/emulator/simt_emulator.h"

namespace tailor::fake_cuda {

class Kernels {
 public:
  // Null if `bitcode` is invalid. Kernels may access memory that `find_memory` finds.
  static std::unique_ptr<Kernels> Load(std::string_view bitcode, FindMemory find_memory);

  // Number of parameters of `kernel`; -1 if there is no such kernel.
  int Parameters(const std::string& kernel) const;
  // Requires that the kernel exists.
  int64_t ParameterBytes(const std::string& kernel) const { return parameters_.at(kernel).back().offset; }
  struct Parameter {
    int64_t offset;  // within the parameter bytes
    int64_t bytes;
  };
  Parameter ParameterPlace(const std::string& kernel, int number) const { return parameters_.at(kernel)[number]; }
  // Whether a parameter is an object passed by value, as tensor maps are.
  bool HasByvalParameters(const std::string& kernel) const;
  // Resident blocks per multiprocessor that the kernel's launch bound requires; 0: no launch bound.
  int ResidentBlocks(const std::string& kernel) const;
  // As SimtEmulator::Launch.
  std::string Run(const std::string& kernel, const SimtGrid& grid, const int64_t* slots, uint32_t seed) {
    return emulator_.Launch(kernel, grid, slots, seed);
  }

 private:
  Kernels(std::string_view bitcode, FindMemory find_memory)
      : emulator_(bitcode, {.find_memory = std::move(find_memory)}) {}

  SimtEmulator emulator_;
  std::map<std::string, std::vector<Parameter>> parameters_;  // plus an end marker
  std::map<std::string, int> resident_blocks_;
};

// The bitcode within an image made by AsCubin or AsPtx, or "".
std::string BitcodeOfImage(const void* image);
bool IsCubin(const void* image);

}  // namespace tailor::fake_cuda

#endif  // TAILOR_TESTS_EMULATOR_FAKE_KERNELS_H_

// What the fake driver loads: kernels of one image, and what it takes for images.
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
  // Null where `bitcode` is none. Kernels may access what `find_memory` finds.
  static std::unique_ptr<Kernels> Load(std::string_view bitcode, FindMemory find_memory);

  // How many parameters `kernel` has; -1 where there is no such kernel.
  int Parameters(const std::string& kernel) const;
  // Requires that there is.
  int64_t ParameterBytes(const std::string& kernel) const { return parameters_.at(kernel).back().offset; }
  struct Parameter {
    int64_t offset;  // among the bytes of all
    int64_t bytes;
  };
  Parameter ParameterPlace(const std::string& kernel, int number) const { return parameters_.at(kernel)[number]; }
  // Whether a parameter is an object that lies among the parameters, as tensor maps do.
  bool TakesObjects(const std::string& kernel) const;
  // How many of its blocks the assembler is told to leave registers for on a multiprocessor; 0: it is told nothing.
  int ResidentBlocks(const std::string& kernel) const;
  // As SimtEmulator::Launch.
  std::string Run(const std::string& kernel, const SimtGrid& grid, const int64_t* slots, uint32_t seed) {
    return emulator_.Launch(kernel, grid, slots, seed);
  }

 private:
  Kernels(std::string_view bitcode, FindMemory find_memory)
      : emulator_(bitcode, {.find_memory = std::move(find_memory)}) {}

  SimtEmulator emulator_;
  std::map<std::string, std::vector<Parameter>> parameters_;  // and one behind the last
  std::map<std::string, int> resident_blocks_;
};

// The bitcode within what AsCubin or AsPtx made, or "".
std::string BitcodeOfImage(const void* image);
bool IsCubin(const void* image);

}  // namespace tailor::fake_cuda

#endif  // TAILOR_TESTS_EMULATOR_FAKE_KERNELS_H_

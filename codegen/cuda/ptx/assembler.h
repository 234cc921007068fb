// What turns PTX into cubins on this machine, and what must not be in what it says.
#ifndef TAILOR_CODEGEN_CUDA_PTX_ASSEMBLER_H_
#define TAILOR_CODEGEN_CUDA_PTX_ASSEMBLER_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "codegen/cuda/ptx/target.h"

namespace tailor::cuda {

struct Assembly {
  std::vector<std::byte> cubin;  // an ELF file
  std::string log;               // the assembler's remarks: resources of each kernel, and notes
};

// Threads: one assembler may be used by many at once.
class Assembler {
 public:
  virtual ~Assembler() = default;
  // "nvJitLink 13.0", "ptxas /usr/local/cuda/bin/ptxas"
  virtual std::string name() const = 0;
  // INVALID_ARGUMENT with the assembler's messages if it refuses `ptx`.
  virtual absl::StatusOr<Assembly> Assemble(absl::string_view ptx, const CudaTarget& target) const = 0;
};

// nvJitLink where it can be loaded (nv_jit_link.h), else, unless TAILOR_NVJITLINK names one, ptxas (assemble.h). The
// environment variable TAILOR_ASSEMBLER leaves out others than it names: "nvjitlink", "ptxas" or "none". NOT_FOUND
// saying what was looked for.
absl::StatusOr<std::unique_ptr<Assembler>> FindAssembler();

// What a kernel should not be: one that spills registers, or of which ptxas serialised wgmma or ignored setmaxnreg
// (notes C7504, C7508, C7509, C7511, C7515). It computes what it should, but slower than was meant.
struct AssemblerProblem {
  std::string kernel;
  std::string note;     // the assembler's line
  bool spills = false;  // which a version with more registers, or less to hold, may not

  // "its registers spill, 112 bytes", "the assembler notes C7511"
  std::string Summary() const;
};

// In the order of the log; a kernel may have several.
std::vector<AssemblerProblem> FindProblems(absl::string_view log);

// For kernels that should have none: INTERNAL where there are problems, naming each kernel with what is said of it.
absl::Status ToStatus(const std::vector<AssemblerProblem>& problems);
inline absl::Status CheckAssemblerLog(absl::string_view log) { return ToStatus(FindProblems(log)); }

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_PTX_ASSEMBLER_H_

// The assembler that turns PTX into cubins on this machine, and the problems that its log reports.
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
  std::string log;               // resources of each kernel, and notes
};

// Threads: one assembler may be used by many threads at once.
class Assembler {
 public:
  virtual ~Assembler() = default;
  // "nvJitLink 13.0", "ptxas /usr/local/cuda/bin/ptxas"
  virtual std::string name() const = 0;
  // INVALID_ARGUMENT with the assembler's messages if it refuses `ptx`.
  virtual absl::StatusOr<Assembly> Assemble(absl::string_view ptx, const CudaTarget& target) const = 0;
};

// nvJitLink if it can be loaded (nv_jit_link.h), else ptxas (assemble.h), unless TAILOR_NVJITLINK names a library. The
// environment variable TAILOR_ASSEMBLER ("nvjitlink", "ptxas" or "none") restricts the choice. NOT_FOUND says what was
// looked for.
absl::StatusOr<std::unique_ptr<Assembler>> FindAssembler();

// A kernel that spills registers, or for which ptxas serialised wgmma or ignored setmaxnreg (notes C7504, C7508, C7509,
// C7511, C7515). Its results are right, but it is slower than intended.
struct AssemblerProblem {
  std::string kernel;
  std::string note;     // the assembler's line
  bool spills = false;  // a version with more registers, or fewer live values, may not

  // "its registers spill, 112 bytes", "the assembler notes C7511"
  std::string Summary() const;
};

// In the order of the log; a kernel may have several problems.
std::vector<AssemblerProblem> FindProblems(absl::string_view log);

// For kernels that must have none: INTERNAL with each kernel and its problems, if there are any.
absl::Status ToStatus(const std::vector<AssemblerProblem>& problems);
inline absl::Status CheckAssemblerLog(absl::string_view log) { return ToStatus(FindProblems(log)); }

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_PTX_ASSEMBLER_H_

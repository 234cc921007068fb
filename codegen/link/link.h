// Joins the code of one variant into one position-independent image at compile time, so that loading is a
// copy and an mprotect.
#ifndef TAILOR_CODEGEN_LINK_LINK_H_
#define TAILOR_CODEGEN_LINK_LINK_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Target/TargetMachine.h"

namespace tailor {

struct ModuleText {
  std::string ir;  // after the pipeline
  std::string assembly;
};

// Attribute of a function that runs once per distinct shape. Where it has a block of more than 3000 instructions, which
// the back end's schedulers take quadratic time for, the back end does not optimize it.
inline constexpr char kOncePerShape[] = "tailor-once-per-shape";

// Runs the IR pipeline (no vectorizers: lanes are explicit) and the back end. Functions are made nounwind,
// no-builtins, frame-pointer=all, without .eh_frame. INTERNAL if the module does not verify. `text` may be null.
absl::StatusOr<std::unique_ptr<llvm::MemoryBuffer>> CompileModule(std::unique_ptr<llvm::Module> module,
                                                                  llvm::TargetMachine& machine,
                                                                  ModuleText* text = nullptr);
// LLVM modules emitted by this process.
uint64_t ModulesEmitted();

struct Image {
  std::vector<std::byte> bytes;             // text and rodata; relocatable by plain copying
  std::map<std::string, uint64_t> symbols;  // offset of each requested entry
};

// INTERNAL naming the symbol if anything is undefined, or the section if an absolute relocation remains.
absl::StatusOr<Image> LinkImage(const std::vector<std::unique_ptr<llvm::MemoryBuffer>>& objects,
                                const std::vector<std::string>& entries);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_LINK_LINK_H_

// Links the code of one variant into one position-independent image at compile time, so that loading is a copy and an
// mprotect.
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
  std::string ir;  // after the IR pipeline
  std::string assembly;
};

// Attribute of a function that runs once per distinct shape. If it has a block of more than 400 instructions, code
// generation does not optimize it: LLVM's schedulers take quadratic time.
inline constexpr char kOncePerShape[] = "tailor-once-per-shape";

// Attribute of a function that only reservations and traced runs call. Code generation does not optimize it.
inline constexpr char kSeldomCalled[] = "tailor-seldom-called";

// Runs the IR pipeline (no vectorizers: lanes are explicit) and code generation. Functions become nounwind,
// no-builtins, frame-pointer=all, without .eh_frame. INTERNAL if the module does not verify. `text` may be null.
absl::StatusOr<std::unique_ptr<llvm::MemoryBuffer>> CompileModule(std::unique_ptr<llvm::Module> module,
                                                                  llvm::TargetMachine& machine,
                                                                  ModuleText* text = nullptr);
// Number of LLVM modules emitted by this process.
uint64_t ModulesEmitted();

// Position-independent code and data of one variant.
struct Image {
  std::vector<std::byte> bytes;                    // text and rodata; relocatable by plain copying
  std::map<std::string, uint64_t> symbols;         // offset of each requested entry
  std::multimap<uint64_t, std::string> functions;  // names by offset, of all functions
};

// Links `objects` in their order, with ORC and JITLink, for the architecture of the first. Each refers to symbols of
// those before it alone: so the same objects give the same bytes. INTERNAL names the symbol that is undefined or
// defined twice, the section that is writable or holds an absolute relocation, or the object that refers to a later
// one.
absl::StatusOr<Image> LinkImage(const std::vector<llvm::MemoryBufferRef>& objects,
                                const std::vector<std::string>& entries);
absl::StatusOr<Image> LinkImage(const std::vector<std::unique_ptr<llvm::MemoryBuffer>>& objects,
                                const std::vector<std::string>& entries);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_LINK_LINK_H_

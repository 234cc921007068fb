// Compiles LLVM assembly to a runnable image, as a loader would map it.
#ifndef TAILOR_TESTS_CODEGEN_LINK_IR_IMAGE_H_
#define TAILOR_TESTS_CODEGEN_LINK_IR_IMAGE_H_

#include <sys/mman.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "codegen/link/link.h"
#include "codegen/link/target_machine.h"
#include "gtest/gtest.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"
#include "tests/support/levels.h"

namespace tailor {

inline constexpr char kScaleIr[] = R"(
define float @scale(float %x) {
  %y = fmul float %x, 1.5
  ret float %y
}
)";

// Aborts the process on a syntax error: the assembly is part of the test.
inline std::unique_ptr<llvm::Module> ParseIr(llvm::LLVMContext& context, const std::string& assembly) {
  llvm::SMDiagnostic problem;
  auto module = llvm::parseAssemblyString(assembly, problem, context);
  if (module == nullptr) {
    problem.print("test", llvm::errs());
    abort();
  }
  return module;
}

inline std::unique_ptr<llvm::MemoryBuffer> CompileIr(std::unique_ptr<llvm::Module> module,
                                                     const CpuTarget& target = HostCpuTarget()) {
  auto machine = MakeTargetMachine(target);
  EXPECT_TRUE(machine.ok()) << machine.status();
  auto object = CompileModule(std::move(module), **machine);
  EXPECT_TRUE(object.ok()) << object.status();
  if (!object.ok()) return nullptr;
  EXPECT_EQ(InstructionBeyond(**object, target), "") << "in code for " << target.name;
  return *std::move(object);
}

// A copy of an image of code for `target`, mapped read and execute. It can be executed where WhyNotHere(target) is
// empty.
class CodeImage {
 public:
  explicit CodeImage(const Image& image, const CpuTarget& target = HostCpuTarget())
      : image_(image), why_not_here_(WhyNotHere(target)) {
    memory_ = mmap(nullptr, image.bytes.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::memcpy(memory_, image.bytes.data(), image.bytes.size());
    mprotect(memory_, image.bytes.size(), PROT_READ | PROT_EXEC);
  }
  ~CodeImage() { munmap(memory_, image_.bytes.size()); }
  CodeImage(const CodeImage&) = delete;
  CodeImage& operator=(const CodeImage&) = delete;

  // A function of the image. Aborts on a machine that lacks a feature of the target, before it meets the instruction.
  template <typename Fn>
  Fn Find(const std::string& entry) const {
    if (!why_not_here_.empty()) {
      ADD_FAILURE() << why_not_here_;
      abort();
    }
    return reinterpret_cast<Fn>(static_cast<char*>(memory_) + image_.symbols.at(entry));
  }

 private:
  const Image image_;
  const std::string why_not_here_;
  void* memory_;
};

}  // namespace tailor

#endif  // TAILOR_TESTS_CODEGEN_LINK_IR_IMAGE_H_

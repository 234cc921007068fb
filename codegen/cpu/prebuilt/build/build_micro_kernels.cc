// build_micro_kernels FOLDER: compiles the common micro-kernels of each plain level, and of the level with dot products
// of integers, to FOLDER/<target>.a, an archive with one object per function (nm, objdump -d).
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "codegen/cpu/gemm/micro_kernel.h"
#include "codegen/cpu/prebuilt/list/kernel_list.h"
#include "codegen/ir/llvm_error.h"
#include "codegen/link/link.h"
#include "codegen/link/target_machine.h"
#include "graph/status_macros.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Object/ArchiveWriter.h"

namespace tailor::prebuilt {
namespace {

absl::Status BuildArchive(const CpuTarget& target, const std::string& path) {
  TAILOR_ASSIGN_OR_RETURN(const auto machine, MakeTargetMachine(target));
  std::vector<llvm::NewArchiveMember> members;
  for (const gemm::MicroKernel& kernel : CommonMicroKernels(target)) {
    llvm::LLVMContext context;
    auto module = std::make_unique<llvm::Module>(NameOf(kernel), context);
    gemm::EmitMicroKernel(kernel, EmitTarget::Of(target.traits), *module);
    TAILOR_ASSIGN_OR_RETURN(auto object, CompileModule(std::move(module), *machine));
    members.emplace_back();
    members.back().Buf = std::move(object);
    members.back().MemberName = members.back().Buf->getBufferIdentifier();
  }
  return ToStatus(llvm::writeArchive(path, members, llvm::SymtabWritingMode::NormalSymtab, llvm::object::Archive::K_GNU,
                                     /*Deterministic=*/true, /*Thin=*/false),
                  path);
}

}  // namespace
}  // namespace tailor::prebuilt

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: build_micro_kernels FOLDER\n");
    return 2;
  }
  for (const tailor::CpuTarget& target : tailor::CpuLevels()) {
    if (target.name != target.level && target.name != tailor::kDotProductsLevel) continue;
    const absl::Status built = tailor::prebuilt::BuildArchive(target, std::string(argv[1]) + "/" + target.name + ".a");
    if (built.ok()) continue;
    std::fprintf(stderr, "build_micro_kernels: %s\n", built.ToString().c_str());
    return 1;
  }
  return 0;
}

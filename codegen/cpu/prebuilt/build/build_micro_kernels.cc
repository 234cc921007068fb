// build_micro_kernels TARGET ARCHIVE: compiles the common micro-kernels of a CPU target to an archive with one object
// per function (nm, objdump -d).
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
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
  if (argc != 3) {
    std::fprintf(stderr, "usage: build_micro_kernels TARGET ARCHIVE\n");
    return 2;
  }
  const absl::StatusOr<tailor::CpuTarget> target = tailor::FindCpuTarget(argv[1]);
  const absl::Status built = target.ok() ? tailor::prebuilt::BuildArchive(*target, argv[2]) : target.status();
  if (built.ok()) return 0;
  std::fprintf(stderr, "build_micro_kernels: %s\n", built.ToString().c_str());
  return 1;
}

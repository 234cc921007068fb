#include "codegen/cuda/ptx/device_images.h"

#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/cuda/ptx/assembler.h"
#include "codegen/cuda/ptx/compile_ptx.h"
#include "codegen/cuda/ptx/join_ptx.h"
#include "codegen/ir/llvm_error.h"
#include "codegen/ir/module_passes.h"
#include "graph/status_macros.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/raw_ostream.h"

namespace tailor::cuda {
namespace {

std::vector<std::byte> BytesOf(absl::string_view text) {
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

std::string BitcodeOf(const llvm::Module& module) {
  std::string bitcode;
  llvm::raw_string_ostream stream(bitcode);
  llvm::WriteBitcodeToFile(module, stream);
  return bitcode;
}

absl::StatusOr<std::string> JoinBitcode(const std::vector<std::string>& modules) {
  llvm::LLVMContext context;
  const CollectedDiagnostics diagnostics(context);
  llvm::Module all("kernels", context);
  for (const std::string& bitcode : modules) {
    auto module = llvm::parseBitcodeFile(llvm::MemoryBufferRef(bitcode, "kernels"), context);
    if (!module) return absl::InternalError(llvm::toString(module.takeError()));
    if (llvm::Linker::linkModules(all, std::move(*module))) {
      TAILOR_RETURN_IF_ERROR(diagnostics.status("linking modules"));
      return absl::InternalError("linking modules failed");
    }
  }
  return BitcodeOf(all);
}

// Includes the final NUL.
std::vector<std::byte> PtxBytes(const std::string& ptx) {
  return BytesOf(absl::string_view(ptx.c_str(), ptx.size() + 1));
}

}  // namespace

absl::StatusOr<std::string> CompileDeviceModule(std::unique_ptr<llvm::Module> module, const CudaTarget& target) {
  if (!target.is_emulated()) return CompileToPtx(std::move(module), target);
  TAILOR_RETURN_IF_ERROR(VerifyModule(*module));
  return BitcodeOf(*module);
}

absl::StatusOr<DeviceImages> MakeDeviceImages(const std::vector<std::string>& modules, const CudaTarget& target) {
  DeviceImages made;
  if (target.is_emulated()) {
    TAILOR_ASSIGN_OR_RETURN(const std::string bitcode, JoinBitcode(modules));
    made.images.push_back({DeviceImageKind::kIr, BytesOf(bitcode)});
    return made;
  }
  const std::string ptx = JoinPtx(modules);
  const auto assembler = FindAssembler();
  if (!assembler.ok()) {
    made.assembler = std::string(assembler.status().message());
    made.images.push_back({DeviceImageKind::kPtx, PtxBytes(ptx)});
    return made;
  }
  made.assembler = (*assembler)->name();
  TAILOR_ASSIGN_OR_RETURN(Assembly assembly, (*assembler)->Assemble(ptx, target));
  made.problems = FindProblems(assembly.log);
  made.images.push_back({DeviceImageKind::kCubin, std::move(assembly.cubin)});
  if (target.is_floor()) made.images.push_back({DeviceImageKind::kPtx, PtxBytes(ptx)});
  return made;
}

}  // namespace tailor::cuda

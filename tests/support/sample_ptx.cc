#include "tests/support/sample_ptx.h"

#include <cstdio>
#include <cstdlib>

#include "codegen/cuda/ptx/compile_ptx.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/LLVMContext.h"
#include "tests/support/sample_device_program.h"

namespace tailor {
namespace {

std::string Compile() {
  llvm::LLVMContext context;
  auto module = llvm::cantFail(llvm::parseBitcodeFile(llvm::MemoryBufferRef(SampleKernels(), "sample"), context));
  const auto ptx = cuda::CompileToPtx(std::move(module), *cuda::FindCudaTarget("sm_80"));
  if (ptx.ok()) return *ptx;
  std::fprintf(stderr, "the sample's kernels: %s\n", std::string(ptx.status().message()).c_str());
  std::abort();
}

}  // namespace

const std::string& SamplePtx() {
  static const auto* const ptx = new std::string(Compile());
  return *ptx;
}

}  // namespace tailor

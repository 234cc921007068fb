// Micro-kernels that are compiled with the library are those that compiling a model would give.
#include "codegen/cpu/prebuilt/prebuilt.h"

#include <string>

#include "codegen/cpu/prebuilt/list/kernel_list.h"
#include "codegen/driver/compile.h"
#include "codegen/link/link.h"
#include "graph/text.h"
#include "gtest/gtest.h"
#include "llvm/IR/LLVMContext.h"

namespace tailor::prebuilt {
namespace {

using gemm::MicroKernel;

constexpr char kTilesTarget[] = "x86-64-v4+avx512vnni+amx-tile+amx-int8";

CpuTarget Target(const char* name) { return *FindCpuTarget(name); }

std::string Compiled(const MicroKernel& kernel, const CpuTarget& target) {
  llvm::LLVMContext context;
  auto module = std::make_unique<llvm::Module>(NameOf(kernel), context);
  gemm::EmitMicroKernel(kernel, EmitTarget::Of(target.traits), *module);
  const auto machine = MakeTargetMachine(target);
  const auto object = CompileModule(std::move(module), **machine);
  return object.ok() ? (*object)->getBuffer().str() : object.status().ToString();
}

MicroKernel Bytes(bool split_words) {
  return {
      .lhs = DType::kU8, .rhs = DType::kI8, .accumulate = DType::kI32, .whole_words = true, .split_words = split_words};
}

// Whatever the features of the target beyond its level: "+avx512bf16" changes no micro-kernel of f32.
TEST(Prebuilt, ObjectsAreWhatTheTargetCompilesTo) {
  constexpr int kStep = 29;  // of the list: a part of it, of all forms
  for (const char* name :
       {"x86-64-v2", "x86-64-v3", "x86-64-v4", kDotProductsLevel, kTilesTarget, "x86-64-v4+avx512bf16"}) {
    const CpuTarget target = Target(name);
    const auto kernels = CommonMicroKernels(Target(name == std::string(kTilesTarget) ? kDotProductsLevel : name));
    int found = 0;
    for (size_t i = 0; i < kernels.size(); i += kStep) {
      const auto object = FindMicroKernel(kernels[i], target);
      if (!object) continue;
      ++found;
      EXPECT_TRUE(object->getBuffer() == Compiled(kernels[i], target)) << name << ": " << NameOf(kernels[i]);
    }
    EXPECT_GE(found, 5) << name;
  }
}

TEST(Prebuilt, IntegersAreMultipliedByTheTargetsInstructions) {
  EXPECT_TRUE(FindMicroKernel(Bytes(/*split_words=*/true), Target("x86-64-v4")));
  EXPECT_FALSE(FindMicroKernel(Bytes(/*split_words=*/true), Target(kDotProductsLevel)));
  EXPECT_TRUE(FindMicroKernel(Bytes(/*split_words=*/false), Target(kDotProductsLevel)));
  EXPECT_FALSE(
      FindMicroKernel(Bytes(/*split_words=*/false), Target(kTilesTarget)));  // by tiles, which are not prebuilt
  const MicroKernel words{.lhs = DType::kI16, .rhs = DType::kI16, .accumulate = DType::kI32, .whole_words = true};
  const auto pairs = FindMicroKernel(words, Target("x86-64-v4"));
  const auto dot_products = FindMicroKernel(words, Target(kDotProductsLevel));
  ASSERT_TRUE(pairs && dot_products);
  EXPECT_FALSE(pairs->getBuffer() == dot_products->getBuffer());
}

// Three modules: the matmul, the kernel that packs its rhs, and the host program.
TEST(Prebuilt, AMatmulOfAllShapesCompilesNoMicroKernel) {
  const auto graph = ParseGraph(R"(
graph @matmul(%x: f32[M, K], %w: f32[K, N]) {
  %d = dot %x, %w
  return "d" = %d
})");
  ASSERT_TRUE(graph.ok()) << graph.status();
  for (const char* target : {"x86-64-v2", "x86-64-v3", "x86-64-v4", "x86-64-v4+avx512bf16"}) {
    const uint64_t before = ModulesEmitted();
    const auto compiled = driver::Compile(*graph, {.targets = {target}});
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    EXPECT_EQ(ModulesEmitted() - before, 3u) << target;
    int micro_kernels = 0;
    for (const CodeSymbol& symbol : compiled->program.variants[0].code_symbols) {
      micro_kernels += symbol.kernel == CodeSymbol::kMicroKernel;
    }
    EXPECT_GE(micro_kernels, 2) << target;
  }
}

}  // namespace
}  // namespace tailor::prebuilt

// Compiling with `optimize` off: micro-kernels are the same code, kernels and the host program are not.
#include <iterator>
#include <string>
#include <vector>

#include "codegen/driver/compile.h"
#include "graph/text.h"
#include "gtest/gtest.h"

namespace tailor::backend {
namespace {

constexpr char kMatmul[] = R"(
graph @matmul(%x: f32[M, 64], %w: f32[64, N]) {
  %d = dot %x, %w
  %y = exp %d
  return "y" = %y
})";

// Code bytes by the kind of function, of one image. Data may follow a micro-kernel that no other one follows: those are
// left out.
struct CodeBytes {
  std::vector<std::string> micro_kernels;
  uint64_t kernels = 0, host_program = 0;
};

CodeBytes CodeOf(const Variant& variant) {
  CodeBytes code;
  for (auto symbol = variant.code_symbols.begin(); symbol != variant.code_symbols.end(); ++symbol) {
    const auto next = std::next(symbol);
    const bool is_last = next == variant.code_symbols.end();
    const uint64_t size = (is_last ? variant.image.size() : next->offset) - symbol->offset;
    if (symbol->kernel != CodeSymbol::kMicroKernel) {
      (symbol->kernel == CodeSymbol::kHostProgram ? code.host_program : code.kernels) += size;
    } else if (!is_last && next->kernel == CodeSymbol::kMicroKernel) {
      code.micro_kernels.emplace_back(reinterpret_cast<const char*>(variant.image.data()) + symbol->offset, size);
    }
  }
  return code;
}

TEST(Optimize, OffLeavesMicroKernelsAsTheyAre) {
  const auto graph = ParseGraph(kMatmul);
  ASSERT_TRUE(graph.ok()) << graph.status();
  for (const char* target : {"x86-64-v2", "x86-64-v3", "x86-64-v4", "x86-64-v4+avx512bf16+amx-tile+amx-bf16"}) {
    const auto on = driver::Compile(*graph, {.targets = {target}});
    const auto off = driver::Compile(*graph, {.targets = {target}, .optimize = false});
    ASSERT_TRUE(on.ok()) << on.status();
    ASSERT_TRUE(off.ok()) << off.status();
    const CodeBytes full = CodeOf(on->program.variants[0]), quick = CodeOf(off->program.variants[0]);
    EXPECT_GE(full.micro_kernels.size(), 2u) << target;
    EXPECT_TRUE(full.micro_kernels == quick.micro_kernels) << target;
    EXPECT_GT(quick.kernels, full.kernels) << target;
    EXPECT_GT(quick.host_program, full.host_program) << target;
    EXPECT_EQ(on->program.variants[0].launches[0].versions, off->program.variants[0].launches[0].versions);
    EXPECT_NE(off->program.provenance.options.find(" optimize=0"), std::string::npos);
    EXPECT_EQ(on->program.provenance.options.find("optimize"), std::string::npos);
  }
}

}  // namespace
}  // namespace tailor::backend

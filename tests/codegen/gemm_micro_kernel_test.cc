// Mirrors codegen/gemm/micro_kernel.cc: what the machine code of the depth loop looks like.
#include "codegen/gemm/micro_kernel.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "codegen/gemm/tile_shapes.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "llvm-c/Disassembler.h"
#include "llvm-c/Target.h"
#include "tests/codegen/ir_image.h"

namespace tailor {
namespace {

struct Instruction {
  uint64_t address;
  std::string text;
};

// The instructions from `begin` to the first return.
std::vector<Instruction> Disassemble(const Image& image, uint64_t begin) {
  LLVMInitializeX86Disassembler();
  LLVMDisasmContextRef context = LLVMCreateDisasm("x86_64-unknown-linux-gnu", nullptr, 0, nullptr, nullptr);
  std::vector<Instruction> instructions;
  auto* bytes = reinterpret_cast<uint8_t*>(const_cast<std::byte*>(image.bytes.data()));
  for (uint64_t at = begin; at < image.bytes.size();) {
    char text[256];
    const size_t size = LLVMDisasmInstruction(context, bytes + at, image.bytes.size() - at, at, text, sizeof(text));
    if (size == 0) break;
    instructions.push_back({at, text});
    at += size;
    if (instructions.back().text.find("ret") != std::string::npos) break;
  }
  LLVMDisasmDispose(context);
  return instructions;
}

// The body of the only loop: from the target of the one backward jump to the jump.
std::vector<std::string> LoopOf(const std::vector<Instruction>& code) {
  std::vector<std::string> loop;
  for (const Instruction& jump : code) {
    const size_t operand = jump.text.find("\tj") == 0 ? jump.text.find_last_of("\t ") : std::string::npos;
    if (operand == std::string::npos) continue;
    const int64_t distance = std::strtoll(jump.text.c_str() + operand + 1, nullptr, 0);
    if (distance >= 0) continue;
    EXPECT_TRUE(loop.empty()) << "a second loop";
    for (const Instruction& i : code) {
      const bool inside =
          i.address <= jump.address && static_cast<int64_t>(i.address) >= static_cast<int64_t>(jump.address) + distance;
      if (inside) loop.push_back(i.text);
    }
  }
  return loop;
}

std::vector<std::string> DepthLoop(const MicroKernel& kernel, const CpuTarget& target) {
  llvm::LLVMContext context;
  auto module = std::make_unique<llvm::Module>("micro", context);
  const EmitTarget emit{.fma = target.traits.fused_multiply_add};
  EmitMicroKernel(kernel, emit, "micro", *module)->setLinkage(llvm::Function::ExternalLinkage);
  std::vector<std::unique_ptr<llvm::MemoryBuffer>> objects;
  objects.push_back(CompileIr(std::move(module), target));
  auto image = LinkImage(std::move(objects), {"micro"});
  EXPECT_TRUE(image.ok()) << image.status();
  return LoopOf(Disassemble(*image, image->symbols.at("micro")));
}

int Count(const std::vector<std::string>& lines, const std::string& part) {
  return std::count_if(lines.begin(), lines.end(),
                       [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

TEST(MicroKernel, DepthLoopKeepsItsSumsInRegisters) {
  for (const char* name : {"x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
    const CpuTarget target = *FindCpuTarget(name);
    for (DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16}) {
      // Without f16c, widening f16 takes a dozen integer operations and their registers.
      if (dtype == DType::kF16 && !target.traits.fused_multiply_add) continue;
      SCOPED_TRACE(std::string(name) + " " + NameOf(dtype));
      const DType accumulate = dtype == DType::kF64 ? DType::kF64 : DType::kF32;
      const int pieces = std::max(1, kPanelColumns * SizeOf(accumulate) / target.traits.vector_bytes);
      MicroKernel kernel{.lanes = kPanelColumns / pieces, .lhs = dtype, .rhs = dtype, .accumulate = accumulate};
      ContractionTile tile;
      std::tie(tile.rows, tile.panels) = BestTile(target.traits, pieces);
      for (kernel.rows = 1; kernel.rows <= tile.rows; ++kernel.rows) {
        kernel.panels = PanelsForRows(tile, pieces, kernel.rows);
        kernel.fetch_ahead = kernel.rows + 1 == tile.rows;
        const std::vector<std::string> loop = DepthLoop(kernel, target);
        const int sums = kernel.rows * kernel.panels * pieces;
        EXPECT_EQ(Count(loop, target.traits.fused_multiply_add ? "vfmadd" : "\taddp"), sums);
        EXPECT_EQ(Count(loop, "prefetcht1"), kernel.fetch_ahead ? 2 : 0);
        for (const char* operand : {"(%rsp)", "(%rbp)", "(%rsp,", "(%rbp,"}) {
          EXPECT_EQ(Count(loop, operand), 0) << testing::PrintToString(loop);
        }
      }
    }
  }
}

}  // namespace
}  // namespace tailor

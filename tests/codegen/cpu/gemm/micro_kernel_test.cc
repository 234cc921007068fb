// Mirrors codegen/cpu/gemm/micro_kernel.cc: what the machine code of the depth loop looks like.
#include "codegen/cpu/gemm/micro_kernel.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "codegen/cpu/gemm/row_vector_kernel.h"
#include "codegen/cpu/tiling/tile_shapes.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "llvm-c/Disassembler.h"
#include "llvm-c/Target.h"
#include "tests/codegen/link/ir_image.h"

namespace tailor::gemm {
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

int Count(const std::vector<std::string>& lines, const std::string& part) {
  return std::count_if(lines.begin(), lines.end(),
                       [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

// The bodies of the loops with instructions `name`: from the target of backward jumps to the last of these.
std::vector<std::vector<std::string>> LoopsOf(const std::vector<Instruction>& code, const std::string& name) {
  std::map<uint64_t, uint64_t> ends;  // by beginning
  for (const Instruction& jump : code) {
    const size_t operand = jump.text.find("\tj") == 0 ? jump.text.find_last_of("\t ") : std::string::npos;
    if (operand == std::string::npos) continue;
    const int64_t distance = std::strtoll(jump.text.c_str() + operand + 1, nullptr, 0);
    if (distance >= 0) continue;
    const auto after =
        std::find_if(code.begin(), code.end(), [&](const Instruction& i) { return i.address > jump.address; });
    ends[(after == code.end() ? jump.address : after->address) + distance] = jump.address;
  }
  std::vector<std::vector<std::string>> loops;
  for (const auto& [begin, end] : ends) {
    std::vector<std::string> body;
    for (const Instruction& i : code) {
      if (i.address >= begin && i.address <= end) body.push_back(i.text);
    }
    if (Count(body, name) > 0) loops.push_back(std::move(body));
  }
  return loops;
}

std::vector<std::vector<std::string>> DepthLoops(const MicroKernel& kernel, const CpuTarget& target,
                                                 const std::string& name) {
  llvm::LLVMContext context;
  auto module = std::make_unique<llvm::Module>("micro", context);
  const EmitTarget emit = EmitTarget::Of(target.traits);
  EmitMicroKernel(kernel, emit, *module);
  std::vector<std::unique_ptr<llvm::MemoryBuffer>> objects;
  objects.push_back(CompileIr(std::move(module), target));
  auto image = LinkImage(std::move(objects), {NameOf(kernel)});
  EXPECT_TRUE(image.ok()) << image.status();
  return LoopsOf(Disassemble(*image, image->symbols.at(NameOf(kernel))), name);
}

// Where there is only one.
std::vector<std::string> DepthLoop(const MicroKernel& kernel, const CpuTarget& target, const std::string& name) {
  const std::vector<std::vector<std::string>> loops = DepthLoops(kernel, target, name);
  EXPECT_EQ(loops.size(), 1u);
  return loops.empty() ? std::vector<std::string>() : loops[0];
}

bool OnStack(const std::string& text) {
  for (const char* operand : {"(%rsp)", "(%rbp)", "(%rsp,", "(%rbp,"}) {
    if (text.find(operand) != std::string::npos) return true;
  }
  return false;
}

// Neither a sum nor a factor, and nothing is written there. Where to fetch from may be read.
void ExpectOnlyAddressesOnStack(const std::vector<std::string>& loop) {
  for (const std::string& text : loop) {
    if (!OnStack(text)) continue;
    EXPECT_NE(text.back(), ')') << text << " in " << testing::PrintToString(loop);
    EXPECT_EQ(text.find("mm"), std::string::npos) << text << " in " << testing::PrintToString(loop);
  }
}

void ExpectNoStack(const std::vector<std::string>& loop) {
  for (const std::string& text : loop) EXPECT_FALSE(OnStack(text)) << text << " in " << testing::PrintToString(loop);
}

TEST(MicroKernel, DepthLoopKeepsItsSumsInRegisters) {
  for (const CpuTarget& target : CpuLevels()) {
    for (DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16}) {
      // Without f16c, widening f16 takes a dozen integer operations and their registers; and with instructions of two
      // operands, loads of words that come early, one next to the other, take the place of a sum.
      if (dtype == DType::kBF16 && target.traits.bf16_matmuls == BF16Matmuls::kTiles) continue;
      const bool narrow = dtype == DType::kF16 || dtype == DType::kBF16;
      if (narrow && !target.traits.fused_multiply_add) continue;
      SCOPED_TRACE(target.name + " " + NameOf(dtype));
      const DType accumulate = dtype == DType::kF64 ? DType::kF64 : DType::kF32;
      const int pieces = std::max(1, kPanelColumns * SizeOf(accumulate) / target.traits.vector_bytes);
      MicroKernel kernel{.lanes = kPanelColumns / pieces, .lhs = dtype, .rhs = dtype, .accumulate = accumulate};
      ContractionTile tile;
      std::tie(tile.rows, tile.panels) = BestTile(target.traits, pieces);
      if (dtype == accumulate) std::tie(tile.tall_rows, tile.tall_panels) = TallestTile(target.traits, pieces, tile);
      for (kernel.rows = 1; kernel.rows <= std::max(tile.rows, tile.tall_rows); ++kernel.rows) {
        kernel.panels = PanelsForRows(tile, pieces, kernel.rows);
        kernel.fetch_ahead = dtype == accumulate || kernel.rows < tile.rows;
        const int sums = kernel.rows * kernel.panels * pieces;
        const bool pairs = dtype == DType::kBF16 && target.traits.bf16_matmuls == BF16Matmuls::kPairs;
        const int steps = dtype == DType::kBF16 && !pairs ? 2 : 1;  // of the even elements, then of the odd ones
        const char* fused = pairs ? "vdpbf16ps" : "vfmadd";
        const std::string add = target.traits.fused_multiply_add ? fused : "\taddp";
        const int block = StepsPerBlock(kernel, EmitTarget::Of(target.traits));
        const std::vector<std::vector<std::string>> loops = DepthLoops(kernel, target, add);
        ASSERT_EQ(loops.size(), block > 1 ? 2u : 1u);  // of blocks, which alone prefetch, and of single steps
        EXPECT_EQ(Count(loops[0], add), block * steps * sums);
        EXPECT_EQ(Count(loops[0], "prefetcht0"), kernel.fetch_ahead && steps == 1 ? block * kernel.panels : 0);
        EXPECT_EQ(Count(loops.back(), add), steps * sums);
        for (const std::vector<std::string>& loop : loops) ExpectOnlyAddressesOnStack(loop);
      }
    }
  }
}

// Of 6 x 16 sums with eight lanes: 12 multiply-adds and 8 loads, and a twelfth of that for addresses and prefetches.
TEST(MicroKernel, StepsOfABlockHaveFewOtherInstructions) {
  const auto target = std::find_if(CpuLevels().begin(), CpuLevels().end(),
                                   [](const CpuTarget& level) { return level.name == "x86-64-v3"; });
  ASSERT_NE(target, CpuLevels().end());
  for (const bool strided : {false, true}) {
    const MicroKernel kernel{.rows = 6, .lanes = 8, .unit_depth_stride = !strided, .fetch_ahead = true};
    const std::vector<std::vector<std::string>> loops = DepthLoops(kernel, *target, "vfmadd");
    ASSERT_EQ(loops.size(), 2u);
    EXPECT_LE(loops[0].size(), 110u) << testing::PrintToString(loops[0]);  // with 10 that run rarely; 31 a step before
    ExpectOnlyAddressesOnStack(loops[0]);
  }
}

// Of 4 x 24 sums: 12 multiply-adds and 7 loads. All sixteen registers are taken.
TEST(MicroKernel, OneAndAHalfPanelsKeepTheirSumsInRegisters) {
  const CpuTarget target = *FindCpuTarget("x86-64-v3");
  MicroKernel kernel{.rows = kRowsOfOneAndAHalf, .panels = 2, .lanes = 8, .columns = 8, .unit_depth_stride = false};
  ASSERT_EQ(kernel.sums(), 12);
  for (const bool tables : {false, true}) {
    kernel.tables = tables;
    for (const bool ahead : {false, true}) {
      kernel.fetch_ahead = ahead;
      SCOPED_TRACE(NameOf(kernel));
      for (const std::vector<std::string>& loop : DepthLoops(kernel, target, "vfmadd")) {
        EXPECT_EQ(Count(loop, "vfmadd") % 12, 0);
        ExpectOnlyAddressesOnStack(loop);
      }
    }
  }
}

TEST(MicroKernel, DepthLoopOfIntegersKeepsItsSumsInRegisters) {
  for (const CpuTarget& target : CpuLevels()) {
    if (target.traits.vector_bytes < 32) continue;  // instructions of two operands copy the pairs that they multiply
    for (DType rhs : {DType::kI16, DType::kI8}) {
      SCOPED_TRACE(target.name + " " + NameOf(rhs));
      const int pieces = kPanelColumns * 4 / target.traits.vector_bytes;
      const bool widened = target.traits.integer_matmuls == IntegerMatmuls::kPairs;
      auto [rows, panels] = BestTile(target.traits, pieces);
      if (widened && rhs == DType::kI8 && (rows + 1) * panels * pieces + 3 > target.traits.vector_registers) --rows;
      const MicroKernel kernel{.rows = rows,
                               .panels = panels,
                               .lanes = kPanelColumns / pieces,
                               .lhs = rhs == DType::kI8 ? DType::kU8 : rhs,
                               .rhs = rhs,
                               .accumulate = DType::kI32,
                               .unit_depth_stride = target.traits.integer_matmuls != IntegerMatmuls::kTiles};
      const std::string add = widened ? "vpmaddwd" : rhs == DType::kI8 ? "vpdpbusd" : "vpdpwssd";
      const std::vector<std::string> loop = DepthLoop(kernel, target, add);
      EXPECT_EQ(Count(loop, add), (widened && rhs == DType::kI8 ? 2 : 1) * rows * panels * pieces);
      if (kernel.unit_depth_stride) ExpectOnlyAddressesOnStack(loop);
    }
  }
}

// Of a square: each column's factor is read by the multiply-add itself, and 64 shuffles transpose the next square.
TEST(MicroKernel, DepthLoopOfSquaresBroadcastsFactorsFromMemory) {
  for (const CpuTarget& target : CpuLevels()) {
    if (target.traits.vector_bytes < 64) continue;
    SCOPED_TRACE(target.name);
    for (const int columns : {2, 8, 10}) {
      const std::vector<std::string> loop =
          DepthLoop({.rows = 16, .columns = columns, .squares = true}, target, "prefetcht0");
      EXPECT_EQ(Count(loop, "vfmadd"), 16 * columns);
      EXPECT_EQ(Count(loop, "{1to16}"), 16 * columns);
      EXPECT_EQ(Count(loop, "prefetcht0"), 16);
    }
  }
}

TEST(MicroKernel, DepthLoopOfRowVectorsKeepsItsSumsInRegisters) {
  for (const CpuTarget& target : CpuLevels()) {
    const int lanes = target.traits.vector_bytes / static_cast<int>(sizeof(float));
    if (lanes < 8) continue;
    for (const bool staged : {true, false}) {
      for (const int columns : {3, MostColumnsOfRowVectors(lanes, !staged)}) {
        SCOPED_TRACE(testing::Message() << target.name << " staged " << staged << " columns " << columns);
        const MicroKernel kernel{.rows = 2 * lanes,
                                 .lanes = lanes,
                                 .columns = columns,
                                 .tables = staged,
                                 .rows_in_lanes = true,
                                 .masks_rows = !staged};
        const int block = StepsPerBlock(kernel, EmitTarget::Of(target.traits));
        EXPECT_EQ(block > 1, 2 * columns <= 12);
        const std::vector<std::vector<std::string>> loops = DepthLoops(kernel, target, "vfmadd");
        ASSERT_EQ(loops.size(), block > 1 ? 2u : 1u);
        EXPECT_EQ(Count(loops[0], "vfmadd"), block * 2 * columns);
        EXPECT_EQ(Count(loops.back(), "vfmadd"), 2 * columns);
        for (const std::vector<std::string>& loop : loops) ExpectOnlyAddressesOnStack(loop);
      }
    }
  }
}

TEST(MicroKernel, OneFunctionServesSquaresOfAnyRows) {
  const MicroKernel nine{.rows = 9, .columns = 4, .squares = true}, sixteen{.rows = 16, .columns = 4, .squares = true};
  EXPECT_EQ(NameOf(nine), NameOf(sixteen));
  const MicroKernel wider{.rows = 9, .columns = 5, .squares = true};
  EXPECT_NE(NameOf(nine), NameOf(wider));
}

TEST(MicroKernel, TileRegistersHoldTheSumsOfAllRows) {
  const CpuTarget& target = CpuLevels().back();
  ASSERT_EQ(target.traits.bf16_matmuls, BF16Matmuls::kTiles);
  MicroKernel kernel{.lhs = DType::kBF16, .rhs = DType::kBF16};
  const std::pair<int, int> shapes[] = {{1, 4}, {16, 4}, {5, 3}, {17, 1}, {17, 2}, {32, 2}};
  for (const auto& [rows, panels] : shapes) {
    SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(panels));
    kernel.rows = rows;
    kernel.panels = panels;
    const std::vector<std::string> loop = DepthLoop(kernel, target, "tdpbf16ps");
    const int groups = rows > 16 ? 2 : 1;
    EXPECT_EQ(Count(loop, "tdpbf16ps"), groups * panels);
    EXPECT_EQ(Count(loop, "tileloadd"), groups + panels);
    EXPECT_EQ(Count(loop, "tilestored"), 0);
    EXPECT_EQ(Count(loop, "tilecfg"), 0);
    ExpectNoStack(loop);
  }
}

}  // namespace
}  // namespace tailor::gemm

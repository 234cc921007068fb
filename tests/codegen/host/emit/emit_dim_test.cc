#include "codegen/host/emit/emit_dim.h"

#include <random>

#include "gtest/gtest.h"
#include "llvm/IR/Verifier.h"
#include "tests/codegen/link/ir_image.h"

namespace tailor::host {
namespace {

// Returns 0 and the value, or 1 where the path was left.
using DimFn = int32_t (*)(const int64_t* symbols, int64_t* value);

// An expression over `symbols` symbols in [min, max], compiled.
class CompiledDim {
 public:
  CompiledDim(const DimExpr& e, int symbols, int64_t min, int64_t max) {
    auto module = std::make_unique<llvm::Module>("dim", context_);
    llvm::IRBuilder<> b(context_);
    auto* type = llvm::FunctionType::get(b.getInt32Ty(), {b.getPtrTy(), b.getPtrTy()}, false);
    auto* f = llvm::Function::Create(type, llvm::Function::ExternalLinkage, "dim", *module);
    auto* entry = llvm::BasicBlock::Create(context_, "entry", f);
    auto* left = llvm::BasicBlock::Create(context_, "left", f);
    b.SetInsertPoint(left);
    b.CreateRet(b.getInt32(1));
    b.SetInsertPoint(entry);
    DimEmitter emitter(b, [&](llvm::Value* condition) {
      auto* next = llvm::BasicBlock::Create(context_, "next", f);
      b.CreateCondBr(condition, left, next);
      b.SetInsertPoint(next);
      ++ways_out_;
    });
    for (int i = 0; i < symbols; ++i) {
      llvm::Value* at = b.CreateConstGEP1_64(b.getInt64Ty(), f->getArg(0), i);
      emitter.SetSymbol(i, {b.CreateLoad(b.getInt64Ty(), at), min, max});
    }
    const DimValue result = emitter.Emit(e);
    b.CreateStore(result.value, f->getArg(1));
    b.CreateRet(b.getInt32(0));
    min_ = result.min;
    max_ = result.max;
    std::vector<std::unique_ptr<llvm::MemoryBuffer>> objects;
    objects.push_back(CompileIr(std::move(module)));
    auto image = LinkImage(std::move(objects), {"dim"});
    EXPECT_TRUE(image.ok()) << image.status();
    image_ = std::make_unique<CodeImage>(*image);
  }

  std::optional<int64_t> operator()(const std::vector<int64_t>& symbols) const {
    int64_t value = 0;
    if (image_->Find<DimFn>("dim")(symbols.data(), &value) != 0) return std::nullopt;
    EXPECT_GE(value, min_);
    EXPECT_LE(value, max_);
    return value;
  }
  int ways_out() const { return ways_out_; }

 private:
  llvm::LLVMContext context_;
  int ways_out_ = 0;
  int64_t min_ = 0, max_ = 0;
  std::unique_ptr<CodeImage> image_;
};

const DimExpr kS = DimExpr::Symbol(0);
const DimExpr kT = DimExpr::Symbol(1);

TEST(EmitDim, DivisionRoundsDown) {
  const CompiledDim quotient(DimExpr::FloorDiv(kS - 7, 4), 1, 0, 100);
  const CompiledDim rest(DimExpr::Mod(kS - 7, 4), 1, 0, 100);
  EXPECT_EQ(quotient({0}), -2);
  EXPECT_EQ(rest({0}), 1);
  EXPECT_EQ(quotient({3}), -1);
  EXPECT_EQ(rest({3}), 0);
  EXPECT_EQ(quotient({11}), 1);
}

TEST(EmitDim, RangesMakeChecksUnnecessary) {
  const DimExpr e = 4 * kS * kT + DimExpr::FloorDiv(kS + kT, 2);
  EXPECT_EQ(CompiledDim(e, 2, 0, INT32_MAX / 4).ways_out(), 0);
  EXPECT_GT(CompiledDim(e, 2, 0, INT64_MAX).ways_out(), 0);
}

TEST(EmitDim, OverflowLeavesThePath) {
  const CompiledDim matmul(kS * kT, 2, 0, INT64_MAX);
  EXPECT_EQ(matmul({int64_t{1} << 31, int64_t{1} << 31}), int64_t{1} << 62);
  EXPECT_EQ(matmul({int64_t{1} << 32, int64_t{1} << 31}), std::nullopt);
  EXPECT_EQ(CompiledDim(kS + 1, 1, 0, INT64_MAX)({INT64_MAX}), std::nullopt);
}

TEST(EmitDim, DivisorZeroLeavesThePath) {
  const CompiledDim quotient(DimExpr::FloorDiv(kS, kT), 2, 0, 100);
  EXPECT_EQ(quotient({7, 2}), 3);
  EXPECT_EQ(quotient({7, 0}), std::nullopt);
}

TEST(EmitDim, BcastTakesTheOtherWhereOneIsOne) {
  const CompiledDim bcast(DimExpr::Bcast(kS, kT), 2, 0, 100);
  EXPECT_EQ(bcast({5, 1}), 5);
  EXPECT_EQ(bcast({1, 6}), 6);
  EXPECT_EQ(bcast({0, 1}), 0);
}

DimExpr RandomDim(std::mt19937& random, int depth) {
  const auto pick = [&](int n) { return static_cast<int>(random() % n); };
  if (depth == 0) return pick(3) == 0 ? DimExpr(pick(9)) : DimExpr::Symbol(pick(3));
  const DimExpr a = RandomDim(random, depth - 1), b = RandomDim(random, depth - 1);
  switch (pick(8)) {
    case 0:
      return a + b;
    case 1:
      return a - b;
    case 2:
      return a * b;
    case 3:
      return DimExpr::FloorDiv(a, 1 + pick(5));
    case 4:
      return DimExpr::Mod(a, DimExpr::Max(b, 1));
    case 5:
      return DimExpr::Min(a, b);
    case 6:
      return DimExpr::Max(a, b);
    default:
      return DimExpr::FloorDiv(a, DimExpr::Max(b, 1 + pick(3)));
  }
}

TEST(EmitDim, AgreesWithEvaluate) {
  std::mt19937 random(1);
  for (int round = 0; round < 40; ++round) {
    const DimExpr e = RandomDim(random, 3);
    if (!e.valid()) continue;
    const bool narrow = round % 2 == 0;
    const CompiledDim compiled(e, 3, 0, narrow ? 20 : INT64_MAX);
    for (int i = 0; i < 50; ++i) {
      std::vector<int64_t> symbols;
      for (int s = 0; s < 3; ++s) symbols.push_back(random() % 21);
      EXPECT_EQ(compiled(symbols), e.Evaluate(symbols))
          << e.ToText([](SymbolId id) { return "s" + std::to_string(id); });
    }
  }
}

}  // namespace
}  // namespace tailor::host

#include "codegen/cpu/tiling/emit_tiling_choice.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/contract/cost_profile.h"
#include "codegen/contract/panels.h"
#include "codegen/cpu/tiling/tiling_cost.h"
#include "codegen/cpu/tiling/tiling_model.h"
#include "codegen/cpu/tiling/even_tiling.h"
#include "codegen/cpu/tiling/tile_shapes.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Intrinsics.h"

namespace tailor::gemm {
namespace {

using llvm::Value;

// The type V of tiling_cost.h in IR: a float, or a vector with one lane per candidate. A plain number becomes a
// constant when it is combined with a value.
class Lanes {
 public:
  Lanes() = default;
  Lanes(float number) : number_(number) {}  // NOLINT: as conversions of floats are
  Lanes(llvm::IRBuilderBase& b, Value* value) : b_(&b), value_(value) {}

  Value* value() const { return value_; }

  friend Lanes operator+(Lanes x, Lanes y) { return x.With(y, &llvm::IRBuilderBase::CreateFAdd); }
  friend Lanes operator-(Lanes x, Lanes y) { return x.With(y, &llvm::IRBuilderBase::CreateFSub); }
  friend Lanes operator*(Lanes x, Lanes y) { return x.With(y, &llvm::IRBuilderBase::CreateFMul); }
  friend Lanes operator/(Lanes x, Lanes y) { return x.With(y, &llvm::IRBuilderBase::CreateFDiv); }
  friend Lanes Floor(Lanes x) { return {*x.b_, x.b_->CreateUnaryIntrinsic(llvm::Intrinsic::floor, x.value_)}; }
  friend Lanes Ceil(Lanes x) { return {*x.b_, x.b_->CreateUnaryIntrinsic(llvm::Intrinsic::ceil, x.value_)}; }
  friend Lanes Min(Lanes x, Lanes y) { return x.Lesser(y, x, y); }
  friend Lanes Max(Lanes x, Lanes y) { return x.Lesser(y, y, x); }
  friend Lanes Choose(Lanes x, Lanes then, Lanes otherwise) {
    then.Meet(x);
    otherwise.Meet(x);
    x.Meet(then);
    Value* positive = x.b_->CreateFCmpOGT(x.value_, llvm::Constant::getNullValue(x.value_->getType()));
    return {*x.b_, x.b_->CreateSelect(positive, then.value_, otherwise.value_)};
  }

  // Makes this a value as wide as `other`.
  void Meet(const Lanes& other) {
    if (b_ == nullptr) b_ = other.b_, value_ = llvm::ConstantFP::get(other.value_->getType(), number_);
    const auto* wide = llvm::dyn_cast<llvm::VectorType>(other.value_->getType());
    if (wide != nullptr && !value_->getType()->isVectorTy()) {
      value_ = b_->CreateVectorSplat(wide->getElementCount(), value_);
    }
  }

 private:
  template <typename Create>
  Lanes With(Lanes other, Create create) {
    Meet(other.b_ == nullptr ? *this : other);
    other.Meet(*this);
    return {*b_, std::invoke(create, b_, value_, other.value_, "", nullptr)};
  }

  // `then` where this is less than `other`, else `otherwise`; both are one of the two operands.
  Lanes Lesser(Lanes other, Lanes then, Lanes otherwise) {
    Meet(other.b_ == nullptr ? *this : other);
    other.Meet(*this);
    then.Meet(*this);
    otherwise.Meet(*this);
    return {*b_, b_->CreateSelect(b_->CreateFCmpOLT(value_, other.value_), then.value_, otherwise.value_)};
  }

  llvm::IRBuilderBase* b_ = nullptr;  // null: a number
  Value* value_ = nullptr;
  float number_ = 0;
};

// Rows of the table of candidates: one number per candidate, the rule's first.
enum class Candidates : unsigned {
  kRows,
  kPanels,
  kWholeRows,
  kWholePanels,
  kTaskRows,
  kTaskPanels,
  kLeastM,
  kMostM,
  kWords,  // without what depends on the launch: u64, the others are floats
  kDepth,  // of the tile: one number
};

// Lanes of the vectors that score a tile's candidates: a power of two.
unsigned LanesOf(const ContractionTile& tile) {
  unsigned lanes = 1;
  while (lanes < 1 + tile.tilings.size()) lanes *= 2;
  return lanes;
}

llvm::StructType* TableType(llvm::LLVMContext& context, unsigned lanes) {
  std::vector<llvm::Type*> rows(static_cast<size_t>(Candidates::kWords),
                                llvm::ArrayType::get(llvm::Type::getFloatTy(context), lanes));
  rows.push_back(llvm::ArrayType::get(llvm::Type::getInt64Ty(context), lanes));
  rows.push_back(llvm::Type::getFloatTy(context));
  return llvm::StructType::get(context, rows);
}

// Lanes beyond the last candidate repeat it.
llvm::Constant* TableOf(const ContractionTile& tile, llvm::LLVMContext& context) {
  MatmulTiling rule = {.rows = 0, .panels = 0, .most_m = INT64_MAX};
  rule.task_rows = static_cast<int>(tile.task_rows);
  rule.task_panels = static_cast<int>(tile.task_panels);
  std::vector<MatmulTiling> all = {rule};
  all.insert(all.end(), tile.tilings.begin(), tile.tilings.end());
  const MatmulTiling last = all.back();
  all.resize(LanesOf(tile), last);
  std::vector<llvm::Constant*> rows;
  const auto add = [&](auto member) {
    std::vector<float> numbers;
    for (const MatmulTiling& tiling : all) numbers.push_back(static_cast<float>(tiling.*member));
    rows.push_back(llvm::ConstantDataArray::get(context, numbers));
  };
  add(&MatmulTiling::rows);
  add(&MatmulTiling::panels);
  add(&MatmulTiling::whole_rows);
  add(&MatmulTiling::whole_panels);
  add(&MatmulTiling::task_rows);
  add(&MatmulTiling::task_panels);
  add(&MatmulTiling::least_m);
  add(&MatmulTiling::most_m);
  std::vector<uint64_t> words;
  for (const MatmulTiling& tiling : all) words.push_back(TilingWord(tiling, 0));
  rows.push_back(llvm::ConstantDataArray::get(context, words));
  rows.push_back(llvm::ConstantFP::get(llvm::Type::getFloatTy(context), static_cast<double>(tile.depth)));
  return llvm::ConstantStruct::get(TableType(context, LanesOf(tile)), rows);
}

// What RuleLimits::Emit reads of a tile: "6_9_44433333333".
std::string FormOf(const ContractionTile& tile, int pieces) {
  std::string form = absl::StrCat(tile.rows, "_", tile.tall_rows, "_", tile.panels);
  for (int rows = 1; rows <= std::max(tile.rows, tile.tall_rows); ++rows)
    absl::StrAppend(&form, PanelsForRows(tile, pieces, rows));
  return form;
}

// The constant `table` in `module`. Kernels of equal tiles share it.
llvm::GlobalVariable* TableIn(llvm::Module& module, llvm::Constant* table) {
  for (llvm::GlobalVariable& global : module.globals()) {
    if (global.hasInitializer() && global.getInitializer() == table) return &global;
  }
  return new llvm::GlobalVariable(module, table->getType(), /*isConstant=*/true, llvm::GlobalValue::InternalLinkage,
                                  table, "tilings");
}

// Emits the function for all tiles with the FormOf `tile` and as many lanes.
class ChoiceEmitter {
 public:
  ChoiceEmitter(const ContractionTile& tile, int pieces, llvm::Function* function)
      : tile_(tile), pieces_(pieces), function_(function), b_(function->getContext()), lanes_(LanesOf(tile)) {}

  void Emit() {
    b_.SetInsertPoint(llvm::BasicBlock::Create(b_.getContext(), "entry", function_));
    rule_ = RuleLimits::Emit(b_, Arg(kM), tile_, pieces_);
    Value* word = b_.CreateOr(ChosenWord(), AheadBits());
    Value* row_blocks = EmitCeilDiv(b_, Arg(kM), Field(word, 32), "row.blocks");
    Value* columns = b_.CreateMul(Field(word, 48), b_.getInt64(kPanelColumns), "task.columns");
    Value* panel_blocks = EmitCeilDiv(b_, Arg(kN), columns, "panel.blocks");
    Value* tasks = b_.CreateMul(b_.CreateMul(row_blocks, panel_blocks), Arg(kBatch), "tasks");
    TilingTerms<Lanes> tiling;  // only the fields that TasksOf reads
    tiling.task_rows = ToFloat(Field(word, 32));
    tiling.task_panels = ToFloat(Field(word, 48));
    Value* tasks_per_chunk =
        b_.CreateFPToUI(TasksOf(tiling, Shape()).tasks_per_chunk.value(), b_.getInt64Ty(), "tasks.per.chunk");
    b_.CreateAggregateRet(std::vector<Value*>{word, tasks, tasks_per_chunk}.data(), 3);
  }

 private:
  enum Argument { kCosts, kCandidates, kThreads, kM, kN, kK, kBatch };

  Value* Arg(Argument argument) { return function_->getArg(argument); }
  Value* Field(Value* word, int first) { return b_.CreateAnd(b_.CreateLShr(word, first), 0xffff); }
  Lanes ToFloat(Value* value) { return {b_, b_.CreateUIToFP(value, b_.getFloatTy())}; }

  ShapeTerms<Lanes> Shape() {
    Value* panels = EmitCeilDiv(b_, Arg(kN), b_.getInt64(kPanelColumns), "panels");
    return {ToFloat(Arg(kM)),
            ToFloat(Arg(kN)),
            ToFloat(panels),
            ToFloat(Arg(kK)),
            ToFloat(Arg(kBatch)),
            ToFloat(Arg(kThreads)),
            {b_, b_.CreateAlignedLoad(b_.getFloatTy(), RowOf(Candidates::kDepth), llvm::Align(4), "depth")}};
  }

  Value* RowOf(Candidates row) {
    return b_.CreateStructGEP(TableType(b_.getContext(), lanes_), Arg(kCandidates), static_cast<unsigned>(row));
  }

  Value* ChosenWord() {
    Value* index = lanes_ == 1 ? b_.getInt32(0) : ChosenIndex();
    Value* at = b_.CreateInBoundsGEP(b_.getInt64Ty(), RowOf(Candidates::kWords), b_.CreateZExt(index, b_.getInt64Ty()));
    Value* word = b_.CreateAlignedLoad(b_.getInt64Ty(), at, llvm::Align(8), "word");
    Value* limits = b_.CreateOr(rule_.rows, b_.CreateShl(rule_.panels, 8), "limits");
    Value* is_rule = b_.CreateICmpEQ(index, b_.getInt32(0), "is.rule");
    return b_.CreateOr(word, b_.CreateSelect(is_rule, limits, b_.getInt64(0)), "tiling");
  }

  // The first candidate with the least score.
  Value* ChosenIndex() {
    Value* scores = Scores();
    Value* least = b_.CreateFPMinReduce(scores);
    llvm::cast<llvm::Instruction>(least)->setHasNoNaNs(true);
    Value* best = b_.CreateFCmpOLE(scores, b_.CreateVectorSplat(lanes_, least), "best");
    Value* mask = b_.CreateZExt(b_.CreateBitCast(best, b_.getIntNTy(lanes_)), b_.getInt32Ty(), "mask");
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, mask, b_.getTrue(), nullptr, "index");
  }

  Value* AheadBits() {
    Value* ahead = Machine(offsetof(CostProfile, prefetch_distance)).value();
    Value* bits = b_.CreateAnd(b_.CreateFPToUI(ahead, b_.getInt64Ty()), (int64_t{1} << kAheadBits) - 1);
    return b_.CreateShl(bits, kAheadBit, "ahead");
  }

  Lanes PerTiling(Candidates row) {
    auto* floats = llvm::FixedVectorType::get(b_.getFloatTy(), lanes_);
    return {b_, b_.CreateAlignedLoad(floats, RowOf(row), llvm::Align(4))};
  }
  // The rule's number depends on the launch.
  Lanes PerTiling(Candidates row, Value* of_rule) {
    return {b_, b_.CreateInsertElement(PerTiling(row).value(), ToFloat(of_rule).value(), uint64_t{0})};
  }

  TilingTerms<Lanes> Tilings() {
    return {PerTiling(Candidates::kRows, rule_.rows), PerTiling(Candidates::kPanels, rule_.panels),
            PerTiling(Candidates::kWholeRows),        PerTiling(Candidates::kWholePanels),
            PerTiling(Candidates::kTaskRows),         PerTiling(Candidates::kTaskPanels),
            PerTiling(Candidates::kLeastM),           PerTiling(Candidates::kMostM)};
  }

  Value* Scores() {
    const MachineTerms<Lanes> machine = {Lanes(static_cast<float>(CostProfile::kNearDepth)),
                                         Machine(offsetof(CostProfile, cached_bytes)),
                                         Machine(offsetof(CostProfile, line_ns)),
                                         Machine(offsetof(CostProfile, fetch_overlap)),
                                         Machine(offsetof(CostProfile, chunk_ns)),
                                         Machine(offsetof(CostProfile, fork_ns))};
    const auto tile_of = [this](Lanes rows, Lanes panels) { return TileOf(rows, panels); };
    Value* times = PredictedTime(Tilings(), Shape(), machine, tile_of).value();
    Value* rule = b_.CreateExtractElement(times, uint64_t{0});
    Value* margin =
        b_.CreateFSub(llvm::ConstantFP::get(b_.getFloatTy(), 1), Machine(offsetof(CostProfile, margin)).value());
    return b_.CreateInsertElement(times, b_.CreateFMul(rule, margin), uint64_t{0}, "scores");
  }

  Lanes Machine(size_t byte) {
    Value* address = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), Arg(kCosts), byte);
    return {b_, b_.CreateAlignedLoad(b_.getFloatTy(), address, llvm::Align(4))};
  }

  TileTerms<Lanes> TileOf(Lanes rows, Lanes panels) {
    constexpr float kFloats = sizeof(TileCost) / sizeof(float);
    const Lanes number =
        (rows * Lanes(CostProfile::kPanels) + panels - Lanes(CostProfile::kPanels + 1)) * Lanes(kFloats);
    auto* indices = llvm::FixedVectorType::get(b_.getInt32Ty(), lanes_);
    Value* index = b_.CreateFPToSI(number.value(), indices, "tile");
    const auto field = [&](size_t byte) {
      Value* base = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), Arg(kCosts), byte);
      Value* addresses = b_.CreateInBoundsGEP(b_.getFloatTy(), base, index);
      auto* floats = llvm::FixedVectorType::get(b_.getFloatTy(), lanes_);
      return Lanes(b_, b_.CreateMaskedGather(floats, addresses, llvm::Align(4)));
    };
    return {field(offsetof(TileCost, fixed)), field(offsetof(TileCost, near_step)),
            field(offsetof(TileCost, far_step))};
  }

  const ContractionTile& tile_;
  const int pieces_;
  llvm::Function* function_;
  llvm::IRBuilder<> b_;
  RuleLimits rule_{};
  const unsigned lanes_;
};

}  // namespace

TilingChoice EmitTilingChoice(const ContractionTile& tile, int pieces, llvm::Module& module) {
  llvm::LLVMContext& context = module.getContext();
  llvm::GlobalVariable* candidates = TableIn(module, TableOf(tile, context));
  const std::string name = absl::StrCat("tiling_", FormOf(tile, pieces), "_", LanesOf(tile));
  if (llvm::Function* emitted = module.getFunction(name)) return {emitted, candidates};
  llvm::Type *i64 = llvm::Type::getInt64Ty(context), *pointer = llvm::PointerType::getUnqual(context);
  auto* type =
      llvm::FunctionType::get(llvm::StructType::get(i64, i64, i64), {pointer, pointer, i64, i64, i64, i64, i64}, false);
  auto* function = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name, module);
  function->addFnAttr(llvm::Attribute::NoInline);
  const char* const kNames[] = {"costs", "candidates", "threads", "m", "n", "k", "batch"};
  for (llvm::Argument& argument : function->args()) argument.setName(kNames[argument.getArgNo()]);
  ChoiceEmitter(tile, pieces, function).Emit();
  return {function, candidates};
}

}  // namespace tailor::gemm

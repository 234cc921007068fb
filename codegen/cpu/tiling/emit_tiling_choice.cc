#include "codegen/cpu/tiling/emit_tiling_choice.h"

#include <cstddef>
#include <functional>
#include <vector>

#include "codegen/contract/cost_profile.h"
#include "codegen/contract/panels.h"
#include "codegen/cpu/tiling/tiling_cost.h"
#include "codegen/cpu/tiling/tiling_model.h"
#include "codegen/cpu/tiling/even_tiling.h"
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

class ChoiceEmitter {
 public:
  ChoiceEmitter(const ContractionTile& tile, int pieces, llvm::Function* function)
      : tile_(tile), pieces_(pieces), function_(function), b_(function->getContext()) {}

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
  enum Argument { kCosts, kThreads, kM, kN, kK, kBatch };

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
            Lanes(static_cast<float>(tile_.depth))};
  }

  Value* RuleWord() {
    MatmulTiling rule = {.rows = 0, .panels = 0};
    rule.task_rows = static_cast<int>(tile_.task_rows);
    rule.task_panels = static_cast<int>(tile_.task_panels);
    Value* limits = b_.CreateOr(rule_.rows, b_.CreateShl(rule_.panels, 8));
    return b_.CreateOr(limits, b_.getInt64(TilingWord(rule, 0)), "rule");
  }

  Value* ChosenWord() {
    if (tile_.tilings.empty()) return RuleWord();
    lanes_ = 2;
    while (lanes_ < 1 + tile_.tilings.size()) lanes_ *= 2;
    Value* scores = Scores();
    Value* least = b_.CreateFPMinReduce(scores);
    llvm::cast<llvm::Instruction>(least)->setHasNoNaNs(true);
    Value* best = b_.CreateFCmpOLE(scores, b_.CreateVectorSplat(lanes_, least), "best");
    Value* mask = b_.CreateZExt(b_.CreateBitCast(best, b_.getIntNTy(lanes_)), b_.getInt32Ty(), "mask");
    Value* index = b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, mask, b_.getTrue(), nullptr, "index");
    std::vector<uint64_t> words = {0};
    for (const MatmulTiling& tiling : tile_.tilings) words.push_back(TilingWord(tiling, 0));
    llvm::Constant* table = llvm::ConstantDataArray::get(b_.getContext(), words);
    auto* global =
        new llvm::GlobalVariable(*function_->getParent(), table->getType(), /*isConstant=*/true,
                                 llvm::GlobalValue::InternalLinkage, table, function_->getName() + ".tilings");
    Value* at = b_.CreateInBoundsGEP(b_.getInt64Ty(), global, b_.CreateZExt(index, b_.getInt64Ty()));
    Value* word = b_.CreateAlignedLoad(b_.getInt64Ty(), at, llvm::Align(8), "word");
    return b_.CreateSelect(b_.CreateICmpEQ(index, b_.getInt32(0)), RuleWord(), word, "tiling");
  }

  Value* AheadBits() {
    Value* ahead = Machine(offsetof(CostProfile, prefetch_distance)).value();
    Value* bits = b_.CreateAnd(b_.CreateFPToUI(ahead, b_.getInt64Ty()), (int64_t{1} << kAheadBits) - 1);
    return b_.CreateShl(bits, kAheadBit, "ahead");
  }

  // One number per candidate, the rule's first; lanes beyond the last candidate repeat it.
  template <typename Of>
  Lanes PerTiling(Of of, Value* rule) {
    std::vector<float> numbers(1);
    for (const MatmulTiling& tiling : tile_.tilings) numbers.push_back(static_cast<float>(of(tiling)));
    numbers.resize(lanes_, numbers.back());
    return {b_, b_.CreateInsertElement(llvm::ConstantDataVector::get(b_.getContext(), numbers), rule, uint64_t{0})};
  }
  Value* Float(double number) { return llvm::ConstantFP::get(b_.getFloatTy(), number); }

  TilingTerms<Lanes> Tilings() {
    return {PerTiling([](const MatmulTiling& tiling) { return tiling.rows; }, ToFloat(rule_.rows).value()),
            PerTiling([](const MatmulTiling& tiling) { return tiling.panels; }, ToFloat(rule_.panels).value()),
            PerTiling([](const MatmulTiling& tiling) { return tiling.whole_rows; }, Float(0)),
            PerTiling([](const MatmulTiling& tiling) { return tiling.whole_panels; }, Float(0)),
            PerTiling([](const MatmulTiling& tiling) { return tiling.task_rows; },
                      Float(static_cast<double>(tile_.task_rows))),
            PerTiling([](const MatmulTiling& tiling) { return tiling.task_panels; },
                      Float(static_cast<double>(tile_.task_panels))),
            PerTiling([](const MatmulTiling& tiling) { return tiling.least_m; }, Float(0)),
            PerTiling([](const MatmulTiling& tiling) { return tiling.most_m; }, Float(0x1p63))};
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
    Value* margin = b_.CreateFSub(Float(1), Machine(offsetof(CostProfile, margin)).value());
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
  unsigned lanes_ = 0;  // a power of two
};

}  // namespace

llvm::Function* EmitTilingChoice(const ContractionTile& tile, int pieces, const llvm::Twine& name,
                                 llvm::Module& module) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* i64 = llvm::Type::getInt64Ty(context);
  auto* type = llvm::FunctionType::get(llvm::StructType::get(i64, i64, i64),
                                       {llvm::PointerType::getUnqual(context), i64, i64, i64, i64, i64}, false);
  auto* function = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name, module);
  function->addFnAttr(llvm::Attribute::NoInline);
  const char* const kNames[] = {"costs", "threads", "m", "n", "k", "batch"};
  for (llvm::Argument& argument : function->args()) argument.setName(kNames[argument.getArgNo()]);
  ChoiceEmitter(tile, pieces, function).Emit();
  return function;
}

}  // namespace tailor::gemm

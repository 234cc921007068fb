#include "codegen/cpu/loops/short_rows.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/cpu/loops/stage_loops.h"
#include "codegen/ir/emit_loop.h"
#include "codegen/ir/transpose_square.h"
#include "codegen/plan/access_map.h"
#include "codegen/plan/plan_queries.h"
#include "codegen/plan/verify_schedule.h"
#include "codegen/scalar/scalar_emitter.h"

namespace tailor::cpu {
namespace {

using llvm::Value;

// Vectors of rows side by side, and row buffers of each: together 16 kB where elements are as wide as lanes.
constexpr int kVectors = 2, kMostBuffers = 8;

// Rows of at most this many constant elements that are only read are loaded by shuffles.
constexpr int64_t kFewRead = 3;

constexpr int kElementBytes = 4;

// An access whose rows are transposed, and the row buffer that has them.
struct TransposedRows {
  Access access;
  AccessMap across;  // along the axis of rows
  int buffer;        // of ShortRows::plan
};

struct ShortRows {
  int rows = -1, along = -1;  // axes
  KernelPlan plan;            // reads and writes row buffers in place of `loads` and `stores`
  KernelPlan source;          // the plan as it was: TransposedRows::access and across are its
  std::vector<TransposedRows> loads, stores;
  ExprId index = -1;  // of `plan`: the place in a row
};

// kAsItIs: lanes across rows read one element for all, or neighbours.
enum class Use { kAsItIs, kTransposed, kNeither };

class ShortRowsFinder {
 public:
  ShortRowsFinder(const KernelPlan& plan, int lanes) : lanes_(lanes), found_{.plan = plan, .source = plan} {}

  std::optional<ShortRows> Find() {
    const std::vector<int> rows = AxesOf(found_.plan, AxisRole::kParallel),
                           along = AxesOf(found_.plan, AxisRole::kTile);
    if (rows.size() != 1 || along.size() != 1 || found_.plan.axes.size() != 2) return std::nullopt;
    if (found_.plan.fault_count > 0 || !CanInterleaveRows(found_.plan)) return std::nullopt;
    found_.rows = rows[0];
    found_.along = along[0];
    found_.index = found_.plan.Add({.kind = ExprKind::kAxis, .ref = found_.along});
    if (!TransposeLoads() || !TransposeStores() || found_.loads.size() + found_.stores.size() == 0) return std::nullopt;
    const auto kept = std::count_if(found_.plan.buffers.begin(), found_.plan.buffers.end(),
                                    [](const Buffer& buffer) { return buffer.kind == BufferKind::kRow; });
    if (kept > kMostBuffers) return std::nullopt;
    return std::move(found_);
  }

 private:
  AccessMap MapOf(const Access& access, int axis) {
    return AccessMap::Along(found_.source, access, axis, {.no_broadcast = true});
  }

  Use UseOf(const Access& access) {
    const Buffer& buffer = found_.source.buffers[access.buffer];
    if (buffer.kind != BufferKind::kInput && buffer.kind != BufferKind::kOutput) return Use::kAsItIs;
    if (buffer.layout != ConstantLayout::kRowMajor) return Use::kNeither;
    const AccessMap along = MapOf(access, found_.along), across = MapOf(access, found_.rows);
    using Kind = AccessMap::Kind;
    if (across.kind() == Kind::kUniform) return Use::kAsItIs;
    if (along.kind() == Kind::kUniform) return across.kind() == Kind::kUnit ? Use::kAsItIs : Use::kNeither;
    const bool is_row = along.IsUnitInLastDim() && across.IsAffine() && SizeOf(buffer.dtype) == kElementBytes;
    return is_row ? Use::kTransposed : Use::kNeither;
  }

  int AddRowBuffer(DType dtype) {
    found_.plan.buffers.push_back({BufferKind::kRow, dtype, {DimSize{.constant = lanes_}}});
    return static_cast<int>(found_.plan.buffers.size()) - 1;
  }

  bool TransposeLoads() {
    for (ExprId id : ReachableExprs(found_.source)) {
      const Expr e = found_.source.exprs[id];
      if (e.kind != ExprKind::kLoad) continue;
      const Access access{e.ref, e.args};
      const Use use = UseOf(access);
      const BufferKind kind = found_.source.buffers[e.ref].kind;
      if (use == Use::kNeither || (kind != BufferKind::kRow && e.predicate >= 0) || kind == BufferKind::kOutput)
        return false;
      if (use == Use::kAsItIs) continue;
      const int buffer = AddRowBuffer(found_.source.buffers[e.ref].dtype);
      found_.loads.push_back({access, MapOf(access, found_.rows), buffer});
      found_.plan.exprs[id] = {.kind = ExprKind::kLoad, .dtype = e.dtype, .ref = buffer, .args = {found_.index}};
    }
    return true;
  }

  bool TransposeStores() {
    for (Stage& stage : found_.plan.stages) {
      for (Statement& s : stage.statements) {
        const Access access{s.buffer, s.indices};
        const Use use = UseOf(access);
        if (use == Use::kNeither) return false;
        if (found_.source.buffers[s.buffer].kind == BufferKind::kOutput &&
            MapOf(access, found_.rows).kind() == AccessMap::Kind::kUniform)
          return false;
        if (use == Use::kAsItIs) continue;
        const int buffer = AddRowBuffer(found_.source.buffers[s.buffer].dtype);
        found_.stores.push_back({access, MapOf(access, found_.rows), buffer});
        s.buffer = buffer;
        s.indices = {found_.index};
      }
    }
    return true;
  }

  const int lanes_;
  ShortRows found_;
};

// Emits functions that copy rows of memory to columns of a row buffer, or back:
// void(ptr rows, i64 stride, i64 extent, ptr buffer, i64 count, i64 length).
// `stride` and `extent` in elements: from row to row, and from `rows` to the end of the tensor. 1 <= `count` <= lanes,
// 0 <= `length` < lanes. Whole vectors are read and written wherever possible: prefetchers do not follow masked loads.
class TransposeFunctions {
 public:
  TransposeFunctions(llvm::Module& module, std::string name, int lanes)
      : module_(module), name_(std::move(name)), lanes_(lanes) {}

  llvm::Function* In() { return in_ != nullptr ? in_ : in_ = Emit("in", &TransposeFunctions::EmitIn); }
  llvm::Function* Out() { return out_ != nullptr ? out_ : out_ = Emit("out", &TransposeFunctions::EmitOut); }

 private:
  struct Frame {
    llvm::IRBuilder<>& b;
    Value *rows, *stride, *extent, *buffer, *count, *length;
  };

  llvm::Function* Emit(const char* suffix, void (TransposeFunctions::*body)(const Frame&) const) {
    llvm::LLVMContext& context = module_.getContext();
    llvm::IRBuilder<> b(context);
    llvm::Type *i64 = b.getInt64Ty(), *pointer = b.getPtrTy();
    auto* type = llvm::FunctionType::get(b.getVoidTy(), {pointer, i64, i64, pointer, i64, i64}, false);
    auto* f =
        llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, absl::StrCat(name_, "_", suffix), module_);
    for (int argument : {0, 3}) f->addParamAttr(argument, llvm::Attribute::NoAlias);
    f->addFnAttr(llvm::Attribute::NoInline);
    b.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", f));
    (this->*body)({b, f->getArg(0), f->getArg(1), f->getArg(2), f->getArg(3), f->getArg(4), f->getArg(5)});
    b.CreateRetVoid();
    return f;
  }

  // A vector may be read beyond its row where the tensor goes on.
  void EmitIn(const Frame& f) const {
    llvm::IRBuilder<>& b = f.b;
    Value* end = b.CreateAdd(b.CreateMul(b.getInt64(lanes_ - 1), f.stride), b.getInt64(lanes_), "end");
    Value* is_inside = b.CreateAnd(b.CreateICmpSGE(f.stride, b.getInt64(0)), b.CreateICmpSLE(end, f.extent));
    Value* is_full = b.CreateICmpEQ(f.count, b.getInt64(lanes_), "is_full");
    Value* whole = b.CreateAnd(is_full, is_inside, "whole");
    EmitIf(b, whole, "whole", [&] {
      StoreTransposed(f, [&](int row) { return b.CreateAlignedLoad(Vector(b), RowAt(f, b.getInt64(row)), kAlign); });
    });
    EmitIf(b, b.CreateNot(whole), "part", [&] {  // rows beyond `count` repeat the last one
      Value *mask = EmitFirstLanes(b, lanes_, f.length), *last = b.CreateSub(f.count, b.getInt64(1), "last");
      StoreTransposed(f, [&](int row) {
        Value* number = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b.getInt64(row), last, nullptr, "number");
        return b.CreateMaskedLoad(Vector(b), RowAt(f, number), kAlign, mask, llvm::Constant::getNullValue(Vector(b)));
      });
    });
  }

  // A vector may be written beyond its row where later rows of the group follow.
  void EmitOut(const Frame& f) const {
    llvm::IRBuilder<>& b = f.b;
    std::vector<Value*> square;
    for (int i = 0; i < lanes_; ++i) square.push_back(b.CreateAlignedLoad(Vector(b), ColumnAt(f, i), BufferAlign()));
    TransposeSquare(b, square);
    Value* is_dense = b.CreateICmpEQ(f.stride, f.length, "is_dense");
    Value* end = b.CreateSelect(is_dense, b.CreateMul(f.count, f.length), b.getInt64(0), "end");
    Value* mask = EmitFirstLanes(b, lanes_, f.length);
    for (int i = 0; i < lanes_; ++i) {
      Value *number = b.getInt64(i), *row = RowAt(f, number);
      Value* row_end = b.CreateAdd(b.CreateMul(number, f.stride), b.getInt64(lanes_), "row.end");
      Value* is_whole = b.CreateICmpSLE(row_end, end, "is_whole");
      EmitIf(b, is_whole, "whole", [&] { b.CreateAlignedStore(square[i], row, kAlign); });
      Value* is_part = b.CreateAnd(b.CreateNot(is_whole), b.CreateICmpSLT(number, f.count), "is_part");
      EmitIf(b, is_part, "part", [&] { b.CreateMaskedStore(square[i], row, kAlign, mask); });
    }
  }

  void StoreTransposed(const Frame& f, llvm::function_ref<Value*(int)> row) const {
    std::vector<Value*> square;
    for (int i = 0; i < lanes_; ++i) square.push_back(row(i));
    TransposeSquare(f.b, square);
    for (int i = 0; i < lanes_; ++i) f.b.CreateAlignedStore(square[i], ColumnAt(f, i), BufferAlign());
  }

  llvm::Type* Vector(llvm::IRBuilderBase& b) const { return llvm::FixedVectorType::get(b.getFloatTy(), lanes_); }

  Value* RowAt(const Frame& f, Value* row) const {
    return f.b.CreateInBoundsGEP(f.b.getFloatTy(), f.rows, f.b.CreateMul(row, f.stride), "row");
  }

  Value* ColumnAt(const Frame& f, int column) const {
    return f.b.CreateInBoundsGEP(Vector(f.b), f.buffer, f.b.getInt64(column), "column");
  }

  static constexpr llvm::Align kAlign = llvm::Align::Constant<kElementBytes>();
  llvm::Align BufferAlign() const { return llvm::Align(kElementBytes * lanes_); }

  llvm::Module& module_;
  const std::string name_;
  const int lanes_;
  llvm::Function *in_ = nullptr, *out_ = nullptr;
};

Schedule AcrossRows(const Schedule& schedule, int rows) {
  Schedule across = schedule;
  across.lane_axis = rows;
  across.interleaved_rows = kVectors;
  across.overlap_stage = 0;
  across.defer_last_stage = false;
  return across;
}

class ShortRowsEmitter {
 public:
  ShortRowsEmitter(ShortRows rows, const KernelPlan& plan, const Schedule& schedule, const Version& version,
                   const EmitTarget& target, const std::string& name, llvm::Module& module)
      : short_(std::move(rows)),
        lanes_(schedule.lanes),
        schedule_(AcrossRows(schedule, short_.rows)),
        b_(module.getContext()),
        frame_(OpenKernelFunction(b_, module, short_.plan, KernelSignature::OnHost(plan, schedule), name)),
        function_(b_.GetInsertBlock()->getParent()),
        memory_(b_, target, short_.source, frame_),
        loops_(b_, short_.plan, schedule_, target, frame_, version),
        transpose_(module, name, lanes_) {
    if (version.no_broadcast) memory_.AssumeNoBroadcast();
  }

  void Emit() {
    Value* buffers = PlaceBuffers();
    for (int vector = 0; vector < kVectors; ++vector) buffers = loops_.PlaceBuffers(vector, buffers);
    const PartSpan rows{function_->getArg(1), function_->getArg(2)};
    loops_.EmitRowVectors(rows, [&](const StageLoops::Vectors& vectors) {
      Value* count = b_.getInt64(lanes_);
      if (vectors.mask != nullptr) count = b_.CreateSub(rows.end, vectors.first, "count");
      for (const TransposedRows& load : short_.loads) Transpose(transpose_.In(), load, vectors, count);
      loops_.EmitStages();
      for (const TransposedRows& store : short_.stores) Transpose(transpose_.Out(), store, vectors, count);
    });
    b_.CreateRetVoid();
  }

 private:
  Value* PlaceBuffers() {
    int64_t bytes = 0;
    for (const Buffer& buffer : short_.plan.buffers) {
      if (buffer.kind == BufferKind::kRow) bytes += llvm::alignTo(int64_t{lanes_} * lanes_ * SizeOf(buffer.dtype), 64);
    }
    auto* type = llvm::ArrayType::get(b_.getInt8Ty(), kVectors * bytes);
    llvm::AllocaInst* buffers = b_.CreateAlloca(type, nullptr, "rows");
    buffers->setAlignment(llvm::Align(64));
    return buffers;
  }

  void Transpose(llvm::Function* function, const TransposedRows& rows, const StageLoops::Vectors& vectors,
                 Value* count) {
    Value* length = frame_.DimSizeValue(b_, short_.source.axes[short_.along].dim_size);
    for (int vector = 0; vector < vectors.count; ++vector) {
      Value* first = b_.CreateAdd(vectors.first, b_.getInt64(int64_t{vector} * lanes_), "first");
      memory_.SetAxis(short_.rows, first);
      memory_.SetAxis(short_.along, b_.getInt64(0));
      Value* address = memory_.AddressOf(rows.access.buffer, rows.access.indices);
      Value* stride = memory_.EmitStride(rows.across, rows.access.buffer, "row.stride");
      Value* extent = b_.CreateSub(ElementsOf(rows.access.buffer), OffsetOf(rows.access.buffer, address), "extent");
      b_.CreateCall(function, {address, stride, extent, loops_.AddressOf(vector, rows.buffer), count, length});
    }
  }

  Value* ElementsOf(int buffer) {
    Value* elements = b_.getInt64(1);
    for (const DimSize& dim_size : short_.source.buffers[buffer].dims) {
      elements = b_.CreateMul(elements, frame_.DimSizeValue(b_, dim_size), "elements");
    }
    return elements;
  }

  Value* OffsetOf(int buffer, Value* address) {
    return b_.CreatePtrDiff(b_.getFloatTy(), address, frame_.buffers[buffer], "offset");
  }

  const ShortRows short_;
  const int lanes_;
  const Schedule schedule_;
  llvm::IRBuilder<> b_;
  KernelFrame frame_;
  llvm::Function* function_;
  ScalarEmitter memory_;
  StageLoops loops_;
  TransposeFunctions transpose_;
};

}  // namespace

bool HasShortRows(const KernelPlan& plan, int lanes) {
  const std::optional<ShortRows> found = ShortRowsFinder(plan, lanes).Find();
  if (!found) return false;
  const DimSize& length = plan.axes[found->along].dim_size;
  return length.is_constant() && length.constant < lanes && (length.constant > kFewRead || !found->stores.empty());
}

void AddShortRowsVersion(const KernelPlan& plan, Schedule& schedule) {
  const std::optional<ShortRows> found = ShortRowsFinder(plan, schedule.lanes).Find();
  if (!found) return;
  Version version = BroadcastVersions(plan)[0];
  version.short_rows = true;
  const DimSize& length = plan.axes[found->along].dim_size;
  const int64_t longest = schedule.lanes - 1;
  if (length.is_constant() ? length.constant > longest : plan.dims[length.slot].divisor > longest) return;
  if (length.is_constant()) {  // always taken where its equal would be
    std::erase_if(schedule.versions, [&](const Version& other) { return other.guards == version.guards; });
  } else {
    version.guards.push_back({.kind = Guard::Kind::kAtMost, .slot = length.slot, .number = longest});
  }
  schedule.versions.insert(schedule.versions.begin(), std::move(version));
}

absl::Status EmitShortRows(const KernelPlan& plan, const Schedule& schedule, const Version& version,
                           const EmitTarget& target, const std::string& name, llvm::Module& module) {
  std::optional<ShortRows> rows = ShortRowsFinder(plan, schedule.lanes).Find();
  if (!rows) return ScheduleError(plan, "versions short_rows", "the plan has accesses that cannot be transposed");
  ShortRowsEmitter(*std::move(rows), plan, schedule, version, target, name, module).Emit();
  return absl::OkStatus();
}

}  // namespace tailor::cpu

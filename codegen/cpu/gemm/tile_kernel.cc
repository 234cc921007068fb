#include "codegen/cpu/gemm/tile_kernel.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <vector>

#include "codegen/ir/emit_loop.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IntrinsicsX86.h"

namespace tailor::gemm {
namespace {

using llvm::Value;

constexpr int kRegisterRows = 16;
constexpr int kRowBytes = 64;
constexpr int kRegisterBytes = kRegisterRows * kRowBytes;
constexpr int kRegisters = 8;
constexpr int kSums = 4;  // registers that hold sums

// Register allocation: sums first, then one register per 16 rows of the lhs; the others hold panels.
class TileKernelEmitter {
 public:
  TileKernelEmitter(const MicroKernel& kernel, llvm::Function* function)
      : kernel_(kernel), function_(function), b_(function->getContext()), groups_((kernel.rows + 15) / kRegisterRows) {
    assert(kernel.rows <= kTileKernelRows);
    assert(kernel.word_steps() > 1 && SizeOf(kernel.accumulate) == 4);
    for (llvm::Argument& argument : function->args()) arguments_.push_back(&argument);
  }

  void Emit() {
    b_.SetInsertPoint(llvm::BasicBlock::Create(b_.getContext(), "entry", function_));
    lhs_block_ = Memory(groups_ * kRegisterBytes, "lhs.block");
    rhs_block_ = Memory(kRegisterBytes, "rhs.block");
    EmitConfiguration();
    for (first_panel_ = 0; first_panel_ < kernel_.panels; first_panel_ += PanelsAtOnce()) EmitPanels();
    Call(llvm::Intrinsic::x86_tilerelease, {});
    b_.CreateRetVoid();
  }

 private:
  enum Argument { kLhs, kRowStride, kDepthStride, kRhs, kPanelStride, kDepthArg, kTile, kResume };

  Value* Arg(Argument argument) { return arguments_[argument]; }
  Value* I64(int64_t value) { return b_.getInt64(value); }
  Value* Register(int number) { return b_.getInt8(number); }
  int element() const { return SizeOf(kernel_.rhs); }
  int depth() const { return kRowBytes / element(); }  // steps of K per instruction
  llvm::Type* Element() { return b_.getIntNTy(8 * element()); }
  int TileStride() const { return kernel_.panels * kPanelColumns * SizeOf(DType::kF32); }

  bool HasContiguousRows() const { return kernel_.unit_depth_stride && !kernel_.tables; }

  // Rows are split evenly between groups: 17 are 9 + 8.
  int RowsOf(int group) const { return (kernel_.rows + (group == 0 ? groups_ - 1 : 0)) / groups_; }
  int FirstRow(int group) const { return group == 0 ? 0 : RowsOf(0); }

  int SumRegister(int group, int panel) const { return group * PanelsAtOnce() + panel; }
  int LhsRegister(int group) const { return kSums + group; }
  int RhsRegister(int panel) const {
    const int first = LhsRegister(groups_);
    return first + panel % (kRegisters - first);
  }

  void Call(llvm::Intrinsic::ID intrinsic, llvm::ArrayRef<Value*> arguments) {
    b_.CreateIntrinsic(intrinsic, {}, arguments);
  }
  // The sums of up to PanelsAtOnce() panels from first_panel_ on.
  void EmitPanels() {
    EmitIfElse(
        Arg(kResume), [&] { ForSums([&](int sum, Value* at) { Load(sum, at, TileStride()); }); },
        [&] { ForSums([&](int sum, Value*) { Call(llvm::Intrinsic::x86_tilezero, {Register(sum)}); }); });
    Value* whole = b_.CreateAnd(Arg(kDepthArg), -int64_t{depth()}, "whole.depth");
    EmitLoop(b_, I64(0), whole, depth(), "k", [&](Value* k) { EmitBlock(k); });
    Value* rest = b_.CreateSub(Arg(kDepthArg), whole, "rest");
    EmitIf(b_, b_.CreateICmpNE(rest, I64(0)), "rest", [&] { EmitLastBlock(whole, rest); });
    ForSums([&](int sum, Value* at) {
      Call(llvm::Intrinsic::x86_tilestored64, {Register(sum), at, I64(TileStride())});
    });
  }

  template <typename Then, typename Else>
  void EmitIfElse(Value* condition, Then then_body, Else else_body) {
    EmitIf(b_, condition, "resumed", then_body);
    EmitIf(b_, b_.CreateNot(condition), "fresh", else_body);
  }

  int PanelsAtOnce() const { return kSums / groups_; }
  int Panels() const { return std::min(PanelsAtOnce(), kernel_.panels - first_panel_); }

  void Load(int number, Value* address, Value* stride) {
    Call(llvm::Intrinsic::x86_tileloadd64, {Register(number), address, stride});
  }
  void Load(int number, Value* address, int64_t stride) { Load(number, address, I64(stride)); }

  llvm::AllocaInst* Memory(int bytes, const char* name) {
    llvm::AllocaInst* memory = b_.CreateAlloca(llvm::ArrayType::get(b_.getInt8Ty(), bytes), nullptr, name);
    memory->setAlignment(llvm::Align(kRowBytes));
    return memory;
  }
  Value* Bytes(Value* base, Value* offset) { return b_.CreateInBoundsGEP(b_.getInt8Ty(), base, offset); }
  Value* Elements(Value* base, Value* offset) { return b_.CreateInBoundsGEP(Element(), base, offset); }

  template <typename Body>
  void ForSums(Body body) {
    for (int group = 0; group < groups_; ++group) {
      for (int panel = 0; panel < Panels(); ++panel) {
        const int64_t offset = FirstRow(group) * TileStride() + (first_panel_ + panel) * kRowBytes;
        body(SumRegister(group, panel), Bytes(Arg(kTile), I64(offset)));
      }
    }
  }

  // Bytes: palette, first row, 14 zeros, bytes per row of each register (u16[16]), rows of each (u8[16]).
  void EmitConfiguration() {
    std::array<uint8_t, 64> bytes = {1};
    const auto configure = [&](int number, int rows) {
      bytes[16 + 2 * number] = kRowBytes;
      bytes[48 + number] = static_cast<uint8_t>(rows);
    };
    for (int group = 0; group < groups_; ++group) {
      configure(LhsRegister(group), RowsOf(group));
      for (int panel = 0; panel < PanelsAtOnce(); ++panel) configure(SumRegister(group, panel), RowsOf(group));
    }
    for (int panel = 0; panel < PanelsAtOnce(); ++panel) configure(RhsRegister(panel), kRegisterRows);
    llvm::AllocaInst* memory = Memory(bytes.size(), "configuration");
    llvm::Constant* constant = llvm::ConstantDataVector::get(b_.getContext(), llvm::ArrayRef<uint8_t>(bytes));
    b_.CreateAlignedStore(constant, memory, llvm::Align(kRowBytes));
    Call(llvm::Intrinsic::x86_ldtilecfg, {memory});
  }

  // Adds the products of depth() steps from k on.
  void EmitBlock(Value* k) {
    if (!HasContiguousRows()) EmitGatherLhs(k, I64(depth()));
    for (int group = 0; group < groups_; ++group) {
      if (!HasContiguousRows()) {
        Load(LhsRegister(group), Bytes(lhs_block_, I64(FirstRow(group) * kRowBytes)), kRowBytes);
      } else {
        Value* offset = b_.CreateAdd(b_.CreateMul(Arg(kRowStride), I64(FirstRow(group))), k, "lhs.offset");
        Load(LhsRegister(group), Elements(Arg(kLhs), offset),
             b_.CreateMul(Arg(kRowStride), I64(element()), "lhs.stride"));
      }
    }
    EmitMatmuls([&](int panel) { Load(RhsRegister(panel), PanelAddress(panel, k), kRowBytes); });
  }

  // Adds the products of the last `rest` < depth() steps, from zero-padded copies. So neither operand is read past its
  // end, and where the last word is not whole the elements after a row's last one do not count.
  void EmitLastBlock(Value* k, Value* rest) {
    if (HasContiguousRows()) {
      EmitCopyLhs(k, rest);
    } else {
      EmitGatherLhs(k, rest);
    }
    for (int group = 0; group < groups_; ++group) {
      Load(LhsRegister(group), Bytes(lhs_block_, I64(FirstRow(group) * kRowBytes)), kRowBytes);
    }
    const int steps = kernel_.word_steps();
    Value* words = b_.CreateUDiv(b_.CreateAdd(rest, I64(steps - 1)), I64(steps), "rest.words");
    EmitMatmuls([&](int panel) {
      EmitCopyPanel(PanelAddress(panel, k), words);
      Load(RhsRegister(panel), rhs_block_, kRowBytes);
    });
  }

  template <typename LoadPanel>
  void EmitMatmuls(LoadPanel load_panel) {
    for (int panel = 0; panel < Panels(); ++panel) {
      load_panel(panel);
      for (int group = 0; group < groups_; ++group) {
        Call(kernel_.rhs == DType::kI8 ? llvm::Intrinsic::x86_tdpbusd : llvm::Intrinsic::x86_tdpbf16ps,
             {Register(SumRegister(group, panel)), Register(LhsRegister(group)), Register(RhsRegister(panel))});
      }
    }
  }

  Value* PanelAddress(int panel, Value* k) {
    Value* offset = b_.CreateMul(Arg(kPanelStride), I64(first_panel_ + panel), "panel.offset");
    return Elements(Arg(kRhs), b_.CreateAdd(offset, b_.CreateMul(k, I64(kPanelColumns)), "rhs.offset"));
  }

  Value* TableEntry(Argument table, Value* index) {
    Value* entry = b_.CreateInBoundsGEP(b_.getInt64Ty(), Arg(table), index, "entry");
    return b_.CreateAlignedLoad(b_.getInt64Ty(), entry, llvm::Align(8), "offset");
  }
  Value* DepthOffset(Value* k) {
    return kernel_.tables ? TableEntry(kDepthStride, k) : b_.CreateMul(k, Arg(kDepthStride), "depth.offset");
  }

  Value* RowAddress(Value* row, Value* k) {
    Value* offset = kernel_.tables ? TableEntry(kRowStride, row) : b_.CreateMul(row, Arg(kRowStride), "row.offset");
    return Elements(Arg(kLhs), b_.CreateAdd(offset, DepthOffset(k), "lhs.offset"));
  }

  // lhs_block_[row][0..depth()-1] = row of the lhs from k on; zero from `count` on.
  void EmitCopyLhs(Value* k, Value* count) {
    Value* mask = LanesBelow(count, depth());
    EmitLoop(b_, I64(0), I64(kernel_.rows), 1, "copy.row", [&](Value* row) {
      CopyRow(RowAddress(row, k), mask, Bytes(lhs_block_, b_.CreateMul(row, I64(kRowBytes))));
    });
  }

  void EmitCopyPanel(Value* from, Value* words) {
    EmitLoop(b_, I64(0), I64(kRegisterRows), 1, "copy.word", [&](Value* word) {
      Value* offset = b_.CreateMul(word, I64(kRowBytes));
      Value* mask = b_.CreateVectorSplat(depth(), b_.CreateICmpULT(word, words), "copy.mask");
      CopyRow(Bytes(from, offset), mask, Bytes(rhs_block_, offset));
    });
  }

  void CopyRow(Value* from, Value* mask, Value* to) {
    auto* type = llvm::FixedVectorType::get(Element(), depth());
    Value* row =
        b_.CreateMaskedLoad(type, from, llvm::Align(element()), mask, llvm::Constant::getNullValue(type), "copied");
    b_.CreateAlignedStore(row, to, llvm::Align(kRowBytes));
  }

  Value* LanesBelow(Value* count, int lanes) {
    llvm::SmallVector<llvm::Constant*, kRowBytes> numbers;
    for (int i = 0; i < lanes; ++i) numbers.push_back(b_.getInt16(i));
    Value* limit = b_.CreateVectorSplat(lanes, b_.CreateTrunc(count, b_.getInt16Ty()));
    return b_.CreateICmpULT(llvm::ConstantVector::get(numbers), limit, "copy.mask");
  }

  // As EmitCopyLhs, for an lhs that is not contiguous along K.
  void EmitGatherLhs(Value* k, Value* count) {
    EmitLoop(b_, I64(0), I64(kernel_.rows), 1, "gather.row", [&](Value* row) {
      Value* to = Bytes(lhs_block_, b_.CreateMul(row, I64(kRowBytes)));
      EmitLoop(b_, I64(0), count, 1, "gather.k", [&](Value* i) {
        Value* from = RowAddress(row, b_.CreateAdd(k, i));
        Value* gathered = b_.CreateAlignedLoad(Element(), from, llvm::Align(element()), "gathered");
        b_.CreateAlignedStore(gathered, Elements(to, i), llvm::Align(element()));
      });
      EmitLoop(b_, count, I64(depth()), 1, "gather.zero", [&](Value* i) {
        b_.CreateAlignedStore(llvm::Constant::getNullValue(Element()), Elements(to, i), llvm::Align(element()));
      });
    });
  }

  const MicroKernel& kernel_;
  llvm::Function* function_;
  llvm::IRBuilder<> b_;
  const int groups_;  // of up to 16 rows
  int first_panel_ = 0;
  std::vector<Value*> arguments_;
  Value *lhs_block_ = nullptr, *rhs_block_ = nullptr;  // copies that registers are loaded from
};

}  // namespace

void EmitTileKernel(const MicroKernel& kernel, llvm::Function* function) { TileKernelEmitter(kernel, function).Emit(); }

}  // namespace tailor::gemm

#include "codegen/cpu/gemm/micro_kernel.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/cpu/gemm/row_vector_kernel.h"
#include "codegen/cpu/gemm/square_kernel.h"
#include "codegen/cpu/gemm/tile_kernel.h"
#include "codegen/ir/memory_hints.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsX86.h"

namespace tailor::gemm {
namespace {

enum Argument {
  kLhs,
  kRowStride,
  kDepthStride,
  kRhs,
  kRhsStride,
  kDepth,
  kTile,
  kResume,
  kAhead,
  kAheadStride,
  kAheadStep
};

bool ConvertsPairs(const MicroKernel& kernel, const EmitTarget& target) {
  return kernel.rhs == DType::kBF16 && target.bf16_matmuls == BF16Matmuls::kConverted;
}

bool HasIntegerDotProducts(const MicroKernel& kernel, const EmitTarget& target) {
  return target.integer_matmuls != IntegerMatmuls::kPairs && kernel.lanes >= 8;
}

bool WidensBytes(const MicroKernel& kernel, const EmitTarget& target) {
  return kernel.rhs == DType::kI8 && !HasIntegerDotProducts(kernel, target);
}

// Whether a step on words is emitted as two steps that read the same words.
bool ReadsWordsTwice(const MicroKernel& kernel, const EmitTarget& target) {
  return ConvertsPairs(kernel, target) || WidensBytes(kernel, target);
}

// `ordered_reads`: fences order the reads, so operands get no attribute that excludes other writers.
void SetArgumentNamesAndAliasing(const MicroKernel& kernel, bool ordered_reads, llvm::Function& function) {
  const char* const kNames[] = {"lhs",
                                kernel.tables || kernel.rows_in_lanes ? "row_offsets" : "row_stride",
                                kernel.tables    ? "depth_offsets"
                                : kernel.squares ? "rows"
                                                 : "depth_stride",
                                "rhs",
                                "rhs_stride",
                                "depth",
                                "tile",
                                "resume",
                                kernel.rows_in_lanes ? "rows" : "ahead",
                                "ahead_stride",
                                "ahead_step"};
  for (llvm::Argument& argument : function.args()) {
    argument.setName(kNames[argument.getArgNo()]);
    const bool alone = argument.getArgNo() != kAhead && argument.getType()->isPointerTy();
    if (alone && !ordered_reads) argument.addAttr(llvm::Attribute::NoAlias);
  }
}

class MicroKernelEmitter {
 public:
  MicroKernelEmitter(const MicroKernel& kernel, const EmitTarget& target, llvm::Function* function)
      : kernel_(kernel), target_(target), function_(function), b_(function->getContext()) {
    columns_ = kernel.sums() / kernel.rows;
    pieces_ = kPanelColumns / kernel.lanes;
    vector_ = RegisterType(function->getContext(), kernel.accumulate, kernel.lanes);
  }

  // entry -> (resume) -> loop of blocks of steps -> loop of steps -> exit, which stores the sums. A last word that is
  // not whole adds one block on the way to exit, or an exit from the middle of a step.
  void Emit() {
    llvm::BasicBlock* entry = Block("entry");
    llvm::BasicBlock* resume = Block("resume");
    llvm::BasicBlock* blocks = BlockSteps() > 1 ? Block("blocks") : nullptr;
    llvm::BasicBlock* steps = Block("steps");
    exit_ = Block("exit");

    b_.SetInsertPoint(entry);
    EmitAddresses();
    if (InWords()) last_k_ = b_.CreateSub(Arg(kDepth), b_.getInt64(1), "last.k");
    State start{.k = b_.getInt64(0), .sums = Sums(TileSize(), llvm::Constant::getNullValue(vector_))};
    if (LoadsOffsetsAhead()) start.offset = TableEntry(kDepthStride, start.k);
    for (int r = 0; AdvancesRows() && r < kernel_.rows; r += kRowsPerPointer) start.lhs.push_back(lhs_rows_[r]);
    llvm::Value* whole_blocks = b_.CreateSub(Arg(kDepth), b_.getInt64(BlockSteps() - 1), "whole.blocks");
    llvm::Value* whole_words = b_.CreateSub(Arg(kDepth), b_.getInt64(kernel_.word_steps() - 1), "whole.words");
    b_.CreateCondBr(Arg(kResume), resume, blocks != nullptr ? blocks : steps);
    Edges edges = {{entry, start}};

    b_.SetInsertPoint(resume);
    start.sums = LoadTile();
    b_.CreateBr(blocks != nullptr ? blocks : steps);
    edges.emplace_back(resume, start);

    if (blocks != nullptr) {
      const State state = EmitLoop(blocks, edges, whole_blocks, steps, BlockSteps(), [&](State at) {
        for (int step = 0; step < BlockSteps(); ++step) {
          if (step > 0) EmitOrderOfReads(b_);
          at = EmitSingleStep(at);
        }
        return at;
      });
      edges = {{blocks, state}};
    }

    const bool at_once = InWords() && !ConvertsPairs(kernel_, target_);
    llvm::BasicBlock* rest = at_once && !kernel_.whole_words ? Block("rest") : exit_;
    const State state = EmitLoop(steps, edges, at_once ? whole_words : Arg(kDepth), rest, kernel_.word_steps(),
                                 [&](const State& at) { return InWords() ? EmitWordAt(at) : EmitSingleStep(at); });
    if (rest == exit_) {
      exits_.push_back({steps, state.sums});
    } else {
      EmitLastWord(rest, state.k, state.sums);
    }
    EmitExit();
  }

 private:
  using Sums = std::vector<llvm::Value*>;

  // What a step begins with.
  struct State {
    llvm::Value* k;
    llvm::Value* offset = nullptr;       // of k, if LoadsOffsetsAhead()
    std::vector<llvm::Value*> lhs = {};  // at k, of every third row, if AdvancesRows()
    Sums sums;
  };
  using Edges = std::vector<std::pair<llvm::BasicBlock*, State>>;

  // Emits a loop with `header`, which `edges` enter: while k < end, body(state) is the state after the next `steps`
  // steps. Returns the state with which the loop leaves for `next`.
  State EmitLoop(llvm::BasicBlock* header, const Edges& edges, llvm::Value* end, llvm::BasicBlock* next, int steps,
                 llvm::function_ref<State(const State&)> body) {
    b_.SetInsertPoint(header);
    std::vector<llvm::PHINode*> phis;
    const auto phi = [&](llvm::Value* State::*part, const char* name) {
      phis.push_back(b_.CreatePHI(b_.getInt64Ty(), 3, name));
      for (const auto& [from, state] : edges) phis.back()->addIncoming(state.*part, from);
      return phis.back();
    };
    State state{.k = phi(&State::k, "k")};
    if (LoadsOffsetsAhead()) state.offset = phi(&State::offset, "offset");
    for (size_t i = 0; i < edges[0].second.lhs.size(); ++i) {
      llvm::PHINode* row = b_.CreatePHI(b_.getPtrTy(), 3, "rows.at");
      for (const auto& [from, arriving] : edges) row->addIncoming(arriving.lhs[i], from);
      state.lhs.push_back(row);
    }
    for (int i = 0; i < TileSize(); ++i) {
      llvm::PHINode* sum = b_.CreatePHI(vector_, 3, "sum");
      for (const auto& [from, arriving] : edges) sum->addIncoming(arriving.sums[i], from);
      state.sums.push_back(sum);
    }
    llvm::BasicBlock* inside = Block("body");
    b_.CreateCondBr(b_.CreateICmpSLT(state.k, end, "more"), inside, next);

    b_.SetInsertPoint(inside);
    const bool fetches = kernel_.fetch_ahead && !ReadsWordsTwice(kernel_, target_);
    if (fetches && BlockSteps() > 1 && steps == BlockSteps()) EmitFetchAhead(state.k, steps);
    const State after = body(state);
    if (fetches && BlockSteps() == 1) EmitFetchAhead(state.k, 1);
    llvm::BasicBlock* last = b_.GetInsertBlock();
    phis[0]->addIncoming(after.k, last);
    if (state.offset != nullptr) phis[1]->addIncoming(after.offset, last);
    const auto advance = [&](const std::vector<llvm::Value*>& values, const std::vector<llvm::Value*>& next) {
      for (size_t i = 0; i < values.size(); ++i) llvm::cast<llvm::PHINode>(values[i])->addIncoming(next[i], last);
    };
    advance(state.sums, after.sums);
    advance(state.lhs, after.lhs);
    b_.CreateBr(header);
    return state;
  }

  llvm::Value* After(llvm::Value* k, int steps) { return b_.CreateAdd(k, b_.getInt64(steps), "k.next", true, true); }

  State EmitSingleStep(const State& at) {
    depth_offset_ = at.offset;
    lhs_at_ = at.lhs;
    State after{.sums = EmitStep(at.sums, Factors(at.k))};
    for (llvm::Value* row : at.lhs) after.lhs.push_back(NextStep(row));
    after.k = After(at.k, 1);
    if (at.offset != nullptr) after.offset = TableEntry(kDepthStride, after.k);
    return after;
  }

  // A pointer of State::lhs a step further. The optimizer does not see that it is one: it would keep the address of
  // each row instead, and advance them all.
  llvm::Value* NextStep(llvm::Value* row) {
    llvm::Type* lhs = MemoryType(function_->getContext(), kernel_.lhs, 1);
    llvm::Value* next = b_.CreateGEP(lhs, row, Arg(kDepthStride), "rows.next");
    auto* type = llvm::FunctionType::get(b_.getPtrTy(), {b_.getPtrTy()}, false);
    return b_.CreateCall(llvm::InlineAsm::get(type, "", "=r,0", /*hasSideEffects=*/false), {next});
  }

  State EmitWordAt(const State& at) {
    State after{.sums = ConvertsPairs(kernel_, target_) ? EmitHalves(at.k, at.sums) : EmitWord(at.k, at.sums)};
    after.k = After(at.k, kernel_.word_steps());
    return after;
  }

  llvm::BasicBlock* Block(const char* name) {
    return llvm::BasicBlock::Create(function_->getContext(), name, function_);
  }
  llvm::Value* Arg(Argument argument) { return function_->getArg(argument); }
  llvm::Align TileAlign() const { return llvm::Align(kernel_.lanes * SizeOf(kernel_.accumulate)); }
  int TileSize() const { return kernel_.sums(); }
  int BlockSteps() const { return StepsPerBlock(kernel_, target_); }

  // One pointer, advanced at each step, serves three rows: addresses have a base and 0, 1 or 2 strides.
  static constexpr int kRowsPerPointer = 3;
  bool AdvancesRows() const {
    return BlockSteps() > 1 && !kernel_.tables && !kernel_.unit_depth_stride && !kernel_.packed_rows;
  }

  // Address of sum number `i`.
  llvm::Value* TileAddress(int i) {
    const int place = i / columns_ * kernel_.panels * pieces_ + i % columns_;
    return b_.CreateConstInBoundsGEP1_64(vector_, Arg(kTile), place, "tile.piece");
  }

  // Addresses of the first element of each row and panel.
  void EmitAddresses() {
    llvm::Type* lhs = MemoryType(function_->getContext(), kernel_.lhs, 1);
    llvm::Type* rhs = MemoryType(function_->getContext(), kernel_.rhs, 1);
    for (int r = 0; r < kernel_.rows; ++r) {
      llvm::Value* offset = kernel_.tables        ? TableEntry(kRowStride, b_.getInt64(r))
                            : kernel_.packed_rows ? b_.getInt64(r)
                                                  : b_.CreateMul(b_.getInt64(r), Arg(kRowStride), "row.offset");
      lhs_rows_.push_back(b_.CreateInBoundsGEP(lhs, Arg(kLhs), offset, "row"));
    }
    for (int p = 0; p < kernel_.panels; ++p) {
      llvm::Value* stride = kernel_.rhs_rows ? b_.getInt64(kPanelColumns) : Arg(kRhsStride);
      llvm::Value* offset = b_.CreateMul(b_.getInt64(p), stride, "panel.offset");
      rhs_panels_.push_back(b_.CreateInBoundsGEP(rhs, Arg(kRhs), offset, "panel"));
    }
  }

  Sums LoadTile() {
    Sums values;
    for (int i = 0; i < TileSize(); ++i) {
      values.push_back(b_.CreateAlignedLoad(vector_, TileAddress(i), TileAlign(), "resumed"));
    }
    return values;
  }

  llvm::Value* ToAccumulate(DType dtype, llvm::Value* memory) {
    llvm::Value* value = FromLoaded(dtype, memory);
    const int lanes = value->getType()->isVectorTy() ? kernel_.lanes : 1;
    llvm::Type* type = RegisterType(function_->getContext(), kernel_.accumulate, lanes);
    return value->getType() == type ? value : b_.CreateFPExt(value, type, "widened");
  }

  // CPU levels with fused multiply-add also have f16c: widening f16 is one instruction.
  llvm::Value* FromLoaded(DType dtype, llvm::Value* memory) {
    if (dtype != DType::kF16 || !target_.fma) return FromMemory(b_, dtype, memory);
    llvm::Type* half = b_.getHalfTy();
    if (memory->getType()->isVectorTy()) half = llvm::FixedVectorType::get(half, kernel_.lanes);
    llvm::Type* single = half->getWithNewType(b_.getFloatTy());
    return b_.CreateFPExt(b_.CreateBitCast(memory, half, "half"), single, "from.f16");
  }

  // Operands of a step: lhs(row) is the element of that row in every lane; rhs(column) is a register of the rhs, column
  // < columns_. multiply_add adds the product of the two to a sum.
  struct StepFactors {
    std::function<llvm::Value*(int row)> lhs;
    std::function<llvm::Value*(int column)> rhs;
    std::function<llvm::Value*(llvm::Value* lhs, llvm::Value* rhs, llvm::Value* sum)> multiply_add;
  };

  // Operands at k; the lhs is at k + `ahead`.
  StepFactors Factors(llvm::Value* k, int ahead = 0) {
    return {[=, this](int row) { return Splat(ToAccumulate(kernel_.lhs, LoadLhs(row, k, ahead))); },
            [=, this](int column) { return ToAccumulate(kernel_.rhs, LoadRhs(column, k)); },
            [this](auto* x, auto* y, auto* sum) { return MultiplyAdd(x, y, sum); }};
  }

  llvm::Value* Splat(llvm::Value* scalar) { return b_.CreateVectorSplat(kernel_.lanes, scalar, "lhs.splat"); }

  llvm::Value* TableEntry(Argument table, llvm::Value* index) {
    llvm::Value* entry = b_.CreateInBoundsGEP(b_.getInt64Ty(), Arg(table), index, "entry");
    return b_.CreateAlignedLoad(b_.getInt64Ty(), entry, llvm::Align(8), "offset");
  }

  // Whether a step finds its offset in a register. Otherwise the scheduler puts all dependent loads first, and sums
  // spill.
  bool LoadsOffsetsAhead() const { return kernel_.tables && !InWords(); }

  llvm::Value* DepthOffset(llvm::Value* k) {
    if (depth_offset_ != nullptr) return depth_offset_;
    if (kernel_.tables) return TableEntry(kDepthStride, k);
    if (kernel_.unit_depth_stride) return k;
    llvm::Value* stride = kernel_.packed_rows ? b_.getInt64(kernel_.rows) : Arg(kDepthStride);
    return b_.CreateMul(k, stride, "depth.offset");
  }

  llvm::Value* LhsAddress(int row, llvm::Value* k) {
    llvm::Type* type = MemoryType(function_->getContext(), kernel_.lhs, 1);
    if (!lhs_at_.empty()) {
      llvm::Value* offset = b_.CreateMul(Arg(kRowStride), b_.getInt64(row % kRowsPerPointer), "row.offset");
      return b_.CreateInBoundsGEP(type, lhs_at_[row / kRowsPerPointer], offset, "lhs.address");
    }
    return b_.CreateInBoundsGEP(type, lhs_rows_[row], DepthOffset(k), "lhs.address");
  }

  // The element of a row at k + `ahead`.
  llvm::Value* LoadLhs(int row, llvm::Value* k, int ahead = 0) {
    llvm::Type* type = MemoryType(function_->getContext(), kernel_.lhs, 1);
    if (ahead > 0 && kernel_.tables) k = b_.CreateAdd(k, b_.getInt64(ahead));
    llvm::Value* address = LhsAddress(row, k);
    if (ahead > 0 && !kernel_.tables) {
      llvm::Value* stride = kernel_.unit_depth_stride ? b_.getInt64(1) : Arg(kDepthStride);
      address = b_.CreateInBoundsGEP(type, address, b_.CreateMul(stride, b_.getInt64(ahead)), "lhs.next");
    }
    return b_.CreateAlignedLoad(type, address, llvm::Align(SizeOf(kernel_.lhs)), "lhs.scalar");
  }

  // One register of row k of a panel; with words, of those that begin at k.
  llvm::Value* LoadRhs(int column, llvm::Value* k) {
    llvm::Type* element = MemoryType(function_->getContext(), kernel_.rhs, 1);
    // Rows of a reversed tensor have a negative stride.
    llvm::Value* row = kernel_.rhs_rows ? b_.CreateMul(k, Arg(kRhsStride), "rhs.row")
                                        : b_.CreateShl(k, b_.getInt64(4), "rhs.row", true, true);
    const int64_t first = column % pieces_ * kernel_.lanes * kernel_.word_steps();
    llvm::Value* offset = b_.CreateAdd(row, b_.getInt64(first), "rhs.offset", !kernel_.rhs_rows, !kernel_.rhs_rows);
    llvm::Value* address = b_.CreateInBoundsGEP(element, rhs_panels_[column / pieces_], offset, "rhs.address");
    llvm::Type* type = InWords() ? Words() : MemoryType(function_->getContext(), kernel_.rhs, kernel_.lanes);
    const llvm::Align align((kernel_.rhs_rows ? 1 : kernel_.lanes) * SizeOf(kernel_.rhs) * kernel_.word_steps());
    return b_.CreateAlignedLoad(type, address, align, "rhs.piece");
  }

  // ---- Words of bf16, i16 or bytes, with the element of the first k in the low bits ----

  bool InWords() const { return kernel_.word_steps() > 1; }
  llvm::Type* Words() { return llvm::FixedVectorType::get(b_.getInt32Ty(), kernel_.lanes); }
  llvm::Type* HalfWords() { return llvm::FixedVectorType::get(b_.getInt16Ty(), 2 * kernel_.lanes); }

  llvm::Value* LoadLhsWord(int row, llvm::Value* k) {
    if (kernel_.unit_depth_stride) {
      return b_.CreateAlignedLoad(b_.getInt32Ty(), LhsAddress(row, k), llvm::Align(SizeOf(kernel_.lhs)), "lhs.word");
    }
    llvm::Value* word = b_.CreateZExt(LoadLhs(row, k), b_.getInt32Ty(), "lhs.low");
    for (int step = 1; step < kernel_.word_steps(); ++step) {
      word = b_.CreateOr(word, Shifted(LoadLhs(row, k, step), step), "lhs.word");
    }
    return word;
  }

  // The last word of a row, which is not whole: elements past it repeat the last one, for the rhs is zero there.
  llvm::Value* LoadLastLhsWord(int row, llvm::Value* k) {
    llvm::Value* word = b_.CreateZExt(LoadLhs(row, k), b_.getInt32Ty(), "lhs.low");
    for (int step = 1; step + 1 < kernel_.word_steps(); ++step) {
      llvm::Value* at = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateAdd(k, b_.getInt64(step)), last_k_);
      word = b_.CreateOr(word, Shifted(LoadLhs(row, at), step), "lhs.word");
    }
    return word;
  }

  llvm::Value* Shifted(llvm::Value* element, int step) {
    llvm::Value* wide = b_.CreateZExt(element, b_.getInt32Ty());
    return b_.CreateShl(wide, b_.getInt32(step * 8 * SizeOf(kernel_.lhs)), "lhs.high");
  }

  llvm::Value* MultiplyAddWords(llvm::Value* x, llvm::Value* y, llvm::Value* sum) {
    if (kernel_.rhs == DType::kI16) return MultiplyAddI16Pairs(x, y, sum);
    if (kernel_.rhs == DType::kI8) return MultiplyAddBytes(x, y, sum);
    assert(kernel_.lanes == kPanelColumns);
    llvm::Type* pairs = llvm::FixedVectorType::get(b_.getBFloatTy(), 2 * kernel_.lanes);
    llvm::Value* factors[] = {sum, b_.CreateBitCast(x, pairs), b_.CreateBitCast(y, pairs)};
    return b_.CreateIntrinsic(llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512, {}, factors, nullptr, "sum.next");
  }

  // vpmaddwd overflows for four factors of -32768 only, to 2^31 modulo 2^32: what sums of i32 wrap to as well.
  llvm::Value* MultiplyAddI16Pairs(llvm::Value* x, llvm::Value* y, llvm::Value* sum) {
    const bool wide = kernel_.lanes == 16, half = kernel_.lanes == 8;
    if (HasIntegerDotProducts(kernel_, target_)) {
      const llvm::Intrinsic::ID add =
          wide ? llvm::Intrinsic::x86_avx512_vpdpwssd_512 : llvm::Intrinsic::x86_avx512_vpdpwssd_256;
      return b_.CreateIntrinsic(add, {}, {sum, x, y}, nullptr, "sum.next");
    }
    const llvm::Intrinsic::ID multiply = wide   ? llvm::Intrinsic::x86_avx512_pmaddw_d_512
                                         : half ? llvm::Intrinsic::x86_avx2_pmadd_wd
                                                : llvm::Intrinsic::x86_sse2_pmadd_wd;
    llvm::Value* factors[] = {b_.CreateBitCast(x, HalfWords()), b_.CreateBitCast(y, HalfWords())};
    return b_.CreateAdd(sum, b_.CreateIntrinsic(multiply, {}, factors, nullptr, "products"), "sum.next");
  }

  llvm::Value* MultiplyAddBytes(llvm::Value* x, llvm::Value* y, llvm::Value* sum) {
    const llvm::Intrinsic::ID add =
        kernel_.lanes == 16 ? llvm::Intrinsic::x86_avx512_vpdpbusd_512 : llvm::Intrinsic::x86_avx512_vpdpbusd_256;
    return b_.CreateIntrinsic(add, {}, {sum, x, y}, nullptr, "sum.next");
  }

  // Adds the products of the word at k, whole or the `last` one.
  Sums EmitWord(llvm::Value* k, const Sums& sums, bool last = false) {
    const StepFactors factors{[&](int row) { return Splat(last ? LoadLastLhsWord(row, k) : LoadLhsWord(row, k)); },
                              [&](int column) { return LoadRhs(column, k); },
                              [this](auto* x, auto* y, auto* sum) { return MultiplyAddWords(x, y, sum); }};
    return WidensBytes(kernel_, target_) ? EmitPairsOfBytes(k, sums, factors) : EmitStep(sums, factors);
  }

  // As pairs of i16: steps 0 and 2 of the word, then steps 1 and 3.
  Sums EmitPairsOfBytes(llvm::Value* k, const Sums& sums, const StepFactors& words) {
    const auto half = [&](const Sums& from, bool high) {
      return EmitStep(from, {[&](int row) {
                               return kernel_.split_words ? Splat(LoadSplitWord(row, k, high))
                                                          : Unsigned(words.lhs(row), high);
                             },
                             [&](int column) { return Signed(words.rhs(column), high); },
                             [this](auto* x, auto* y, auto* sum) { return MultiplyAddI16Pairs(x, y, sum); }});
    };
    const Sums even = half(sums, false);
    kernel_.split_words ? EmitOrderOfReads(b_) : OpenOddBlock(k, even);
    return half(even, true);
  }

  // A word of split rows; k is a multiple of its four steps.
  llvm::Value* LoadSplitWord(int row, llvm::Value* k, bool high) {
    llvm::Value* offset = b_.CreateAdd(b_.CreateShl(k, 1, "split.k", true, true), b_.getInt64(high ? 4 : 0));
    llvm::Value* address = b_.CreateInBoundsGEP(b_.getInt8Ty(), lhs_rows_[row], offset, "lhs.address");
    return b_.CreateAlignedLoad(b_.getInt32Ty(), address, llvm::Align(4), "lhs.word");
  }

  // Opens a block for what a word holds from k + 1 on, after the sums `even` of what it holds at k; none follows if
  // k + 1 = depth. The block reads the panels' words again: keeping them would take the registers of the sums.
  void OpenOddBlock(llvm::Value* k, const Sums& even) {
    llvm::BasicBlock* odd = Block("odd");
    exits_.push_back({b_.GetInsertBlock(), even});
    b_.CreateCondBr(b_.CreateICmpSLT(k, last_k_, "whole"), odd, exit_);
    b_.SetInsertPoint(odd);
    EmitOrderOfReads(b_);
  }

  // The low or high byte of each 16 bits.
  llvm::Value* Unsigned(llvm::Value* words, bool high) {
    llvm::Value* halves = b_.CreateBitCast(words, HalfWords());
    return b_.CreateLShr(high ? halves : b_.CreateShl(halves, 8), 8, high ? "lhs.odd" : "lhs.even");
  }
  llvm::Value* Signed(llvm::Value* words, bool high) {
    llvm::Value* halves = b_.CreateBitCast(words, HalfWords());
    return b_.CreateAShr(high ? halves : b_.CreateShl(halves, 8), 8, high ? "rhs.odd" : "rhs.even");
  }

  // Adds the products of bf16 at k in f32, then those at k + 1.
  Sums EmitHalves(llvm::Value* k, const Sums& sums) {
    StepFactors factors = Factors(k);
    factors.rhs = [&](int column) { return b_.CreateBitCast(b_.CreateShl(LoadRhs(column, k), 16), vector_, "even"); };
    const Sums even = EmitStep(sums, factors);
    OpenOddBlock(k, even);
    factors = Factors(k, 1);
    factors.rhs = [&](int column) {
      return b_.CreateBitCast(b_.CreateAnd(LoadRhs(column, k), 0xffff0000), vector_, "odd");
    };
    return EmitStep(even, factors);
  }

  // In `rest`: the steps that are left, fewer than a word's.
  void EmitLastWord(llvm::BasicBlock* rest, llvm::Value* k, const Sums& sums) {
    llvm::BasicBlock* part = Block("last.word");
    b_.SetInsertPoint(rest);
    exits_.push_back({rest, sums});
    b_.CreateCondBr(b_.CreateICmpSLT(k, Arg(kDepth), "any"), part, exit_);
    b_.SetInsertPoint(part);
    const Sums all = EmitWord(k, sums, true);
    exits_.push_back({b_.GetInsertBlock(), all});
    b_.CreateBr(exit_);
  }

  void EmitExit() {
    exit_->moveAfter(&function_->back());  // before a loop's body, LLVM would copy and spill the sums
    b_.SetInsertPoint(exit_);
    Sums sums;
    for (int i = 0; i < TileSize(); ++i) {
      llvm::PHINode* sum = b_.CreatePHI(vector_, exits_.size(), "sum.last");
      for (const auto& [block, arriving] : exits_) sum->addIncoming(arriving[i], block);
      sums.push_back(sum);
    }
    for (int i = 0; i < TileSize(); ++i) b_.CreateAlignedStore(sums[i], TileAddress(i), TileAlign());
    b_.CreateRetVoid();
  }

  // In separate blocks: a prefetch within a step would pin the step's loads, and the sums would spill.
  void EmitFetchAhead(llvm::Value* k, int steps) {
    llvm::BasicBlock* fetch = Block("fetch");
    llvm::BasicBlock* fetched = Block("fetched");
    llvm::Value* bytes = b_.CreateMul(Arg(kAheadStep), b_.getInt64(steps), "ahead.bytes");
    llvm::Value* offset = b_.CreateMul(k, Arg(kAheadStep), "ahead.offset");
    llvm::Value* in_line = b_.CreateAnd(offset, b_.getInt64(kLineBytes - 1));
    b_.CreateCondBr(b_.CreateICmpULT(in_line, bytes, "next.line"), fetch, fetched);
    b_.SetInsertPoint(fetch);
    EmitFetches(offset);
    if (steps > 1) {
      llvm::BasicBlock* more = Block("fetch.more");
      b_.CreateCondBr(b_.CreateICmpUGT(bytes, b_.getInt64(kLineBytes), "lines"), more, fetched);
      b_.SetInsertPoint(more);
      for (int step = 1; step < steps; ++step) {
        offset = b_.CreateAdd(offset, Arg(kAheadStep), "ahead.offset");
        EmitFetches(offset);
      }
    }
    b_.CreateBr(fetched);
    b_.SetInsertPoint(fetched);
  }

  // A line of each stream.
  void EmitFetches(llvm::Value* offset) {
    for (int stream = 0; stream < kernel_.panels; ++stream) {
      EmitPrefetchLine(b_, b_.CreateGEP(b_.getInt8Ty(), Arg(kAhead), offset, "ahead.line"));
      offset = b_.CreateAdd(offset, Arg(kAheadStride), "ahead.offset");
    }
  }

  llvm::Value* MultiplyAdd(llvm::Value* x, llvm::Value* y, llvm::Value* sum) {
    if (!IsFloat(kernel_.accumulate)) return b_.CreateAdd(sum, b_.CreateMul(x, y, "product"), "sum.next");
    if (!target_.fma) return b_.CreateFAdd(sum, b_.CreateFMul(x, y, "product"), "sum.next");
    return b_.CreateIntrinsic(llvm::Intrinsic::fma, {vector_}, {x, y, sum}, nullptr, "sum.next");
  }

  // One step of every sum. Sums are numbered [row][register], as in the tile. The operand with fewer registers is
  // loaded first and kept, and the other streams past it: that leaves the most registers for sums.
  Sums EmitStep(const Sums& sums, const StepFactors& factors) {
    const bool keep_rhs = columns_ < kernel_.rows;
    std::vector<llvm::Value*> kept;
    for (int i = 0; i < std::min(columns_, kernel_.rows); ++i) {
      kept.push_back(keep_rhs ? factors.rhs(i) : factors.lhs(i));
    }
    Sums next(sums.size());
    for (int outer = 0; outer < std::max(columns_, kernel_.rows); ++outer) {
      llvm::Value* passing = keep_rhs ? factors.lhs(outer) : factors.rhs(outer);
      for (size_t inner = 0; inner < kept.size(); ++inner) {
        const int i = keep_rhs ? outer * columns_ + inner : inner * columns_ + outer;
        llvm::Value *lhs = keep_rhs ? passing : kept[inner], *rhs = keep_rhs ? kept[inner] : passing;
        next[i] = factors.multiply_add(lhs, rhs, sums[i]);
      }
    }
    return next;
  }

  const MicroKernel& kernel_;
  const EmitTarget& target_;
  llvm::Function* function_;
  llvm::IRBuilder<> b_;
  int pieces_;          // registers of a whole panel row
  int columns_;         // registers of a row of sums
  llvm::Type* vector_;  // one such register
  std::vector<llvm::Value*> lhs_rows_, rhs_panels_;
  std::vector<llvm::Value*> lhs_at_;     // State::lhs of the current step
  llvm::Value* depth_offset_ = nullptr;  // of the current step, if loaded ahead
  llvm::Value* last_k_ = nullptr;
  llvm::BasicBlock* exit_ = nullptr;
  std::vector<std::pair<llvm::BasicBlock*, Sums>> exits_;  // at exit_, with the sums there
};

}  // namespace

int StepsPerBlock(const MicroKernel& kernel, const EmitTarget& target) {
  constexpr int kMostSums = 12, kMostRows = 7, kSteps = 4;
  const bool blocks = target.fma && !kernel.squares && kernel.lhs == kernel.accumulate;
  const bool many_rows = !kernel.rows_in_lanes && kernel.rows > kMostRows;
  return blocks && kernel.sums() <= kMostSums && !many_rows ? kSteps : 1;
}

std::string NameOf(const MicroKernel& kernel) {
  if (kernel.rows_in_lanes) {
    return absl::StrCat("micro_", NameOf(kernel.accumulate), "_rows_", kernel.lanes, "x2x", kernel.columns,
                        kernel.tables ? "_tables" : "", kernel.masks_rows ? "_masked" : "");
  }
  if (kernel.squares) return absl::StrCat("micro_f32_squares_", kernel.columns, "_columns");
  std::string name = absl::StrCat("micro_", NameOf(kernel.lhs), "_", NameOf(kernel.rhs), "_", NameOf(kernel.accumulate),
                                  "_", kernel.lanes, "_", kernel.rows, "x", kernel.panels);
  if (kernel.columns < kPanelColumns) absl::StrAppend(&name, "_", kernel.columns, "_columns");
  if (kernel.packed_rows) {
    name += "_packed";
  } else if (kernel.tables) {
    name += kernel.unit_depth_stride ? "_tables_of_words" : "_tables";
  } else if (!kernel.unit_depth_stride) {
    name += "_strided";
  }
  if (kernel.split_words) name += "_split";
  if (kernel.whole_words) name += "_whole";
  if (kernel.fetch_ahead) name += "_ahead";
  if (kernel.rhs_rows) name += "_rhs_rows";
  return name;
}

llvm::Function* DeclareMicroKernel(const MicroKernel& kernel, llvm::Module& module) {
  const std::string name = NameOf(kernel);
  if (llvm::Function* declared = module.getFunction(name)) return declared;
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* ptr = llvm::PointerType::getUnqual(context);
  llvm::Type* i64 = llvm::Type::getInt64Ty(context);
  llvm::Type* place = kernel.tables ? ptr : i64;
  llvm::Type* row = kernel.rows_in_lanes ? ptr : place;
  llvm::Type* parameters[] = {ptr, row, place, ptr, i64, i64, ptr, llvm::Type::getInt1Ty(context), ptr, i64, i64};
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), parameters, false);
  auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module);
  function->addFnAttr(llvm::Attribute::NoInline);
  return function;
}

void EmitMicroKernel(const MicroKernel& kernel, const EmitTarget& target, llvm::Module& module) {
  llvm::Function* function = DeclareMicroKernel(kernel, module);
  SetArgumentNamesAndAliasing(kernel, ReadsWordsTwice(kernel, target) || StepsPerBlock(kernel, target) > 1, *function);
  const bool tiles = MultipliesTiles(target, kernel.rhs, kernel.unit_depth_stride && !kernel.tables);
  if (kernel.rows_in_lanes) {
    EmitRowVectorKernel(kernel, target, function);
  } else if (kernel.squares) {
    EmitSquareKernel(kernel, function);
  } else if (tiles) {
    EmitTileKernel(kernel, function);
  } else {
    MicroKernelEmitter(kernel, target, function).Emit();
  }
}

}  // namespace tailor::gemm

// KernelPlan: what one kernel computes. How it runs is the Schedule's part. Target-independent, printable.
//
// A plan is a nest over `axes`: parallel axes (rows, tasks) outside, and inside them a list of stages that run in
// order. Each stage is one loop nest over tile or contract axes that executes statements. A statement stores a scalar
// expression or reduces it. Expressions form a hash-consed DAG over loads with explicit index expressions; so views,
// gathers, concatenations and broadcasts are index maps without code of their own. Stages exchange values through local
// buffers (one value per row, in a register) and row buffers. A row buffer is a slice of per-thread scratch (the
// regional scheme of AStitch section 3.1), or of the launch's scratch if rows are split into parts (the global scheme).
//
// Plans have no symbols: a dim size is a constant or a numbered dim slot that the host program fills. KernelPlan::dims
// keeps the slots' DimExprs. Plans with equal Text() are one kernel.
#ifndef TAILOR_CODEGEN_PLAN_KERNEL_PLAN_H_
#define TAILOR_CODEGEN_PLAN_KERNEL_PLAN_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "codegen/contract/program.h"
#include "graph/dim_expr.h"
#include "graph/dtype.h"
#include "graph/ops.h"

namespace tailor {

using ExprId = int32_t;

// A constant dim size, or the number of a dim slot.
struct DimSize {
  int64_t constant = 0;
  int32_t slot = -1;  // >= 0: KernelPlan::dims[slot]
  bool is_constant() const { return slot < 0; }
  friend bool operator==(const DimSize&, const DimSize&) = default;
};

// A dim slot: the value that the host computes, and its facts (part of the kernel's identity).
struct DimSlot {
  DimExpr value;
  int64_t divisor = 1;  // provably divides it
  int64_t max = INT64_MAX;
  std::vector<int64_t> likely;  // values that are worth versions of their own
};

// Iterations of an ordered axis depend on earlier ones: they run in order.
enum class AxisRole : uint8_t { kParallel, kTile, kContract, kOrdered };

struct Axis {
  DimSize dim_size;
  AxisRole role = AxisRole::kParallel;
};

enum class BufferKind : uint8_t {
  kInput,    // read-only memory, bound by the host program
  kOutput,   // written memory, bound by the host program
  kRow,      // per-thread scratch for one row; dims are tile dim sizes
  kLocal,    // one scalar per row, no dims
  kBlock,    // chains: per-thread scratch for the rows of one task; dims are those of one row
  kStaging,  // contractions: per-thread staging buffer, part of a tensor; dims are the tensor's
};

struct Buffer {
  BufferKind kind;
  DType dtype;
  std::vector<DimSize> dims;
  ConstantLayout layout = ConstantLayout::kRowMajor;
};

enum class ExprKind : uint8_t {
  kLiteral,    // `bits` as `dtype`
  kAxis,       // i64: the value of axis `ref`
  kDimSize,    // i64: `dim_size`
  kParameter,  // f32, i32 or i16: the low bits of dim slot `dim_size`, which each launch passes. One that is added to
               //   a rounded f32, or subtracted from an i32, is a zero point: an integer from -2^16 to 2^16
  kIndexAdd,   // i64 arithmetic on indices; operands and results are >= 0 and cannot overflow, except
  kIndexSub,   //   that kIndexSub may be negative under a predicate that masks its use
  kIndexMul,
  kIndexFloorDiv,
  kIndexMod,
  kIndexLess,    // i64, i64 -> bool
  kBcastIndex,   // args[0] if `dim_size` != 1, else 0
  kGatherIndex,  // args[0] is i32/i64 data; negative values count from `dim_size`; out of range (where
                 //   `predicate` is absent or true) records fault `ref` with the value and reads 0
  kLoad,         // buffer `ref` at args, one index per dim; zero where `predicate` (if >= 0) is false
  kOp,           // scalar op `op` of the op table on args; result `dtype`
};

// Whether a kParameter may have `dtype`.
constexpr bool MayBeParameter(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kI32 || dtype == DType::kI16;
}

// A node of the expression DAG; ExprKind says which fields it uses.
struct Expr {
  ExprKind kind;
  DType dtype = DType::kI64;
  OpKind op{};
  int32_t ref = -1;
  DimSize dim_size;
  uint64_t bits = 0;
  std::vector<ExprId> args;
  ExprId predicate = -1;
  friend bool operator==(const Expr&, const Expr&) = default;
};

// A store of `value` to `buffer` at `indices`, or a reduction or scan into it.
struct Statement {
  int buffer = -1;
  std::vector<ExprId> indices;  // one per dim of the buffer
  ExprId value = -1;
  // Reduction over the stage's loop axes in `reduce_axes`; the buffer gets the result. `combiner`: kAdd, kMul, kMax,
  // kMin. Empty reduce_axes: a plain store. Over an ordered axis it is a scan: later statements of the stage load the
  // result up to their own element, or, if `exclusive`, up to the previous one, starting with the combiner's neutral
  // value.
  std::vector<int> reduce_axes;
  OpKind combiner = OpKind::kAdd;
  DType accumulate = DType::kInvalid;  // type of the accumulator (f32 for f16 and bf16)
  bool exclusive = false;
};

struct Stage {
  std::vector<int> axes;  // loop axes inside the row, outer first; empty: once per row
  std::vector<Statement> statements;
};

struct ChainLink;

// ---- The form of a kernel, stated by lowering ----

// Loops and rows: any stages.
struct LoopForm {
  friend bool operator==(const LoopForm&, const LoopForm&) = default;
};

// A matmul. The axes before m are the batch; an axis after k fills the staging buffer. Stage `sum` is one statement
// that sums over k the products of operand 0 and operand 1. Operand 0 is the lhs, a plain load; operand 1 is the rhs:
// panels read at (k, n), or a row-major matrix read at (k, n) or (n, k) (TargetTraits::packed_rhs), or the choice
// between a load from the tensor and its panels (TargetTraits::most_rows_in_place). Later stages are the epilogue.
struct ContractionForm {
  int m = -1, n = -1, k = -1;  // axes: consecutive
  int fill = -1;               // the stage that fills the staging buffer of the lhs; -1: the lhs is in memory
  int sum = 0;
  int dilation = 1;            // Winograd: of both dims of the 3 x 3 windows
  bool channels_last = false;  // Winograd: the lhs is [batch..., H, W, C], not [batch..., C, H, W]
  friend bool operator==(const ContractionForm&, const ContractionForm&) = default;
};

// Two matmuls with a softmax between them (codegen/plan/attention.h): stages 0 to 3. Later stages are the epilogue. The
// axes before m are the batch.
struct AttentionForm {
  int m = -1, v = -1, n = -1, d = -1;  // axes: consecutive
  friend bool operator==(const AttentionForm&, const AttentionForm&) = default;
};

// A chain: each task runs the links in order on a block of rows of the last axis. The axes are those of the rows, outer
// first; there are no stages.
struct ChainForm {
  std::vector<ChainLink> links;
};

using KernelForm = std::variant<LoopForm, ContractionForm, AttentionForm, ChainForm>;

struct KernelPlan {
  std::string name;        // "k3_softmax": number and kind of the dominant node; not part of identity
  std::vector<Axis> axes;  // parallel first, in memory order of the main output; then tile or contract
  std::vector<DimSlot> dims;
  std::vector<Buffer> buffers;  // inputs, then outputs, then row, then local
  std::vector<Expr> exprs;
  std::vector<Stage> stages;
  KernelForm form;
  int fault_count = 0;  // > 0: an extra argument slot has the address of the run's fault record

  bool IsContraction() const { return std::holds_alternative<ContractionForm>(form); }
  bool IsAttention() const { return std::holds_alternative<AttentionForm>(form); }
  bool IsChain() const { return std::holds_alternative<ChainForm>(form); }
  const std::vector<ChainLink>& links() const { return std::get<ChainForm>(form).links; }  // requires IsChain()

  // Adds `expr`, or returns an equal expression; its operands must exist. Folds constants and trivial index arithmetic.
  ExprId Add(Expr expr);
  // Rewrites row-major indices [.., y + x / E, x % E, ..] to [.., y, x, ..] (the same element), where E is the second
  // dim's size. An index may thus exceed its own dim. Not for staging buffers: they hold only elements within their
  // dims.
  void FoldSplitIndices(const Buffer& buffer, std::vector<ExprId>& indices);
  DimSize AddDim(const DimSlot& slot);  // constant if the value is; reuses an equal slot
  // Makes the constant kDimSize or the literal `id` the value of `slot`, which no other expression is.
  void ReplaceConstant(ExprId id, int32_t slot);

  std::string ExprText(ExprId id) const;
  // The kernel's identity: everything except `name` and the slots' DimExprs.
  std::string Text() const;

 private:
  absl::flat_hash_map<std::string, ExprId> interned_;
};

// A kernel of a chain. Its plan is that of an independent kernel: it refers to the whole tensor where the chain has a
// block of rows.
struct ChainLink {
  KernelPlan plan;
  std::vector<int> buffers;  // by bound buffer of `plan`: the buffer of the chain
  std::vector<int> dims;     // by dim slot of `plan`: the slot of the chain
};

// The dtype of a kOp expression by the op table and its operands; kInvalid if an attribute sets it. A product of f16 or
// bf16 may also be f32, one of i16, or of u8 and i8, also i32: it is then exact, as those that a matmul sums.
DType ImpliedType(const KernelPlan& plan, const Expr& op);

// The value of an index that is a constant dim size.
std::optional<int64_t> ConstantIndex(const KernelPlan& plan, ExprId id);

// Whether `statement` is a scan.
bool IsScan(const KernelPlan& plan, const Statement& statement);

// Whether `value` depends on `axis` (through any index, predicate or load).
bool DependsOn(const KernelPlan& plan, ExprId value, int axis);

// `sum` as multiple * factor + rest, with a constant factor > 0 and 0 <= rest < factor.
struct IndexSplit {
  ExprId multiple, rest;
  int64_t factor;
};
std::optional<IndexSplit> SplitIndex(const KernelPlan& plan, ExprId sum);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_PLAN_KERNEL_PLAN_H_

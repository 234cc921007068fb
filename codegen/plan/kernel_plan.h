// KernelPlan: what one kernel computes, without saying how (Schedule says how). Target-free, printable.
//
// A plan is a nest over `axes`: parallel axes (rows, tasks) outside, and inside them a list of stages
// that run in order; each stage is one loop nest over tile or contract axes executing statements.
// Statements store a scalar expression or reduce it. Expressions form a hash-consed DAG over loads
// with explicit index expressions, so views, gathers, concatenations and broadcasts are index maps, not
// code of their own. Stages communicate through local buffers (one value a row, in a register) and row
// buffers (a slice of per-worker scratch: the regional scheme of AStitch section 3.1; of launches whose rows are taken
// in parts, of the launch's: the global one).
//
// Plans name no symbols: dim sizes are constants or numbered dim slots which the host program fills, and
// the slot's DimExpr is kept beside the plan (KernelPlan::dims). Plans with equal Text() are one kernel.
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

// A dim slot: what the host computes, and what is known about it (part of the kernel's identity).
struct DimSlot {
  DimExpr value;
  int64_t divisor = 1;  // provably divides it
  int64_t max = INT64_MAX;
};

// Iterations of an ordered axis depend on those before: nothing may run them together.
enum class AxisRole : uint8_t { kParallel, kTile, kContract, kOrdered };

struct Axis {
  DimSize dim_size;
  AxisRole role = AxisRole::kParallel;
};

enum class BufferKind : uint8_t {
  kInput,    // read-only memory, bound by the host program
  kOutput,   // written memory, bound by the host program
  kRow,      // per-worker scratch holding one row's worth; dims are tile dim sizes
  kLocal,    // one scalar per row, no dims
  kBlock,    // of a chain: per-worker scratch holding the rows of one task; dims are those of one row
  kStaging,  // of a contraction: per-worker scratch holding what a task reads of a tensor; dims are the tensor's
};

struct Buffer {
  BufferKind kind;
  DType dtype;
  std::vector<DimSize> dims;
  ConstantLayout layout = ConstantLayout::kRowMajor;
};

enum class ExprKind : uint8_t {
  kLiteral,   // `bits` as `dtype`
  kAxis,      // i64: the value of axis `ref`
  kDimSize,   // i64: `dim size`
  kIndexAdd,  // i64 arithmetic on indices; operands and results are >= 0 and cannot overflow, except
  kIndexSub,  //   that kIndexSub may go below zero under a predicate that masks its use
  kIndexMul,
  kIndexFloorDiv,
  kIndexMod,
  kIndexLess,    // i64, i64 -> bool
  kBcastIndex,   // args[0] where `dim size` != 1, else 0
  kGatherIndex,  // args[0] is i32/i64 data: negative counts from `dim size`; out of range (where `predicate`
                 //   is absent or true) records fault `ref` with the value and reads 0
  kLoad,         // buffer `ref` at args, one index per dim; with `predicate` >= 0: zero where it is false
  kOp,           // scalar op `op` of the op table on args; result `dtype`
};

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

struct Statement {
  int buffer = -1;
  std::vector<ExprId> indices;  // one per dim of the buffer
  ExprId value = -1;
  // Reduction over all loop axes of the stage that `reduce_axes` names; the buffer gets the result.
  // op kAdd, kMul, kMax, kMin; empty reduce_axes: a plain store.
  // Over an ordered axis it is a scan: the stage's later statements load the result up to their own element, or,
  // where `exclusive`, up to the one before it, beginning with the combiner's neutral value.
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

// ---- What a kernel is, stated by lowering ----

// Loops and rows: any stages.
struct LoopForm {
  friend bool operator==(const LoopForm&, const LoopForm&) = default;
};

// A matmul. The axes before m are those of the batch; an axis behind k fills the box. Stage `sum` is one statement,
// which sums over k the products of operand 0, the lhs: a plain load, and operand 1, the packed rhs: panels read at (k,
// n). The stages behind it are the epilogue.
struct ContractionForm {
  int m = -1, n = -1, k = -1;  // axes: consecutive
  int fill = -1;               // the stage that fills the box which the lhs loads; -1: the lhs is in memory
  int sum = 0;
  friend bool operator==(const ContractionForm&, const ContractionForm&) = default;
};

// Two matmuls with a softmax between them (codegen/plan/attention.h): stages 0 to 3; the stages behind them are the
// epilogue. The axes before m are those of the batch.
struct AttentionForm {
  int m = -1, v = -1, n = -1, d = -1;  // axes: consecutive
  friend bool operator==(const AttentionForm&, const AttentionForm&) = default;
};

// Each task runs the links, one after another, on a block of rows of the last axis; the axes are those of the rows,
// outer first, and there are no stages.
struct ChainForm {
  std::vector<ChainLink> links;
};

using KernelForm = std::variant<LoopForm, ContractionForm, AttentionForm, ChainForm>;

struct KernelPlan {
  std::string name;        // "k3_softmax": dominant node's kind and number; not part of identity
  std::vector<Axis> axes;  // parallel first, in memory order of the main output; then tile or contract
  std::vector<DimSlot> dims;
  std::vector<Buffer> buffers;  // inputs, then outputs, then row, then local
  std::vector<Expr> exprs;
  std::vector<Stage> stages;
  KernelForm form;
  int fault_count = 0;  // > 0: an extra argument slot addresses the run's fault record

  bool IsContraction() const { return std::holds_alternative<ContractionForm>(form); }
  bool IsAttention() const { return std::holds_alternative<AttentionForm>(form); }
  bool IsChain() const { return std::holds_alternative<ChainForm>(form); }
  const std::vector<ChainLink>& links() const { return std::get<ChainForm>(form).links; }  // requires IsChain()

  // Adds `expr` or finds its equal; operands must exist. Folds constants and trivial index arithmetic.
  ExprId Add(Expr expr);
  // Rewrites row-major indices [.., x / E, x % E, ..] into [.., 0, x, ..], the same element, where E is the second
  // dim's dim size. An index may thus exceed its own dim. Of a box only what lies within its dims is there.
  void FoldSplitIndices(const Buffer& buffer, std::vector<ExprId>& indices);
  DimSize AddDim(const DimSlot& slot);  // constant if the value is; reuses an equal slot

  std::string ExprText(ExprId id) const;
  // Everything but `name` and the slots' DimExprs.
  std::string Text() const;

 private:
  absl::flat_hash_map<std::string, ExprId> interned_;
};

// A kernel of a chain, which for all it knows runs alone: where the chain has a block of some rows, its plan has the
// whole tensor.
struct ChainLink {
  KernelPlan plan;
  std::vector<int> buffers;  // by bound buffer of `plan`: the chain's
  std::vector<int> dims;     // by dim slot likewise
};

// The dtype that a kOp expression has by the op's row and its operands; kInvalid where an attribute says it. Products
// of narrow floats may be of a wider type than this.
DType ImpliedType(const KernelPlan& plan, const Expr& op);

// d(value)/d(axis) when `value` is affine in `axis`: the coefficient as an index expression (kDimSize
// 0 if it does not depend on it). -1 if not affine. Adds expressions to `plan`.
ExprId CoefficientOf(KernelPlan& plan, ExprId value, int axis);

// Whether `statement` is a scan.
bool IsScan(const KernelPlan& plan, const Statement& statement);

// Whether `value` depends on `axis` (through any index, predicate or load).
bool DependsOn(const KernelPlan& plan, ExprId value, int axis);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_PLAN_KERNEL_PLAN_H_

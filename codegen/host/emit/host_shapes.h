// The values that a host function derives from its inputs' dims: symbols, checks, output dims, the workspace layout,
// and for each launch its dims, tasks and version. Both the layout and the plan function contain this code.
#ifndef TAILOR_CODEGEN_HOST_EMIT_HOST_SHAPES_H_
#define TAILOR_CODEGEN_HOST_EMIT_HOST_SHAPES_H_

#include <functional>
#include <map>
#include <utility>
#include <variant>
#include <vector>

#include "absl/types/span.h"
#include "codegen/host/emit/emit_dim.h"
#include "codegen/host/emit/emit_host.h"
#include "codegen/host/emit/host_function.h"
#include "codegen/plan/slot_expr.h"

namespace tailor::host {

struct HostLaunchShape {
  DimValue tasks, tasks_per_chunk;
  DimValue phases;                    // HostLaunch::Phases::word
  llvm::Value* tiling = nullptr;      // TilingWord, for matmuls that choose a tiling
  llvm::Value* row_blocks = nullptr;  // Schedule::row_blocks, for contractions that have them
};

struct DeviceLaunchShape {
  DimValue blocks, shared_bytes, cooperative;
};

// The values of a launch for given dims.
struct LaunchShape {
  std::vector<DimValue> dims;  // per slot of the plan
  // Fields of the version that runs:
  llvm::Value* version;        // i32
  DimValue scratch_bytes;      // a multiple of 64
  DimValue all_scratch_bytes;  // per launch
  DimValue parts;
  std::variant<HostLaunchShape, DeviceLaunchShape> place;

  const HostLaunchShape& on_host() const { return std::get<HostLaunchShape>(place); }
  const DeviceLaunchShape& on_device() const { return std::get<DeviceLaunchShape>(place); }
};

struct WorkspaceShape {
  llvm::Value* offsets = nullptr;  // address of an i64 per block
  llvm::Value* scratch = nullptr;  // start of the threads' slices, or the launch's shared scratch
  llvm::Value* bytes = nullptr;
};

// Emits SlotExprs of one launch.
class SlotEmitter {
 public:
  SlotEmitter(DimEmitter dims, const std::vector<DimValue>& slots, DimValue workers) : dims_(std::move(dims)) {
    for (size_t i = 0; i < slots.size(); ++i) dims_.SetSymbol(static_cast<SymbolId>(i), slots[i]);
    dims_.SetSymbol(SlotExpr::kWorkers, workers);
  }
  DimValue Emit(const SlotExpr& e) { return dims_.Emit(e.expr()); }
  DimValue Multiply(const DimValue& a, const DimValue& b) { return dims_.Multiply(a, b); }

 private:
  DimEmitter dims_;
};

// Emits these values into one host function. Borrows its arguments. Emitted values are memoized.
class HostShapes {
 public:
  // `inputs` is the address of the TensorArg array.
  HostShapes(const HostProgram& program, const std::vector<EmittedKernel>& kernels, KernelPlace place,
             HostFunction& function, llvm::Value* inputs);

  // Solves the symbols, then evaluates the shape checks in order. Ranges that a check establishes hold for later
  // arithmetic. Must be called before all functions below.
  void BindAndCheck();
  // The raw dim size of an input dim.
  DimValue InputDim(int input, int dim);
  DimValue Dim(const DimExpr& e) { return dims_.Emit(e); }
  DimValue Add(const DimValue& a, const DimValue& b) { return dims_.Add(a, b); }  // both >= 0
  LaunchShape ShapeOf(const Launch& launch);
  WorkspaceShape Place(const std::vector<LaunchShape>& launches, llvm::Function* first_fit, llvm::Value* table);

 private:
  void Bind(const SymbolBinding& binding);
  void Check(int32_t id, const ShapeCheck& check);
  void Learn(const ShapeCheck& check);
  DimEmitter MakeEmitter();
  // A field of the shape that depends on the version: its destination and its value per version.
  template <typename Launch>
  struct Field {
    DimValue* value;
    std::function<DimValue(const Launch&)> of;
  };
  // Sets the version and its fields: the version with the fewest `clocks` of those whose guards hold; the first of
  // equal ones.
  template <typename Launch>
  void ChooseVersion(const std::vector<Launch>& versions, absl::Span<const Field<Launch>> fields,
                     const std::function<DimValue(const Launch&)>& clocks, SlotEmitter& slots, LaunchShape& shape);
  void ShapeOnHost(const EmittedKernel& kernel, SlotEmitter& slots, LaunchShape& shape);
  void ShapeOnDevice(const EmittedKernel& kernel, SlotEmitter& slots, LaunchShape& shape);
  void ChooseTiling(const EmittedKernel& kernel, LaunchShape& shape);
  DimValue Constant(int64_t value);
  llvm::Value* Holds(const Guard& guard, const std::vector<DimValue>& dims, SlotEmitter& slots);

  const HostProgram& program_;
  const std::vector<EmittedKernel>& kernels_;
  const KernelPlace place_;
  HostFunction& f_;
  llvm::Value* inputs_;
  DimEmitter dims_;
  std::map<std::pair<int, int>, DimValue> input_dims_;
};

}  // namespace tailor::host

#endif  // TAILOR_CODEGEN_HOST_EMIT_HOST_SHAPES_H_

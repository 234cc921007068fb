// What a host function derives from the dims of its inputs: symbols, checks, output extents, the workspace
// layout, and for each launch its dims, tasks and version. Emitted alike into the layout and the plan function.
#ifndef TAILOR_CODEGEN_HOST_EMIT_HOST_SHAPES_H_
#define TAILOR_CODEGEN_HOST_EMIT_HOST_SHAPES_H_

#include <map>
#include <utility>
#include <vector>

#include "codegen/host/emit/emit_dim.h"
#include "codegen/host/emit/emit_host.h"
#include "codegen/host/emit/host_function.h"

namespace tailor::host {

struct LaunchShape {
  std::vector<DimValue> dims;  // per slot of the plan
  // Of the version that runs.
  llvm::Value* version;  // i32
  DimValue tasks, grain;
  DimValue scratch_bytes;           // a multiple of 64
  DimValue all_scratch_bytes;       // of the launch
  llvm::Value* together = nullptr;  // i64
  llvm::Value* phases = nullptr;    // i64
  DimValue parts;
  llvm::Value* cut = nullptr;  // of a product that chooses one: CutWord
};

struct WorkspaceShape {
  llvm::Value* offsets = nullptr;  // address of an i64 per block
  llvm::Value* scratch = nullptr;  // where the workers' slices begin, or what a launch's tasks share
  llvm::Value* bytes = nullptr;
};

class HostShapes {
 public:
  // `inputs` is the address of the TensorArg array.
  HostShapes(const HostProgram& program, const std::vector<EmittedKernel>& kernels, KernelPlace place,
             HostFunction& function, llvm::Value* inputs);

  // Solves the symbols, then evaluates the shape checks in order. Ranges that a check establishes hold for all
  // arithmetic after it. Everything below may be called after this.
  void BindAndCheck();
  // The raw extent of an input dim.
  DimValue InputDim(int input, int dim);
  DimValue Dim(const DimExpr& e) { return dims_.Emit(e); }
  DimValue Add(const DimValue& a, const DimValue& b) { return dims_.Add(a, b); }  // neither below 0
  LaunchShape ShapeOf(const Launch& launch);
  WorkspaceShape Place(const std::vector<LaunchShape>& launches, llvm::Function* first_fit, llvm::Value* table);

 private:
  void Bind(const SymbolBinding& binding);
  void Check(int32_t id, const ShapeCheck& check);
  void Learn(const ShapeCheck& check);
  DimEmitter MakeEmitter();
  DimValue Tasks(const LaunchVersion& version, DimEmitter& over_slots);
  DimValue AllScratch(const LaunchVersion& version, DimEmitter& over_slots);
  void ChooseVersion(const EmittedKernel& kernel, DimEmitter& over_slots, LaunchShape& shape);
  void ChooseCut(const EmittedKernel& kernel, LaunchShape& shape);
  // `over_slots` knows `dims` as its symbols.
  llvm::Value* Holds(const Guard& guard, const std::vector<DimValue>& dims, DimEmitter& over_slots);

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

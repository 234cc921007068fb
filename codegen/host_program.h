// The host program as data: what one run does, in order, before it becomes native code (DISC section
// 4.2: runtime flow is generated, not interpreted). Printable; golden-tested. Target-free: what a launch
// needs of a target (tasks, grain, scratch, versions) is in the kernel's Schedule, over dim slots.
#ifndef TAILOR_CODEGEN_HOST_PROGRAM_H_
#define TAILOR_CODEGEN_HOST_PROGRAM_H_

#include <string>
#include <vector>

#include "analysis/shape_facts.h"
#include "codegen/kernel_plan.h"
#include "codegen/memory_plan.h"
#include "codegen/schedule.h"
#include "graph/graph.h"

namespace tailor {

struct HostBuffer {
  enum class Place : uint8_t { kInput, kOutput, kConstant, kWorkspace };
  Place place;
  int index = -1;  // of the input, output or constant; of the workspace block
  DType dtype = DType::kInvalid;
  Shape shape;
  int first_step = 0, last_step = 0;  // launches between which a workspace block is live
};

struct Launch {
  int kernel = -1;                 // index of the distinct KernelPlan
  std::string name;                // of this use
  std::vector<int> buffers;        // HostBuffer per kernel input and output, in order
  std::vector<DimExpr> dims;       // value per dim slot
  int32_t first_fault_check = -1;  // check id of the plan's fault 0; its other faults follow
};

struct HostProgram {
  std::vector<SymbolBinding> bindings;
  std::vector<ShapeCheck> checks;  // ids are indices; data-dependent faults come last
  int shape_check_count = 0;       // how many of them are evaluated before any launch
  std::vector<std::vector<DimExpr>> output_dims;
  std::vector<HostBuffer> buffers;
  std::vector<Launch> launches;
  MemoryPlan memory;  // of the workspace blocks (PlanWorkspace)
  // "bind S = input 0 dim 1", "check 3: S == T", "alloc w0 = 1536*B*S live [0, 2]", "launch 0 k0_exp(in0, w0)
  // dims [B*S]"; a line each.
  std::string Text(const Graph& graph) const;
};

// Fills `memory`. A block takes whole cache lines.
void PlanWorkspace(const ShapeFacts& facts, HostProgram& program);
// The bytes of a buffer; those of a workspace block rounded up to 64.
DimExpr BytesOf(const HostBuffer& buffer);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_HOST_PROGRAM_H_

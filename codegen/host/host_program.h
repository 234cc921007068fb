// The host program as data: the steps of one run, in order, before emission as native code (DISC section 4.2: runtime
// flow is generated, not interpreted). Printable; golden-tested. Target-independent: the target-specific part of a
// launch (tasks, chunk size, scratch, versions) is in the kernel's Schedule, over dim slots.
//
// Regions are separate host programs, called with the addresses and dim sizes of their arguments, as the runtime calls
// the first program. Each solves its symbols, lays out its memory and caches the layout while its dim sizes stay the
// same.
#ifndef TAILOR_CODEGEN_HOST_HOST_PROGRAM_H_
#define TAILOR_CODEGEN_HOST_HOST_PROGRAM_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/shape_facts.h"
#include "codegen/host/memory_plan.h"
#include "codegen/plan/kernel_plan.h"
#include "codegen/plan/schedule.h"
#include "graph/graph.h"

namespace tailor::host {

// A tensor of a program and its place in memory.
struct HostBuffer {
  enum class Place : uint8_t {
    kInput,
    kOutput,
    kConstant,
    kWorkspace,
    kResult,  // of a call; its address is known after the call
  };
  Place place;
  int index = -1;  // of the input, output, constant or result; of the workspace block (buffers may share one)
  DType dtype = DType::kInvalid;
  Shape shape;
  int first_step = 0, last_step = 0;  // workspace block: live interval in steps, inclusive
  int call = -1;                      // kResult: index of the call
};

// One use of a kernel.
struct Launch {
  int kernel = -1;                 // index of the distinct KernelPlan
  std::string name;                // of this use
  std::vector<int> buffers;        // HostBuffer per kernel input and output, in order
  std::vector<DimExpr> dims;       // value per dim slot
  int32_t first_fault_check = -1;  // check id of the plan's fault 0; its other faults follow
};

// An argument of a called program: a tensor or a dim size.
struct CallArgument {
  int buffer = -1;              // -1: a dim size
  Shape shape;                  // empty for a result with data-dependent dims
  bool data_dependent = false;  // the dim sizes are those reported by the buffer's call
  int count = -1;               // a dim size: the argument (an i64 tensor) with its value
  int32_t count_check = -1;     // check that fails if the dim size is negative
};

// How a loop passes a value from iteration to iteration.
struct CarriedValue {
  enum class Kind : uint8_t {
    kInvariant,  // the body returns its argument, or the argument is a counter; the result aliases the operand
    kInPlace,    // the body updates its argument in place
    kSwapped,    // the body writes two places alternately
  };
  Kind kind = Kind::kInvariant;
  int places[2] = {-1, -1};  // kSwapped: workspace buffers, or -1: memory that grows, for changing dim sizes
  int grown[2] = {-1, -1};   // the numbers of that memory
};

// A value that the host counts: an argument of a loop's body that is a dim size. Its value in the first iteration is
// the argument's, in each later one `next` of the iteration before.
struct Counter {
  int argument = -1;
  SymbolId symbol = -1;  // in `next` and Call::decided
  DimExpr next;
};

// A call of other programs of the compilation (the regions of a control node, or the next stage), or of a custom
// operator.
struct Call {
  enum class Kind : uint8_t {
    kWhile,
    kIf,
    kContinuation,  // the last step: the nodes after data-dependent dims; writes the caller's outputs
    kCustom,        // RtApi::custom; its workspace is where that of a called program would be
  };
  Kind kind;
  std::string name;
  // kWhile: the condition unless the host knows it, and the body. kIf: then, else. kContinuation: one. kCustom: none.
  std::vector<int> programs;
  std::vector<CallArgument> arguments;  // kCustom: operands, then results
  std::vector<CarriedValue> carried;    // kWhile: by argument
  int condition = -1;                   // buffer of the condition (kWhile: written by the condition program)
  // kWhile and kIf whose condition follows from dim sizes and counters: 1 or 0. Then `condition` is -1.
  std::optional<DimExpr> decided;
  std::vector<Counter> counters;                    // of such a loop
  const Counter* CounterOf(size_t argument) const;  // nullptr: the argument is no counter
  struct Result {
    int place = -1;  // workspace buffer, or -1: memory that grows
    int grown = -1;  // number of that memory
    Shape shape;
  };
  std::vector<Result> results;  // kIf
  int custom = -1;              // kCustom: number of the operator in LoweredProgram::custom_calls
};

// An external gemm: a matmul that the runtime may compute in place of launches (RtApi::gemm).
struct ExternalGemm {
  int launch = -1;                   // the launch of the kernel whose name and number it has
  DType dtype = DType::kInvalid;     // of lhs, rhs and out
  int lhs = -1, rhs = -1, out = -1;  // HostBuffers
  ConstantLayout rhs_layout = ConstantLayout::kRowMajor;
  DimExpr batch, m, n, k;
  DimExpr lhs_strides[3], rhs_strides[3];  // of batch, row and column, in elements
};

// A step of a run: a launch, a call or an external gemm.
struct Step {
  // Whether the step runs if the runtime has accepted gemm `gemm`, or if it has not.
  enum class When : uint8_t { kAlways, kTaken, kNotTaken };
  bool call = false;
  int index = -1;  // in launches or calls; -1: the gemm itself
  int gemm = -1;
  When when = When::kAlways;
};

struct HostProgram {
  // The provider of an output's memory.
  enum class Output : uint8_t {
    kRuntime,   // RtApi::output
    kCaller,    // the caller has set it
    kGrowable,  // RtApi::block; its number is in TensorArg::data
  };
  // Two programs with the same arguments. A run takes `joined` if all pairs are equal (fusion/joins.h).
  struct Versions {
    std::vector<std::pair<DimExpr, DimExpr>> equal;
    int joined = -1, general = -1;
  };
  std::optional<Versions> versions;  // if set, only bindings and outputs are set besides
  bool outermost = false;            // called by a run, directly or as a version
  std::vector<std::string> symbols;  // names
  std::vector<SymbolBinding> bindings;
  std::vector<ShapeCheck> checks;  // ids are indices; data-dependent faults come last
  int shape_check_count = 0;       // number of checks that run before any launch
  std::vector<std::vector<DimExpr>> output_dims;
  std::vector<int> output_numbers;     // the caller's output numbers of this program's outputs
  std::vector<Output> output_sources;  // of this program's outputs
  // `donated`, by input: whether the program may overwrite its memory; kInput buffers may then alias it. `memory_of`,
  // by the caller's output: the input that it aliases, or -1. Missing entries: false, -1.
  std::vector<bool> donated;
  std::vector<int> memory_of;
  std::vector<HostBuffer> buffers;
  std::vector<Launch> launches;
  std::vector<Call> calls;
  std::vector<ExternalGemm> gemms;
  std::vector<Step> steps;
  MemoryPlan memory;  // of the workspace blocks (PlanWorkspace)
  // Number of a separate workspace, for a program whose caller does not know its dim sizes when it lays out memory; -1:
  // the workspace follows the caller's.
  int own_workspace = -1;
  std::vector<CarriedValue::Kind> carried;  // loop bodies: by argument
  std::vector<int> counters;                // loop bodies: the inputs that are counters
  int first_check = 0, first_launch = 0;    // indices among those of all programs
  // One line per item: "bind S = input 0 dim 1", "check 3: S == T", "alloc w0 = 1536*B*S live [0, 2]", "launch 0
  // k0_exp(in0, w0) dims [B*S]", "while loop(in0, w1) condition p1 body p2".
  std::string Text() const;
};

// Fills `memory`. Buffers that share a block have equal bytes. Blocks are multiples of a cache line.
void PlanWorkspace(const ShapeFacts& facts, HostProgram& program);
// The bytes of a buffer, rounded up to 64 for workspace blocks.
DimExpr BytesOf(const HostBuffer& buffer);

}  // namespace tailor::host

#endif  // TAILOR_CODEGEN_HOST_HOST_PROGRAM_H_

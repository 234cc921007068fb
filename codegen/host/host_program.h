// The host program as data: what one run does, in order, before it becomes native code (DISC section
// 4.2: runtime flow is generated, not interpreted). Printable; golden-tested. Target-free: what a launch
// needs of a target (tasks, chunk size, scratch, versions) is in the kernel's Schedule, over dim slots.
//
// Regions are host programs of their own, called with the addresses and dim sizes of their arguments as the runtime
// calls the first. Each solves its symbols, lays out its memory and remembers that layout while the dim sizes stay.
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

struct HostBuffer {
  enum class Place : uint8_t {
    kInput,
    kOutput,
    kConstant,
    kWorkspace,
    kResult,  // of a call: where it lies is known when the call has run
  };
  Place place;
  int index = -1;  // of the input, output, constant or result; of the workspace block, which buffers may share in turn
  DType dtype = DType::kInvalid;
  Shape shape;
  int first_step = 0, last_step = 0;  // between which a workspace block is live
  int call = -1;                      // kResult: whose
};

struct Launch {
  int kernel = -1;                 // index of the distinct KernelPlan
  std::string name;                // of this use
  std::vector<int> buffers;        // HostBuffer per kernel input and output, in order
  std::vector<DimExpr> dims;       // value per dim slot
  int32_t first_fault_check = -1;  // check id of the plan's fault 0; its other faults follow
};

// What a called program gets: a tensor, or a dim size alone.
struct CallArgument {
  int buffer = -1;              // -1: a dim size
  Shape shape;                  // empty for a result whose dim sizes its call tells
  bool data_dependent = false;  // the dim sizes are those that the buffer's call told
  int count = -1;               // a dim size that is the value of this argument, an i64
  int32_t count_check = -1;     // which fails where that is negative
};

// How a loop carries a value.
struct CarriedValue {
  enum class Kind : uint8_t {
    kInvariant,  // the body returns it as it got it
    kInPlace,    // the body updates it where it is
    kSwapped,    // the body writes it elsewhere: two places, by turns
  };
  Kind kind = Kind::kInvariant;
  int places[2] = {-1, -1};  // kSwapped: workspace buffers, or -1: memory that grows, since dim sizes change
  int grown[2] = {-1, -1};   // then the numbers of it
};

struct Call {
  enum class Kind : uint8_t {
    kWhile,
    kIf,
    kContinuation,  // the last step: what waits for dim sizes that data tells; writes the caller's outputs
  };
  Kind kind;
  std::string name;
  std::vector<int>
      programs;  // kWhile: condition, body. kIf: where the condition is true, where not. kContinuation: one
  std::vector<CallArgument> arguments;
  std::vector<CarriedValue> carried;  // kWhile: by argument
  int condition = -1;                 // buffer of kIf's condition, or where kWhile's goes
  struct Result {
    int place = -1;  // workspace buffer, or -1: memory that grows
    int grown = -1;  // its number
    Shape shape;
  };
  std::vector<Result> results;  // kIf
};

// A matmul that the runtime may compute in the place of launches (RtApi::matmul).
struct ExternalGemm {
  int launch = -1;                   // the kernel's, whose name and number it has
  DType dtype = DType::kInvalid;     // of all three
  int lhs = -1, rhs = -1, out = -1;  // HostBuffers
  ConstantLayout rhs_layout = ConstantLayout::kRowMajor;
  DimExpr batch, m, n, k;
  DimExpr lhs_strides[3], rhs_strides[3];  // of batch, row and column, in elements
};

struct Step {
  // Whether it is done when the runtime has taken `matmul`, or when it has not.
  enum class When : uint8_t { kAlways, kTaken, kNotTaken };
  bool call = false;
  int index = -1;  // in launches or calls; -1: `matmul` itself
  int gemm = -1;
  When when = When::kAlways;
};

struct HostProgram {
  // Who provides the memory of an output.
  enum class Output : uint8_t {
    kRuntime,  // RtApi::output
    kCaller,   // is there
    kGrows,    // RtApi::block, whose number is in TensorArg::data
  };
  // Two programs with the same arguments, of which a run takes the first where all pairs are equal (fusion/joins.h).
  struct Versions {
    std::vector<std::pair<DimExpr, DimExpr>> equal;
    int joined = -1, general = -1;
  };
  std::optional<Versions> versions;  // then bindings and outputs are all else that is set
  bool outermost = false;            // a run calls it, or a version of what a run calls
  std::vector<std::string> symbols;  // their names
  std::vector<SymbolBinding> bindings;
  std::vector<ShapeCheck> checks;  // ids are indices; data-dependent faults come last
  int shape_check_count = 0;       // how many of them are evaluated before any launch
  std::vector<std::vector<DimExpr>> output_dims;
  std::vector<int> output_numbers;     // the caller's, of those that this program writes
  std::vector<Output> output_sources;  // likewise
  // By input: whether the program may write its memory, in which buffers then lie whose place is kInput. By the
  // caller's output: the input whose memory it is, or -1. Beyond the ends: no, none.
  std::vector<bool> donated;
  std::vector<int> memory_of;
  std::vector<HostBuffer> buffers;
  std::vector<Launch> launches;
  std::vector<Call> calls;
  std::vector<ExternalGemm> gemms;
  std::vector<Step> steps;
  MemoryPlan memory;  // of the workspace blocks (PlanWorkspace)
  // The number of a workspace of its own, for a program whose dim sizes its caller does not know when that lays out its
  // own memory; -1: it lies behind the caller's.
  int own_workspace = -1;
  std::vector<CarriedValue::Kind> carried;  // of a loop's body: by argument
  int first_check = 0, first_launch = 0;    // among those of all programs
  // "bind S = input 0 dim 1", "check 3: S == T", "alloc w0 = 1536*B*S live [0, 2]", "launch 0 k0_exp(in0, w0)
  // dims [B*S]", "while loop(in0, w1) condition p1 body p2"; a line each.
  std::string Text() const;
};

// Fills `memory`. Buffers that share a block have equal bytes. A block takes whole cache lines.
void PlanWorkspace(const ShapeFacts& facts, HostProgram& program);
// The bytes of a buffer; those of a workspace block rounded up to 64.
DimExpr BytesOf(const HostBuffer& buffer);

}  // namespace tailor::host

#endif  // TAILOR_CODEGEN_HOST_HOST_PROGRAM_H_

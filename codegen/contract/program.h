// Program: the compiled program as plain data, the contract between the compiler (makes it), serialization (writes and
// reads it) and exec (runs it). It has no LLVM or Abseil type. Spans into constants and images are borrowed from the
// maker of the Program.
#ifndef TAILOR_CODEGEN_CONTRACT_PROGRAM_H_
#define TAILOR_CODEGEN_CONTRACT_PROGRAM_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "codegen/contract/cost_profile.h"
#include "codegen/contract/tensor_map.h"
#include "graph/dtype.h"

namespace tailor {

struct ProgramSymbol {
  std::string name;
  int64_t min = 0;
  int64_t max = INT32_MAX;
  int64_t multiple_of = 1;
  std::vector<int64_t> likely;
};

// One dim size of a signature tensor.
struct ProgramDim {
  int32_t symbol = -1;    // >= 0: index of this symbol; -1: see the other fields
  int64_t dim_size = -1;  // >= 0: constant; -1 with symbol -1: the expression in `text`
  std::string text;       // "4*S + 1"; always set
};

struct ProgramTensor {
  std::string name;
  DType dtype = DType::kInvalid;
  std::vector<ProgramDim> dims;
  bool donated = false;    // an input whose memory runs may overwrite
  int32_t memory_of = -1;  // >= 0: an output that aliases the memory of that donated input
};

// A row of the check table; its id is its index. `message` may contain {lhs} and {rhs}: the values passed to
// RtApi::fail.
struct ProgramCheck {
  std::string message;
  std::string node;  // the user's name of the node that requires it; may be empty
};

enum class ConstantLayout : uint8_t {
  kRowMajor = 0,
  // A [batch..., K, N] packed rhs of a matmul, as panels [batch...][ceil(N/16)][K][16], zero-padded.
  kPanels16 = 1,
  // Panels of 4-byte words, each of s consecutive steps of K: 2 of bf16 or i16, 4 of i8.
  // [batch...][ceil(N/16)][ceil(K/s)][16][s], zero-padded. In device memory such a constant is kPanels16.
  kWordPanels16 = 2,
  // f32 weights [batch..., K, N], K = [C, 3, 3], or [3, 3, C] for images channels last, whose 3 x 3 windows are the 16
  // points of Winograd's F(2x2, 3x3) (codegen/cpu/conv/winograd.h): [batch...][16][ceil(N/16)][C][16], zero-padded.
  // Only for CPUs.
  kWinogradPanels16 = 3,
};

// XOR swizzle: whether, in device memory, panel rows k with odd k / 4 swap their two halves of 8 columns. The halves of
// eight rows then cover all banks of shared memory as copied (the 32-byte swizzle of wgmma).
constexpr bool HasXorSwizzle(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

struct ProgramConstant {
  std::string name;
  DType dtype = DType::kInvalid;
  std::vector<int64_t> dims;  // logical
  ConstantLayout layout = ConstantLayout::kRowMajor;
  std::span<const std::byte> bytes;  // physical; 64-byte aligned
};

// One kernel launch of the host program, for traces, plans and `inspect`. Its index is the step id of RtApi::trace.
struct ProgramLaunch {
  std::string kernel;  // "k3_softmax": KernelPlan name
  // Guard texts, in the order of their tests: "divides(d0, 16)", "always". Of versions with "in ... clocks" the
  // cheapest is taken. On a GPU, a slow version is followed by the reason: "always (its registers spill, 112 bytes)".
  std::vector<std::string> versions;
  // Omitted versions with their reasons: a code size limit (codegen/backend/code_bounds.h), register spills.
  std::vector<std::string> dropped;
  int32_t code = 0;  // index into Variant::kernel_bytes; launches of equal kernels share it
};

// The format of a device image, from the most to the least specific.
enum class DeviceImageKind : uint8_t {
  kCubin = 0,  // for one architecture and its minor successors
  kPtx = 1,    // assembled by the driver, for this architecture and all later ones
  kIr = 2,     // LLVM bitcode with the intrinsics of codegen/cuda/device_ir/device_intrinsics.h, for an emulator
};

// All device kernels of a variant, for one architecture.
struct DeviceImage {
  std::string target;  // "sm_90"
  DeviceImageKind kind = DeviceImageKind::kCubin;
  std::span<const std::byte> bytes;  // 64-byte aligned
};

// A function of every device image of its variant; RtApi::launch refers to it by index.
struct DeviceKernel {
  std::string symbol;      // "k3_v0"
  int32_t threads = 0;     // per block; blocks are one-dimensional
  int32_t parameters = 0;  // 8-byte slots: the first ones of the argument block
  // Further parameters of kTensorMapBytes each, after the slots, aligned to kTensorMapAlignment.
  std::vector<TensorMap> maps;
};

// One call of a custom operator by the host program; RtApi::custom refers to it by index.
struct ProgramCustomCall {
  struct Tensor {
    DType dtype = DType::kInvalid;
    int32_t rank = 0;
  };
  std::string name;        // of the function that the host registers
  std::string attributes;  // passed to it
  std::string node;        // the user's name of the node; may be empty
  std::vector<Tensor> operands;
  std::vector<Tensor> results;
};

// A function in a variant's image, for profilers.
struct CodeSymbol {
  static constexpr int32_t kHostProgram = -1, kMicroKernel = -2, kRowsOfChains = -3;  // no single kernel's: of `kernel`

  uint64_t offset = 0;            // in the image; the function ends before the next one's
  int32_t kernel = kHostProgram;  // or an index into Variant::kernel_bytes
  int32_t version = -1;           // of the kernel; -1: a function of several versions

  friend bool operator==(const CodeSymbol&, const CodeSymbol&) = default;
};

// The code for one target: the host program and its kernels in one position-independent image. The kernels of a device
// variant are in device images.
struct Variant {
  std::string target;                 // "x86-64-v4", "sm_90a"
  std::vector<std::string> features;  // exactly the CPU features that the code needs: "avx2", "fma", "avx512f"...
  std::span<const std::byte> image;   // copied, then mapped read+execute; 64-byte aligned
  uint64_t run_offset = 0;            // of RunFn in the image; plan_offset: of PlanFn
  uint64_t plan_offset = 0;
  uint64_t shape_cache_slots = 0;
  uint64_t growable_blocks = 0;  // RtApi::block is called with smaller numbers only
  uint64_t api_size = 0;         // least bytes of RtApi; context_size: of RtContext
  uint64_t context_size = 0;
  std::vector<ProgramLaunch> launches;
  std::vector<uint64_t> kernel_bytes;       // machine code bytes of each distinct kernel, without what kernels share
  CostProfile costs;                        // RtContext::costs, unless the host sets another
  std::vector<MachineCosts> machine_costs;  // overrides `costs` on these CPU families
  // Device variants: tensors and workspace are in device memory. The device uses the first of these images that it
  // supports. Empty: the variant runs on the CPU.
  std::vector<DeviceImage> device_images;
  std::vector<DeviceKernel> device_kernels;
  // The first of the four shape cache words of the fault record, which device kernels write and the host reads after it
  // has waited for them; -1: no kernel can fault.
  int64_t fault_word = -1;
  // Device variants: the host program calls RtApi::readback, so a run waits for the device midway.
  bool reads_back = false;
  // The host program calls RtApi::offer and RtApi::gemm: a matmul provider may compute its external gemms.
  bool offers_products = false;
  // Device variants: outputs that kernels write to separate memory although ProgramTensor::memory_of names an input.
  // The runtime copies them to that input at the end of a run.
  std::vector<int32_t> outputs_to_copy;
  std::vector<ProgramCustomCall> custom_calls;
  std::vector<CodeSymbol> code_symbols;  // by offset
};

struct Provenance {
  std::string tailor_version;
  std::string llvm_version;
  std::string graph_name;
  uint64_t graph_hash = 0;  // hash of the canonical text
  std::string options;      // the options that changed the bytes: targets...
};

// The work of one compiler pass, counted (graph/visits.h).
struct PassVisits {
  std::string pass;  // phase and name: "fuse stitch"
  uint64_t visits = 0;
};

struct Program {
  std::vector<ProgramSymbol> symbols;
  std::vector<ProgramTensor> inputs;
  std::vector<ProgramTensor> outputs;
  std::vector<ProgramCheck> checks;
  std::vector<ProgramConstant> constants;
  std::vector<Variant> variants;  // best first
  Provenance provenance;
  std::vector<std::string> facts;  // for `explain`: one line each
  std::vector<PassVisits> visits;  // in the order of first runs; sums over all graphs and regions
  bool flush_denormals = false;    // CPU kernels: arithmetic takes denormals for zeros of their sign
  std::string display_name;        // of a loaded program, in log messages: its file, or its graph; not stored
};

}  // namespace tailor

#endif  // TAILOR_CODEGEN_CONTRACT_PROGRAM_H_

// Program: the compiled program as plain data, the contract between the compiler (which makes it),
// serialization (which writes and reads it) and exec (which runs it). It holds no LLVM or Abseil
// type. Spans into constants and images are owned by whoever made the Program.
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
  int32_t symbol = -1;    // >= 0: exactly this symbol; -1: see the others
  int64_t dim_size = -1;  // >= 0: constant; -1 with symbol -1: an expression, see text
  std::string text;       // "4*S + 1"; always set
};

struct ProgramTensor {
  std::string name;
  DType dtype = DType::kInvalid;
  std::vector<ProgramDim> dims;
  bool donated = false;    // an input whose memory runs may write
  int32_t memory_of = -1;  // >= 0: an output that is written to the memory of that donated input
};

// A row of the check table; its id is its index. In `message`, {lhs} and {rhs} are the values that
// RtApi::fail was called with.
struct ProgramCheck {
  std::string message;
  std::string node;  // the user's name of the node that asks for it; may be empty
};

enum class ConstantLayout : uint8_t {
  kRowMajor = 0,
  // A [batch..., K, N] right operand of a matmul as panels [batch...][ceil(N/16)][K][16], zero-padded.
  kPanels16 = 1,
  // The same of bf16, where neighbours along K lie together: [batch...][ceil(N/16)][ceil(K/2)][16][2], zero-padded. In
  // the memory of a device such a constant is kPanels16.
  kPairPanels16 = 2,
  // Of f32 weights [batch..., C * 9, N], each 3 x 3 of a pair of channels as the 16 points of Winograd's F(2x2, 3x3)
  // (codegen/cpu/conv/winograd.h): [batch...][16][ceil(N/16)][C][16], zero-padded. For CPUs alone.
  kWinogradPanels16 = 3,
};

// Whether, in the memory of a device, the halves of 8 columns of panels' rows k change places where k / 4 is odd: then
// eight rows' halves lie in all banks of shared memory, as they were copied (wgmma's swizzle of 32 bytes).
constexpr bool HalvesSwap(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

struct ProgramConstant {
  std::string name;
  DType dtype = DType::kInvalid;
  std::vector<int64_t> dims;  // logical
  ConstantLayout layout = ConstantLayout::kRowMajor;
  std::span<const std::byte> bytes;  // physical; 64-byte aligned
};

// One kernel launch of the host program, for traces, plans and `inspect`. Index = step id in RtApi::trace.
struct ProgramLaunch {
  std::string kernel;  // "k3_softmax": KernelPlan name
  // Texts of the guards, "divides(d0, 16)", "always", in order of trial; with "in ... clocks" the cheapest is taken.
  // On a GPU, behind one that runs slower than was meant, why: "always (its registers spill, 112 bytes)".
  std::vector<std::string> versions;
  // Versions that were left out, and why: a bound on code (codegen/backend/code_bounds.h), registers that spill.
  std::vector<std::string> dropped;
  int32_t code = 0;  // its kernel's number in Variant::kernel_bytes; launches of equal kernels share it
};

// What a device image is, from the most to the least exact.
enum class DeviceImageKind : uint8_t {
  kCubin = 0,  // for one architecture and its minor successors
  kPtx = 1,    // which the driver assembles, for this architecture and all after it
  kIr = 2,     // LLVM bitcode in terms of codegen/cuda/device_ir/device_intrinsics.h, for an emulator
};

// All device kernels of a variant, for one architecture.
struct DeviceImage {
  std::string target;  // "sm_90"
  DeviceImageKind kind = DeviceImageKind::kCubin;
  std::span<const std::byte> bytes;  // 64-byte aligned
};

// A function of every device image of its variant; RtApi::launch names it by its index.
struct DeviceKernel {
  std::string symbol;      // "k3_v0"
  int32_t threads = 0;     // of a block; blocks are one-dimensional
  int32_t parameters = 0;  // 8-byte slots, the first ones of the argument block
  // Each is a further parameter of kTensorMapBytes, behind those at the next multiple of kTensorMapAlignment.
  std::vector<TensorMap> maps;
};

// Code for one kind of machine: host program and kernels in one position-independent image, but for the kernels of
// a variant for a device, which are in images of their own.
struct Variant {
  std::string target;                 // "x86-64-v4", "sm_90a"
  std::vector<std::string> features;  // exactly what the code needs: "avx2", "fma", "avx512f"...
  std::span<const std::byte> image;   // to be copied, then mapped read+execute; 64-byte aligned
  uint64_t run_offset = 0;            // RunFn, PlanFn within the image
  uint64_t plan_offset = 0;
  uint64_t shape_cache_slots = 0;
  uint64_t grown_blocks = 0;  // RtApi::block is called with numbers below it
  uint64_t api_size = 0;      // RtApi and RtContext must be at least so large
  uint64_t context_size = 0;
  std::vector<ProgramLaunch> launches;
  std::vector<uint64_t> kernel_bytes;       // machine code of each distinct kernel, all its versions
  CostProfile costs;                        // RtContext::costs, unless the host has another
  std::vector<MachineCosts> machine_costs;  // or the machine is one of these
  // Of a variant for a device: tensors and workspace are in its memory, kernels in these images, of which the device
  // takes the first that it runs. None: the variant runs on the host.
  std::vector<DeviceImage> device_images;
  std::vector<DeviceKernel> device_kernels;
  // The first of the four shape cache words of the fault record, which a device's kernels write and the host reads when it has
  // waited for them; -1: no kernel can fault.
  int64_t fault_word = -1;
  // Of a variant for a device: RtApi::readback is called, so that runs wait for the device in their middle.
  bool reads_back = false;
  // RtApi::offer and RtApi::matmul are called: the runtime may have a library compute matmuls.
  bool offers_products = false;
  // Of a variant for a device: outputs that it writes to memory of their own, though ProgramTensor::memory_of names an
  // input; the runtime copies them there at the end of a run.
  std::vector<int32_t> outputs_apart;
};

struct Provenance {
  std::string tailor_version;
  std::string llvm_version;
  std::string graph_name;
  uint64_t graph_hash = 0;  // of the canonical text
  std::string options;      // what changed the bytes: targets...
};

// What a pass of the compilation looked at (graph/visits.h).
struct PassVisits {
  std::string pass;  // "fuse stitch": its phase and its name
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
  std::vector<PassVisits> visits;  // by pass, in the order of their first runs, over all graphs and regions
};

}  // namespace tailor

#endif  // TAILOR_CODEGEN_CONTRACT_PROGRAM_H_

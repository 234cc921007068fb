// Arguments: one run's tensors, checked against the signature and laid out as generated code reads them. Keeps all its
// memory, so that setting arguments again allocates nothing. For a program on a device, tensors in host memory also get
// device buffers, and are copied before and after runs.
#ifndef TAILOR_EXEC_ARGUMENTS_H_
#define TAILOR_EXEC_ARGUMENTS_H_

#include <cstdint>
#include <vector>

#include "codegen/contract/program.h"
#include "exec/device.h"
#include "exec/failure.h"
#include "exec/host_abi.h"
#include "exec/memory.h"
#include "exec/tensor.h"

namespace tailor {

// How inputs are checked and used.
enum class InputUse {
  kShapesOnly,   // dtype, rank and dims only: for plan and reserve
  kDense,        // strided inputs are rejected
  kCopyStrided,  // strided inputs are copied before each run
};

enum class OutputUse {
  kMayProvide,  // data null: the session provides the buffer
  kNeedData,
  kNeedDimSizes,  // data, and no open dim size
};

// A dim size of an output that the caller leaves open; the run fills it in.
inline constexpr int64_t kOpenDimSize = -1;

class Arguments {
 public:
  // An output as requested by the caller.
  struct Output {
    void* data = nullptr;    // null: the session provides the buffer
    void* target = nullptr;  // where runs write; null: the session's buffer, copied to non-null data after the run
    uint64_t capacity = 0;
    uint64_t bytes = 0;  // size by the caller's dims, in bytes; the capacity if a dim size is open
    bool open = false;
    bool given = false;            // by the caller; false for an output placed in its donated input by default
    int64_t device = kHostMemory;  // where data is
    const int64_t* dims = nullptr;
  };

  // `stream` is where the program runs, or null on the host. `apart` are outputs that a device program writes outside
  // of their donated input (Variant::outputs_to_copy). `counters`, if not null, count the memory of copies. All
  // arguments but `apart` outlive this.
  Arguments(const Program& signature, const Allocator& allocator, DeviceStream* stream = nullptr,
            const std::vector<int32_t>& apart = {}, MemoryCounters* counters = nullptr);

  // Set inputs first: outputs may be placed in their memory. Negative dim sizes are rejected here; generated checks
  // verify all others. Errors: INVALID_ARGUMENT naming the tensor, or RESOURCE_EXHAUSTED; the contents are then
  // unusable until set again.
  Failure SetInputs(InputList inputs, InputUse use);
  Failure SetOutputs(OutputList outputs, OutputUse use);
  // Whether an input lies in `buffer`. Requires inputs to be set.
  bool Reads(const GrowingBuffer& buffer) const;
  // Checks that no output overlaps an input (except the one whose memory it shares) or another output, and that donated
  // inputs overlap no other input. `provided` are the session's output buffers, by output index. Requires inputs and
  // outputs to be set.
  Failure CheckOverlap(const std::vector<GrowingBuffer>& provided) const;

  // Copies inputs from the caller's memory: strided ones to dense buffers, host ones to the device. False if the device
  // fails.
  bool CopyInputs();
  // After a run: copies outputs that were written elsewhere to the caller's memory. False if the device fails.
  bool CopyOutputs();
  // Clears the output addresses, so that generated code requests each again.
  void ClearOutputs() {
    for (TensorArg& arg : out_) arg.data = nullptr;
  }

  // Frees the memory of copies. Inputs must be set again.
  void FreeCopies();
  // Memory of copies, in bytes.
  uint64_t copied_bytes() const;

  const TensorArg* in() const { return in_.data(); }
  TensorArg* out() { return out_.data(); }
  const Output& output(size_t i) const { return outputs_[i]; }
  size_t output_rank(size_t i) const { return signature_.outputs[i].dims.size(); }
  // Size in bytes by the dims that the run computed.
  uint64_t output_bytes(size_t i) const;

 private:
  // The caller's memory of an input.
  struct Memory {
    const void* data = nullptr;
    uint64_t bytes = 0;
    int64_t device = kHostMemory;
  };

  void PlaceInInput(size_t output);
  Failure CheckDonated() const;
  Failure CheckOverlap(size_t i, const Memory& memory, bool own, const std::vector<GrowingBuffer>& provided) const;
  Failure SetInputData(size_t i, const Tensor& tensor, int64_t device, uint64_t bytes, InputUse use);
  Failure AddStridedCopy(size_t i, const Tensor& tensor, uint64_t bytes);
  Failure AddDeviceCopy(size_t i, uint64_t bytes);
  Failure CheckMemory(const char* kind, const ProgramTensor& expected, const Memory& memory) const;
  bool CopyStrided();
  void SetTarget(size_t output);

  // A strided input to copy; its first element is at `from`.
  struct StridedCopy {
    size_t input;
    const void* from;
  };

  // An input to copy to the device.
  struct DeviceCopy {
    size_t input;
    const void* from;
    uint64_t bytes;
  };

  const Program& signature_;
  DeviceStream* const stream_;
  std::vector<int64_t> dims_;  // of all inputs, of outputs as computed, of outputs as requested
  std::vector<TensorArg> in_, out_;
  std::vector<Memory> in_memory_;
  std::vector<Output> outputs_;
  std::vector<bool> outside_donated_;  // by output
  std::vector<int64_t*> wanted_dims_;
  std::vector<int64_t> strides_;              // kMaxRank per input
  std::vector<GrowingBuffer> copies_;         // by input
  std::vector<StridedCopy> strided_;          // capacity for all inputs
  std::vector<GrowingBuffer> device_copies_;  // by input; empty on the host
  std::vector<DeviceCopy> uploads_;           // capacity for all inputs
};

}  // namespace tailor

#endif  // TAILOR_EXEC_ARGUMENTS_H_

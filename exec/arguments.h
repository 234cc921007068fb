// Arguments: one run's tensors, checked against the signature and in the form that generated code reads.
// Holds all the memory that this takes, so that setting them again allocates nothing. For a program on a device,
// tensors in host memory have a place on the device too, and are copied before and after runs.
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

// What of the inputs is looked at, and how.
enum class InputUse {
  kShapesOnly,   // dtype, rank and dims: to plan and to reserve
  kDense,        // strided inputs are refused
  kCopyStrided,  // strided inputs are copied before each run
};

enum class OutputUse {
  kMayProvide,  // data null: the session provides the buffer
  kNeedData,
  kNeedDimSizes,  // data, and no dim size left open
};

// An output's dim size that the run tells.
inline constexpr int64_t kOpenDimSize = -1;

class Arguments {
 public:
  // An output as the caller wants it.
  struct Output {
    void* data = nullptr;    // null: to be provided
    void* target = nullptr;  // where runs write it; null: to be provided, and copied to data where that is not null
    uint64_t capacity = 0;
    uint64_t bytes = 0;  // what the caller's dims need; the capacity where dim sizes are open
    bool open = false;
    bool given = false;            // by the caller: that of an input of which the caller says nothing is not
    int64_t device = kHostMemory;  // where data is
    const int64_t* dims = nullptr;
  };

  // `stream` is where the program runs, null on the host; there it writes the outputs `apart` (Variant::outputs_apart)
  // elsewhere. All but the latter outlive this.
  Arguments(const Program& signature, const Allocator& allocator, DeviceStream* stream = nullptr,
            const std::vector<int32_t>& apart = {});

  // Failures are INVALID_ARGUMENT and name the tensor, or RESOURCE_EXHAUSTED; then the contents are unusable
  // until set again. Dim sizes other than negative ones are the generated checks' to judge. Inputs come first: an
  // output that is in the memory of one goes there.
  Failure SetInputs(InputList inputs, InputUse use);
  Failure SetOutputs(OutputList outputs, OutputUse use);
  // Outputs may overlap neither inputs nor each other, but for an input in whose memory one is, and donated inputs no
  // other input; outputs to be provided are written to `provided`, by output. Both must be set.
  Failure CheckOverlap(const std::vector<GrowingBuffer>& provided) const;

  // Makes the copies of inputs, dense ones of strided inputs and those on the device, from what the caller's memory
  // holds now. False where the device fails.
  bool CopyInputs();
  // After a run: copies outputs that were written elsewhere to the caller's memory. False where the device fails.
  bool CopyOutputs();
  // Forgets where outputs go, so that generated code asks for each anew.
  void ClearOutputs() {
    for (TensorArg& arg : out_) arg.data = nullptr;
  }

  const TensorArg* in() const { return in_.data(); }
  TensorArg* out() { return out_.data(); }
  const Output& output(size_t i) const { return outputs_[i]; }
  size_t output_rank(size_t i) const { return signature_.outputs[i].dims.size(); }
  // Of the dims that a run has computed.
  uint64_t output_bytes(size_t i) const;

 private:
  // Where the caller keeps an input.
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

  // A dense copy of an input, whose first element is at `from`.
  struct StridedCopy {
    size_t input;
    const void* from;
  };

  // A copy of an input on the device.
  struct DeviceCopy {
    size_t input;
    const void* from;
    uint64_t bytes;
  };

  const Program& signature_;
  DeviceStream* const stream_;
  std::vector<int64_t> dims_;  // of all inputs, outputs as computed, outputs as wanted
  std::vector<TensorArg> in_, out_;
  std::vector<Memory> in_memory_;
  std::vector<Output> outputs_;
  std::vector<bool> apart_;  // by output
  std::vector<int64_t*> wanted_dims_;
  std::vector<int64_t> strides_;              // kMaxRank per input
  std::vector<GrowingBuffer> copies_;         // by input
  std::vector<StridedCopy> strided_;          // has capacity for all
  std::vector<GrowingBuffer> device_copies_;  // by input; none on the host
  std::vector<DeviceCopy> uploads_;           // has capacity for all
};

}  // namespace tailor

#endif  // TAILOR_EXEC_ARGUMENTS_H_

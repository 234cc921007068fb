// TakenOutput: an output that was transferred out of its session together with its memory.
#ifndef TAILOR_EXEC_TAKEN_OUTPUT_H_
#define TAILOR_EXEC_TAKEN_OUTPUT_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "exec/device.h"
#include "exec/memory.h"
#include "exec/tensor.h"

namespace tailor {

// May be destroyed on any thread. The executable outlives it.
struct TakenOutput {
  TakenOutput(std::shared_ptr<DeviceStream> stream, GrowingBuffer memory)
      : stream(std::move(stream)), memory(Uncounted(std::move(memory))) {}
  TakenOutput(const TakenOutput&) = delete;
  // Readers may have left device work that still reads this memory, or a copy into it may be in progress.
  ~TakenOutput() {
    if (stream != nullptr) stream->WaitForDevice();
  }

  const std::shared_ptr<DeviceStream> stream;  // owns the memory, on a device; null on the host
  const GrowingBuffer memory;
  void* data = nullptr;
  DType dtype = DType::kInvalid;
  std::vector<int64_t> dims;
  int64_t device = kHostMemory;  // where data is

 private:
  static GrowingBuffer Uncounted(GrowingBuffer memory) {
    memory.StopCounting();
    return memory;
  }
};

}  // namespace tailor

#endif  // TAILOR_EXEC_TAKEN_OUTPUT_H_

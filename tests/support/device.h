// Where tests run compiled programs: one interface for all targets, so that suites take the device as a parameter.
#ifndef TAILOR_TESTS_SUPPORT_DEVICE_H_
#define TAILOR_TESTS_SUPPORT_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace tailor {

// A dense row-major tensor in the host's memory.
struct HostTensor {
  DType dtype = DType::kInvalid;
  std::vector<int64_t> dims;
  std::vector<std::byte> bytes;
};

// A program that was compiled, saved and loaded. Keeps one session for each number of threads, as an application
// does, so that runs meet what earlier ones at other shapes left behind.
class TestProgram {
 public:
  virtual ~TestProgram() = default;
  // On a GPU runs of more than one thread are CUDA graphs, where the program allows it.
  //
  // Runs with outputs of the library's making. INTERNAL where the plan of the run has other dims.
  virtual absl::StatusOr<std::vector<HostTensor>> Run(const std::vector<HostTensor>& inputs, int threads) = 0;
  // Runs with the caller's memory, aligned to the element alone and, where the device can, ending at a page that is
  // not there. `outputs` have dtype, dims and bytes to be overwritten. INTERNAL where memory before them was
  // written, or where the run grew a workspace that was reserved for it (a second run, where data tells dim sizes).
  virtual absl::Status RunInto(const std::vector<HostTensor>& inputs, int threads,
                               std::vector<HostTensor>* outputs) = 0;
};

class TestDevice {
 public:
  virtual ~TestDevice() = default;
  virtual std::string name() const = 0;
  virtual absl::StatusOr<std::unique_ptr<TestProgram>> Compile(const Graph& graph) const = 0;
  // Whether a child process may use the device after this one has. CUDA's drivers refuse that.
  virtual bool survives_fork() const = 0;
};

// The CPU levels that this machine runs, best first.
std::vector<std::unique_ptr<TestDevice>> CpuDevices();
// What TAILOR_TEST_DEVICE names: "cpu" (or nothing): all of the above; "unoptimized": these, with code compiled with
// `optimize` = 0; "without": the best, once for each pass that can be left out; "cuda": the first GPU of this machine;
// "emulated": a driver and an emulator that play one (tests/emulator); "qemu": emulated CPUs (emulated_cpu.h); another
// name is a target: the first GPU runs "sm_90a", this CPU "x86-64-v3".
std::vector<std::unique_ptr<TestDevice>> DevicesUnderTest();
// The best of the CPU levels, for programs whose inputs are all donated: RunInto writes an output that is in the memory
// of an input there.
std::unique_ptr<TestDevice> DonatingCpuDevice();

}  // namespace tailor

#endif  // TAILOR_TESTS_SUPPORT_DEVICE_H_

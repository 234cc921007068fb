// The state of the fake driver: devices, streams and their pending work.
#ifndef TAILOR_TESTS_EMULATOR_FAKE_STATE_H_
#define TAILOR_TESTS_EMULATOR_FAKE_STATE_H_

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "exec/cuda/types.h"
#include "tests/emulator/fake_driver.h"
#include "tests/emulator/fake_kernels.h"
#include "tests/emulator/fake_memory.h"

namespace tailor::fake_cuda {

// Targets of the driver's handles. A device is its own primary context.
struct FakeDevice {
  int ordinal = 0;
  DeviceMemory memory;
};

struct FakeModule {
  std::shared_ptr<Kernels> kernels;
};

struct FakeFunction {
  FakeModule* module;
  std::string name;
  int most_shared_bytes = 48 << 10;
};

struct FakeStream {
  FakeDevice* device;
  std::deque<std::function<void()>> work;
};

// Records and waits refer to the mark that the event had at the time: recording again makes a new mark.
struct FakeEvent {
  struct Mark {
    FakeStream* stream = nullptr;
    bool passed = true;
  };
  FakeDevice* device;
  std::shared_ptr<Mark> mark;
};

struct FakeGraph;
struct FakeExec;

class State {
 public:
  static State& Get();

  std::mutex mutex;  // held by every exported function
  Options options;
  Counts counts;
  std::vector<std::unique_ptr<FakeDevice>> devices;
  std::set<FakeModule*> modules;
  std::set<FakeFunction*> functions;
  std::set<FakeStream*> streams;
  std::set<FakeEvent*> events;
  std::set<FakeGraph*> graphs;
  std::set<FakeExec*> execs;
  std::map<uintptr_t, uint64_t> host_memory;  // begin and size of each allocation
  cuda::Result broken = cuda::kSuccess;       // set by a failing kernel; every later call returns it

  void Complain(const std::string& what) { complaints_ += what + "\n"; }
  std::string TakeComplaints() { return std::exchange(complaints_, ""); }

  // Creates the devices according to the options.
  void Initialise();
  FakeDevice* DeviceOf(const void* data);
  bool IsHostMemory(const void* data) const;
  // The device allocation, or the host allocation, that contains `address`.
  SimtMemoryRange FindMemory(uint64_t address) const;
  void Enqueue(FakeStream* stream, std::function<void()> work);
  // Runs the oldest pending work of `stream`, if any. After a failure nothing runs.
  void Step(FakeStream* stream);
  // Runs all pending work of `stream`, or of all streams if it is null.
  cuda::Result Finish(FakeStream* stream);
  void RunKernel(const FakeFunction& function, Kernels& kernels, const SimtGrid& grid,
                 const std::vector<int64_t>& slots);

 private:
  State();

  std::string complaints_;
  uint32_t seed_ = 1;
};

}  // namespace tailor::fake_cuda

#endif  // TAILOR_TESTS_EMULATOR_FAKE_STATE_H_

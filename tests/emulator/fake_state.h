// The state of the fake driver: devices, streams and the work in them.
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

// What the driver's handles point to. A device is its own primary context.
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

// Records and waits are of the mark that the event had then: recording again makes another.
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
  std::map<uintptr_t, uint64_t> host_memory;  // begin and size of each piece
  cuda::Result broken = cuda::kSuccess;       // what a kernel left behind: every later call answers it

  void Complain(const std::string& what) { complaints_ += what + "\n"; }
  std::string TakeComplaints() { return std::exchange(complaints_, ""); }

  // Makes the devices that the options say.
  void Initialise();
  FakeDevice* DeviceOf(const void* data);
  bool IsHostMemory(const void* data) const;
  // The allocation of a device, or the piece of host memory, that holds `address`.
  SimtDimSize FindMemory(uint64_t address) const;
  void Enqueue(FakeStream* stream, std::function<void()> work);
  // Runs what waits longest in `stream`, where something does. What a kernel broke runs nothing more.
  void Step(FakeStream* stream);
  // Runs what waits in `stream`, in all streams where it is null.
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

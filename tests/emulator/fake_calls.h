// Helpers of the fake driver's exported functions: the thread's current device, streams and launches.
#ifndef TAILOR_TESTS_EMULATOR_FAKE_CALLS_H_
#define TAILOR_TESTS_EMULATOR_FAKE_CALLS_H_

#include <cstdint>
#include <mutex>
#include <vector>

#include "exec/cuda/types.h"
#include "tests/emulator/fake_state.h"

namespace tailor::fake_cuda {

using Lock = std::lock_guard<std::mutex>;  // of State::mutex

// The calling thread's current device.
extern thread_local FakeDevice* current;

inline State& state() { return State::Get(); }
inline FakeStream* StreamOf(cuda::Stream stream) { return reinterpret_cast<FakeStream*>(stream); }

// The error of a call in `stream`, or kSuccess.
cuda::Result CheckStream(FakeStream* stream);

// A kernel with its grid and parameters.
struct FakeLaunch {
  FakeFunction* function = nullptr;
  SimtGrid grid = {};
  std::vector<int64_t> slots;
};

// The result that a driver returns for the launch.
cuda::Result CheckLaunch(const FakeLaunch& launch);
void Enqueue(FakeStream* stream, const FakeLaunch& launch);
// The parameter values, by the address of each, that `function` takes.
std::vector<int64_t> SlotsAt(const FakeFunction& function, void** parameters);

}  // namespace tailor::fake_cuda

#endif  // TAILOR_TESTS_EMULATOR_FAKE_CALLS_H_

// What the fake driver's exported functions share: the thread's device, and how they see their arguments.
#ifndef TAILOR_TESTS_EMULATOR_FAKE_CALLS_H_
#define TAILOR_TESTS_EMULATOR_FAKE_CALLS_H_

#include <cstdint>
#include <mutex>
#include <vector>

#include "exec/cuda/types.h"
#include "tests/emulator/fake_state.h"

namespace tailor::fake_cuda {

using Lock = std::lock_guard<std::mutex>;  // of State::mutex

// The calling thread's.
extern thread_local FakeDevice* current;

inline State& state() { return State::Get(); }
inline FakeStream* StreamOf(cuda::Stream stream) { return reinterpret_cast<FakeStream*>(stream); }

// What keeps a call from working in `stream`.
cuda::Result CheckStream(FakeStream* stream);

// A kernel with its grid and parameters.
struct FakeLaunch {
  FakeFunction* function = nullptr;
  SimtGrid grid = {};
  std::vector<int64_t> slots;
};

// What a driver answers to such a launch.
cuda::Result CheckLaunch(const FakeLaunch& launch);
void Enqueue(FakeStream* stream, const FakeLaunch& launch);
// One address for each parameter that `function` has.
std::vector<int64_t> SlotsAt(const FakeFunction& function, void** parameters);

}  // namespace tailor::fake_cuda

#endif  // TAILOR_TESTS_EMULATOR_FAKE_CALLS_H_

// The test hooks of the fake driver (fake_driver.h).
#include <cstring>

#include "tests/emulator/fake_driver.h"
#include "tests/emulator/fake_state.h"

using namespace tailor::fake_cuda;

extern "C" {

Options* tailor_fake_cuda_options() { return &State::Get().options; }

Counts tailor_fake_cuda_counts() {
  const std::lock_guard lock(State::Get().mutex);
  Counts counts = State::Get().counts;
  for (const auto& device : State::Get().devices) {
    counts.device_bytes += static_cast<int64_t>(device->memory.used());
    counts.device_allocations += device->memory.count();
  }
  counts.host_allocations = static_cast<int64_t>(State::Get().host_memory.size());
  counts.modules = static_cast<int64_t>(State::Get().modules.size());
  counts.streams = static_cast<int64_t>(State::Get().streams.size());
  counts.graphs = static_cast<int64_t>(State::Get().graphs.size() + State::Get().execs.size());
  counts.events = static_cast<int64_t>(State::Get().events.size());
  return counts;
}

const char* tailor_fake_cuda_complaints() {
  static std::string taken;
  const std::lock_guard lock(State::Get().mutex);
  taken = State::Get().TakeComplaints();
  return taken.c_str();
}

void tailor_fake_cuda_reset() {
  const std::lock_guard lock(State::Get().mutex);
  State::Get().Finish(nullptr);
  State::Get().broken = tailor::cuda::kSuccess;
}

void tailor_fake_cuda_break() {
  const std::lock_guard lock(State::Get().mutex);
  State::Get().broken = tailor::cuda::kLaunchFailed;
}

int tailor_fake_cuda_peek(void* to, const void* device, uint64_t bytes) {
  const std::lock_guard lock(State::Get().mutex);
  FakeDevice* owner = State::Get().DeviceOf(device);
  if (owner == nullptr) return 0;
  const DeviceMemory::Open open(owner->memory);
  std::memcpy(to, device, bytes);
  return 1;
}

int tailor_fake_cuda_poke(void* device, const void* from, uint64_t bytes) {
  const std::lock_guard lock(State::Get().mutex);
  FakeDevice* owner = State::Get().DeviceOf(device);
  if (owner == nullptr) return 0;
  const DeviceMemory::Open open(owner->memory);
  std::memcpy(device, from, bytes);
  return 1;
}

}  // extern "C"

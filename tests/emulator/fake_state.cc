#include "tests/emulator/fake_state.h"

#include <cstdlib>
#include <sstream>

namespace tailor::fake_cuda {
namespace {

void ReadOptions(const char* text, Options* options) {
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const size_t equal = word.find('=');
    const std::string name = word.substr(0, equal);
    const uint64_t value = equal == std::string::npos ? 1 : std::stoull(word.substr(equal + 1));
    if (name == "memory") options->memory = value;
    for (auto [option, number] : {std::pair{"devices", &options->devices},
                                  {"driver", &options->driver},
                                  {"major", &options->major},
                                  {"minor", &options->minor},
                                  {"pools", &options->pools},
                                  {"shared", &options->shared},
                                  {"cubin", &options->cubin},
                                  {"ptx", &options->ptx},
                                  {"launch", &options->launch},
                                  {"drop", &options->drop}}) {
      if (name == option) *number = static_cast<int>(value);
    }
  }
}

}  // namespace

State::State() {
  if (const char* text = std::getenv("TAILOR_FAKE_CUDA")) ReadOptions(text, &options);
}

State& State::Get() {
  static auto* const state = new State;
  return *state;
}

void State::Initialise() {
  while (devices.size() < static_cast<size_t>(options.devices)) {
    devices.push_back(std::make_unique<FakeDevice>());
    devices.back()->ordinal = static_cast<int>(devices.size()) - 1;
  }
}

FakeDevice* State::DeviceOf(const void* data) {
  uintptr_t begin = 0;
  uint64_t bytes = 0;
  for (const auto& device : devices) {
    if (device->memory.Find(data, &begin, &bytes)) return device.get();
  }
  return nullptr;
}

bool State::IsHostMemory(const void* data) const {
  const auto address = reinterpret_cast<uintptr_t>(data);
  const auto found = host_memory.upper_bound(address);
  return found != host_memory.begin() && address - std::prev(found)->first < std::prev(found)->second;
}

SimtMemoryRange State::FindMemory(uint64_t address) const {
  uintptr_t begin = 0;
  uint64_t bytes = 0;
  for (const auto& device : devices) {
    if (device->memory.Find(reinterpret_cast<const void*>(address), &begin, &bytes)) return {begin, begin + bytes};
  }
  const auto found = host_memory.upper_bound(address);
  if (found == host_memory.begin()) return {};
  return {std::prev(found)->first, std::prev(found)->first + std::prev(found)->second};
}

void State::Enqueue(FakeStream* stream, std::function<void()> work) {
  stream->work.push_back(std::move(work));
  ++counts.pending;
}

void State::Step(FakeStream* stream) {
  const std::function<void()> work = std::move(stream->work.front());
  stream->work.pop_front();
  --counts.pending;
  if (broken != cuda::kSuccess) return;
  const DeviceMemory::Open open(stream->device->memory);
  work();
}

cuda::Result State::Finish(FakeStream* stream) {
  for (FakeStream* each : streams) {
    if (stream != nullptr && each != stream) continue;
    while (!each->work.empty()) Step(each);
  }
  return broken;
}

void State::RunKernel(const FakeFunction& function, Kernels& kernels, const SimtGrid& grid,
                      const std::vector<int64_t>& slots) {
  const std::string problem = kernels.Run(function.name, grid, slots.data(), seed_++);
  if (problem.empty()) return;
  Complain(problem);
  broken = cuda::kLaunchFailed;
}

}  // namespace tailor::fake_cuda

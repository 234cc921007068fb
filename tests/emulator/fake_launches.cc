// The exported functions that launch single kernels.
#include <algorithm>
#include <cstring>
#include <string>

#include "tests/emulator/fake_calls.h"

namespace tailor::fake_cuda {
namespace {

// Resident blocks per multiprocessor: limited by registers (the launch bound), threads and shared memory, of which each
// block takes 1 KiB more than it requests.
int HeldBlocks(const FakeFunction& function, int threads, int64_t shared_bytes) {
  constexpr int kMostThreads = 2048;
  constexpr int64_t kReserved = 1 << 10;
  const int told = function.module->kernels->ResidentBlocks(function.name);
  const int64_t shared = (state().options.shared + kReserved) / (shared_bytes + kReserved);
  const int registers = told > 0 ? told : state().options.blocks;
  return static_cast<int>(std::min<int64_t>({registers, kMostThreads / threads, shared}));
}

}  // namespace

cuda::Result CheckLaunch(const FakeLaunch& launch) {
  if (state().options.launch != 0) return static_cast<cuda::Result>(state().options.launch);
  const SimtGrid& grid = launch.grid;
  if (grid.blocks <= 0 || grid.shared_bytes < 0 || grid.shared_bytes > launch.function->most_shared_bytes) {
    return cuda::kInvalidValue;
  }
  const int blocks = HeldBlocks(*launch.function, grid.threads, grid.shared_bytes);
  const int64_t held = int64_t{blocks} * state().options.multiprocessors;
  return grid.cooperative && grid.blocks > held ? cuda::kCooperativeLaunchTooLarge : cuda::kSuccess;
}

void Enqueue(FakeStream* stream, const FakeLaunch& launch) {
  ++state().counts.total_launches;
  state().Enqueue(stream, [function = *launch.function, kernels = launch.function->module->kernels, grid = launch.grid,
                           slots = launch.slots] { state().RunKernel(function, *kernels, grid, slots); });
}

std::vector<int64_t> SlotsAt(const FakeFunction& function, void** parameters) {
  const Kernels& kernels = *function.module->kernels;
  std::vector<int64_t> slots(kernels.ParameterBytes(function.name) / sizeof(int64_t));
  for (int i = 0; i < kernels.Parameters(function.name); ++i) {
    const Kernels::Parameter place = kernels.ParameterPlace(function.name, i);
    std::memcpy(reinterpret_cast<std::byte*>(slots.data()) + place.offset, parameters[i], place.bytes);
  }
  return slots;
}

namespace {

cuda::Result Launch(FakeStream* stream, const FakeLaunch& launch) {
  if (cuda::Result bad = CheckStream(stream); bad != cuda::kSuccess) return bad;
  if (cuda::Result bad = CheckLaunch(launch); bad != cuda::kSuccess) return bad;
  Enqueue(stream, launch);
  return cuda::kSuccess;
}

// The slots of cuLaunchKernel's last argument: parameters in one buffer.
std::vector<int64_t> SlotsOf(const FakeFunction& function, void** extra) {
  const void* buffer = nullptr;
  size_t bytes = 0;
  for (; *extra != cuda::kLaunchParamEnd; extra += 2) {
    if (extra[0] == cuda::kLaunchParamBufferPointer) buffer = extra[1];
    if (extra[0] == cuda::kLaunchParamBufferSize) bytes = *static_cast<size_t*>(extra[1]);
  }
  const int64_t wanted = function.module->kernels->ParameterBytes(function.name);
  if (static_cast<int64_t>(bytes) != wanted) {
    const int parameters = function.module->kernels->Parameters(function.name);
    state().Complain(function.name + " has " + std::to_string(parameters) + " parameters of " + std::to_string(wanted) +
                     " bytes, but gets " + std::to_string(bytes) + " bytes");
  }
  const auto* slots = static_cast<const int64_t*>(buffer);
  return {slots, slots + bytes / sizeof(int64_t)};
}

}  // namespace
}  // namespace tailor::fake_cuda

using namespace tailor;
using namespace tailor::cuda;
using namespace tailor::fake_cuda;

extern "C" {

Result cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Function function, int threads, size_t shared_bytes) {
  const Lock lock(state().mutex);
  *blocks = HeldBlocks(*reinterpret_cast<FakeFunction*>(function), threads, static_cast<int64_t>(shared_bytes));
  return current != nullptr ? kSuccess : kInvalidContext;
}

Result cuLaunchKernel(Function function, unsigned grid_x, unsigned, unsigned, unsigned block_x, unsigned, unsigned,
                      unsigned shared_bytes, Stream stream, void** parameters, void** extra) {
  if (state().options.drop != 0) return kSuccess;
  const Lock lock(state().mutex);
  auto* launched = reinterpret_cast<FakeFunction*>(function);
  const SimtGrid grid = {grid_x, static_cast<int>(block_x), shared_bytes, /*together=*/false};
  if ((parameters == nullptr) == (extra == nullptr)) return kInvalidValue;
  if (parameters != nullptr) return Launch(StreamOf(stream), {launched, grid, SlotsAt(*launched, parameters)});
  // A GPU aligns objects by their address in its constant memory, which the caller of a buffer cannot know.
  if (launched->module->kernels->HasByvalParameters(launched->name)) return kLaunchOutOfResources;
  return Launch(StreamOf(stream), {launched, grid, SlotsOf(*launched, extra)});
}

Result cuLaunchCooperativeKernel(Function function, unsigned grid_x, unsigned, unsigned, unsigned block_x, unsigned,
                                 unsigned, unsigned shared_bytes, Stream stream, void** parameters) {
  if (state().options.drop != 0) return kSuccess;
  const Lock lock(state().mutex);
  auto* launched = reinterpret_cast<FakeFunction*>(function);
  const SimtGrid grid = {grid_x, static_cast<int>(block_x), shared_bytes, /*together=*/true};
  return Launch(StreamOf(stream), {launched, grid, SlotsAt(*launched, parameters)});
}

}  // extern "C"

// cp.async: bytes arrive as late as possible, when the thread waits for their group. Until then their destination holds
// kUnwritten bytes.
#include <algorithm>
#include <cstring>

#include "tests/emulator/device_functions.h"
#include "tests/emulator/launch.h"

namespace tailor::simt {

void Deliver(const AsyncCopy& copy) {
  std::memcpy(copy.to, copy.from, copy.bytes);
  std::memset(copy.to + copy.bytes, 0, copy.size - copy.bytes);
  if (AccessChecker* checker = RunningChecker()) checker->FinishCopy(copy.to, copy.size);
}

namespace {

template <uint32_t size>
void Start(uint64_t* slots) {
  AsyncCopy copy = {reinterpret_cast<std::byte*>(slots[0]), reinterpret_cast<const std::byte*>(slots[1]),
                    static_cast<uint32_t>(slots[2]), size, RunningThread().copy_groups};
  Thread& thread = RunningThread();
  if (copy.bytes > size) {
    Fail(NameOf(thread) + ": an asynchronous copy of " + std::to_string(copy.bytes) + " bytes, more than " +
         std::to_string(size));
  }
  if (slots[0] % size != 0 || slots[1] % size != 0) {
    Fail(NameOf(thread) + ": an asynchronous copy between addresses that are not multiples of " + std::to_string(size));
  }
  if (AccessChecker* checker = RunningChecker()) {
    if (copy.bytes > 0) checker->Global(copy.from, copy.bytes, AccessChecker::Kind::kRead);
    checker->StartCopy(copy.to, size);
  }
  std::memset(copy.to, kUnwritten, size);
  thread.copies.push_back(copy);
}

void Commit(uint64_t*) { ++RunningThread().copy_groups; }

void WaitForCopies(uint64_t* slots) {
  Thread& thread = RunningThread();
  const int64_t arrived = thread.copy_groups - static_cast<uint32_t>(slots[0]);
  auto late = std::find_if(thread.copies.begin(), thread.copies.end(), [&](auto& c) { return c.group >= arrived; });
  std::for_each(thread.copies.begin(), late, Deliver);
  thread.copies.erase(thread.copies.begin(), late);
}

}  // namespace

std::span<const NamedDeviceFunction> AsyncCopyFunctions() {
  static constexpr NamedDeviceFunction kFunctions[] = {
      {"cp_async_4", Start<4>},    {"cp_async_8", Start<8>},         {"cp_async_16", Start<16>},
      {"cp_async_commit", Commit}, {"cp_async_wait", WaitForCopies},
  };
  return kFunctions;
}

}  // namespace tailor::simt

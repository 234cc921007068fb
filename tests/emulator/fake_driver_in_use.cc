#include "tests/emulator/fake_driver_in_use.h"

#include <dlfcn.h>

#include "exec/cuda/driver.h"

namespace tailor::fake_cuda {
namespace {

// The functions of the loaded library; null if it is not the fake driver.
struct Functions {
  decltype(&tailor_fake_cuda_options) options = nullptr;
  decltype(&tailor_fake_cuda_counts) counts = nullptr;
  decltype(&tailor_fake_cuda_complaints) complaints = nullptr;
  decltype(&tailor_fake_cuda_reset) reset = nullptr;
  decltype(&tailor_fake_cuda_break) break_device = nullptr;
  decltype(&tailor_fake_cuda_peek) peek = nullptr;
  decltype(&tailor_fake_cuda_poke) poke = nullptr;
};

const Functions& Found() {
  static const Functions found = [] {
    Functions functions;
    void* library = dlopen(CudaDriverPath().c_str(), RTLD_NOW | RTLD_LOCAL);
    const auto bind = [&](const char* symbol, auto* function) {
      *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(dlsym(library, symbol));
    };
    if (library == nullptr || dlsym(library, "tailor_emulator_load_ir") == nullptr) return functions;
    bind("tailor_fake_cuda_options", &functions.options);
    bind("tailor_fake_cuda_counts", &functions.counts);
    bind("tailor_fake_cuda_complaints", &functions.complaints);
    bind("tailor_fake_cuda_reset", &functions.reset);
    bind("tailor_fake_cuda_break", &functions.break_device);
    bind("tailor_fake_cuda_peek", &functions.peek);
    bind("tailor_fake_cuda_poke", &functions.poke);
    return functions;
  }();
  return found;
}

}  // namespace

bool IsInUse() { return Found().options != nullptr; }

}  // namespace tailor::fake_cuda

using namespace tailor::fake_cuda;

extern "C" {

Options* tailor_fake_cuda_options() {
  static Options none;
  return IsInUse() ? Found().options() : &none;
}
Counts tailor_fake_cuda_counts() { return IsInUse() ? Found().counts() : Counts(); }
const char* tailor_fake_cuda_complaints() { return IsInUse() ? Found().complaints() : ""; }
void tailor_fake_cuda_reset() {
  if (IsInUse()) Found().reset();
}
void tailor_fake_cuda_break() {
  if (IsInUse()) Found().break_device();
}
int tailor_fake_cuda_peek(void* to, const void* device, uint64_t bytes) {
  return IsInUse() ? Found().peek(to, device, bytes) : 0;
}
int tailor_fake_cuda_poke(void* device, const void* from, uint64_t bytes) {
  return IsInUse() ? Found().poke(device, from, bytes) : 0;
}

}  // extern "C"

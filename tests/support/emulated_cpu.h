// CPU levels that this machine lacks: programs are compiled here and executed by program_runner under qemu-user, whose
// CPU model has the instructions of one level and no others.
#ifndef TAILOR_TESTS_SUPPORT_EMULATED_CPU_H_
#define TAILOR_TESTS_SUPPORT_EMULATED_CPU_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "serialization/aligned_bytes.h"
#include "tests/support/device.h"

namespace tailor {

struct EmulatedCpu {
  const char* level;  // the highest that it runs
  const char* model;  // as qemu-x86_64 -cpu names it
};

// qemu-user (7.2) emulates no AVX-512.
inline constexpr EmulatedCpu kEmulatedCpus[] = {
    {"x86-64-v3", "Haswell-noTSX,pcid=off,x2apic=off,tsc-deadline=off,invpcid=off"},  // what qemu would warn about
    {"x86-64-v2", "Nehalem"}};

// Starts a runner on that CPU and loads `artifact` there. UNAVAILABLE where qemu-x86_64 is not installed. A runner that
// dies (an instruction that the model lacks) is INTERNAL, naming the signal.
absl::StatusOr<std::unique_ptr<TestProgram>> LoadOnEmulatedCpu(const EmulatedCpu& cpu, const AlignedBytes& artifact,
                                                               const std::string& target);

}  // namespace tailor

#endif  // TAILOR_TESTS_SUPPORT_EMULATED_CPU_H_

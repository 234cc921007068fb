// An artifact that was loaded without a compiler, as a TestProgram: what runs in the test's process, and what the
// runner (program_runner.cc) runs in another.
#ifndef TAILOR_TESTS_SUPPORT_LOADED_PROGRAM_H_
#define TAILOR_TESTS_SUPPORT_LOADED_PROGRAM_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "exec/cuda/find_device.h"
#include "exec/failure.h"
#include "serialization/aligned_bytes.h"
#include "tests/support/device.h"

namespace tailor {

// For emulators whose masked loads touch bytes that the mask leaves out (vmaskmovps of qemu 7.2), before a buffer and
// past its end. Writes still fault. `bytes` is a multiple of the page size.
void AllowReadsAround(size_t bytes);

absl::Status StatusOfFailure(const Failure& failure);

// Takes the variant named `target`, or the first that `device` runs where it is empty.
absl::StatusOr<std::unique_ptr<TestProgram>> LoadProgram(AlignedBytes artifact, const std::string& target,
                                                         const DeviceChoice& device);

}  // namespace tailor

#endif  // TAILOR_TESTS_SUPPORT_LOADED_PROGRAM_H_

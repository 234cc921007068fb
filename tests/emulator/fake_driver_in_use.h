// The functions of fake_driver.h for tests that also run on a real driver. They forward to the fake driver if Tailor
// has loaded it, which is found at run time. On another driver options have no effect, counts are 0, and there are no
// complaints.
#ifndef TAILOR_TESTS_EMULATOR_FAKE_DRIVER_IN_USE_H_
#define TAILOR_TESTS_EMULATOR_FAKE_DRIVER_IN_USE_H_

#include "tests/emulator/fake_driver.h"

namespace tailor::fake_cuda {

// Whether the driver at CudaDriverPath() is the fake one.
bool IsInUse();

}  // namespace tailor::fake_cuda

// Skips a test on real drivers; `why` says what they lack.
#define TAILOR_NEEDS_FAKE_DRIVER(why) \
  if (!tailor::fake_cuda::IsInUse()) GTEST_SKIP() << "for the driver that plays a GPU: " << (why)

#endif  // TAILOR_TESTS_EMULATOR_FAKE_DRIVER_IN_USE_H_

// The functions of fake_driver.h for tests that also run on a real driver: those of the fake driver where Tailor's is
// that one, found at run time. On another driver options are without effect, counts are 0, and nothing complains.
#ifndef TAILOR_TESTS_EMULATOR_FAKE_DRIVER_IN_USE_H_
#define TAILOR_TESTS_EMULATOR_FAKE_DRIVER_IN_USE_H_

#include "tests/emulator/fake_driver.h"

namespace tailor::fake_cuda {

// Whether the driver that CudaDriverPath() names is the fake one.
bool IsInUse();

}  // namespace tailor::fake_cuda

// Skips a test on real drivers: `why` says what it takes that they do not have.
#define TAILOR_NEEDS_FAKE_DRIVER(why) \
  if (!tailor::fake_cuda::IsInUse()) GTEST_SKIP() << "for the driver that plays a GPU: " << (why)

#endif  // TAILOR_TESTS_EMULATOR_FAKE_DRIVER_IN_USE_H_

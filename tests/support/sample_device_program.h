// The sample program (sample_program.h) compiled for a device too: it computes the same there, with kernels as bitcode.
// A negative mask is a fault that a kernel finds.
#ifndef TAILOR_TESTS_SUPPORT_SAMPLE_DEVICE_PROGRAM_H_
#define TAILOR_TESTS_SUPPORT_SAMPLE_DEVICE_PROGRAM_H_

#include <string>

#include "codegen/contract/program.h"

namespace tailor {

// Bitcode of the kernels "sum_rows", "negate" and "copy_sums", in terms of the device intrinsics.
const std::string& SampleKernels();

// The sample with a variant "cuda" before that for the CPU; its one device image is SampleKernels(), as IR. Spans point
// to static data.
Program SampleDeviceProgram();

}  // namespace tailor

#endif  // TAILOR_TESTS_SUPPORT_SAMPLE_DEVICE_PROGRAM_H_

// The sample's kernels (sample_device_program.h) for NVIDIA's drivers.
#ifndef TAILOR_TESTS_SUPPORT_SAMPLE_PTX_H_
#define TAILOR_TESTS_SUPPORT_SAMPLE_PTX_H_

#include <string>

namespace tailor {

// PTX for sm_80 and later.
const std::string& SamplePtx();

}  // namespace tailor

#endif  // TAILOR_TESTS_SUPPORT_SAMPLE_PTX_H_

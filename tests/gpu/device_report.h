// The GPU and its driver, by which measured figures are labelled.
#ifndef TAILOR_TESTS_GPU_DEVICE_REPORT_H_
#define TAILOR_TESTS_GPU_DEVICE_REPORT_H_

#include <string>

namespace tailor {

// JSON: {"absence": "..."} where there is no GPU, else {"name", "capability": "9.0", "target": the best target
// of Tailor's for it, "processors", "memory_bytes", "driver": "12.4", "emulated": whether tests play it}.
std::string DeviceReport();

}  // namespace tailor

#endif  // TAILOR_TESTS_GPU_DEVICE_REPORT_H_

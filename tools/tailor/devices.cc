#include <iomanip>
#include <iostream>

#include "tools/handles.h"
#include "tools/tailor/commands.h"

namespace tailor {
namespace {

void Print(const tailor_device_info& info) {
  const double gibibytes = static_cast<double>(info.memory_bytes) / (uint64_t{1} << 30);
  const bool cuda = info.kind == TAILOR_DEVICE_CUDA;
  std::cout << (cuda ? "cuda:" + std::to_string(info.ordinal) : "cpu") << "  " << info.name;
  if (cuda) {
    std::cout << ", sm_" << info.major << info.minor << ", " << info.processors << " multiprocessors, driver for CUDA "
              << info.driver / 1000 << "." << info.driver % 1000 / 10;
  }
  std::cout << ", " << std::fixed << std::setprecision(1) << gibibytes << " GiB\n";
}

}  // namespace

void Devices() {
  for (size_t i = 0; i < tailor_runtime_device_count(nullptr); ++i) {
    tailor_device_info info;
    tailor_device_info_init(&info);
    Check(tailor_runtime_device(nullptr, i, &info));
    Print(info);
  }
  const std::string absence = tailor_runtime_cuda_absence(nullptr);
  if (!absence.empty()) std::cout << "no CUDA device: " << absence << "\n";
}

}  // namespace tailor

#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>

#include "tools/handles.h"
#include "tools/tailor/commands.h"
#include "tools/tailor/failures.h"

namespace tailor {
namespace {

using nlohmann::json;

std::string DeviceName(const tailor_device_info& info) {
  return info.kind == TAILOR_DEVICE_CUDA ? "cuda:" + std::to_string(info.ordinal) : "cpu";
}

void Print(const tailor_device_info& info) {
  const double gibibytes = static_cast<double>(info.memory_bytes) / (uint64_t{1} << 30);
  std::cout << DeviceName(info) << "  " << info.name;
  if (info.kind == TAILOR_DEVICE_CUDA) {
    std::cout << ", sm_" << info.major << info.minor << ", " << info.processors << " multiprocessors, driver for CUDA "
              << info.driver / 1000 << "." << info.driver % 1000 / 10;
  }
  std::cout << ", " << std::fixed << std::setprecision(1) << gibibytes << " GiB\n";
}

json ToJson(const tailor_device_info& info) {
  json out = {{"device", DeviceName(info)}, {"name", info.name}, {"memory_bytes", info.memory_bytes}};
  if (info.kind == TAILOR_DEVICE_CUDA) {
    out["compute_capability"] = std::to_string(info.major) + "." + std::to_string(info.minor);
    out["multiprocessors"] = info.processors;
    out["driver"] = info.driver;
  }
  return out;
}

}  // namespace

int Devices(const DevicesArguments& arguments) {
  json all = {{"devices", json::array()}, {"cpu_features", tailor_cpu_features()}};
  for (size_t i = 0; i < tailor_runtime_device_count(nullptr); ++i) {
    tailor_device_info info;
    tailor_device_info_init(&info);
    Check(tailor_runtime_device(nullptr, i, &info));
    all["devices"].push_back(ToJson(info));
    if (!arguments.json) Print(info);
  }
  const std::string absence = tailor_runtime_cuda_absence(nullptr);
  if (!absence.empty()) all["no_cuda"] = absence;
  if (arguments.json) {
    std::cout << all.dump(2) << "\n";
  } else if (!absence.empty()) {
    std::cout << "no CUDA device: " << absence << "\n";
  }
  return kExitSuccess;
}

}  // namespace tailor

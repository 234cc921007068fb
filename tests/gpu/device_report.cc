#include "tests/gpu/device_report.h"

#include <nlohmann/json.hpp>

#include "tests/gpu/measure/gpu.h"

namespace tailor {

std::string DeviceReport() {
  const bench::Gpu* gpu = bench::Gpu::First();
  if (gpu == nullptr) return nlohmann::json{{"absence", bench::Gpu::Absence()}}.dump();
  const CudaDevice::Info& info = gpu->device().info();
  const CudaArchitecture& at = info.architecture;
  return nlohmann::json{
      {"name", info.name},
      {"capability", std::to_string(at.major) + "." + std::to_string(at.minor)},
      {"target", gpu->target()},
      {"processors", info.multiprocessors},
      {"memory_bytes", info.memory_bytes},
      {"driver", std::to_string(info.driver_version / 1000) + "." + std::to_string(info.driver_version / 10 % 100)},
      {"emulated", gpu->emulated()}}
      .dump();
}

}  // namespace tailor

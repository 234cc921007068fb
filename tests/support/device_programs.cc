#include <cassert>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/cuda/backend/cuda_backend.h"
#include "codegen/driver/compile.h"
#include "codegen/link/target_machine.h"
#include "exec/cpu_features.h"
#include "exec/tile_state.h"
#include "graph/status_macros.h"
#include "serialization/writer.h"
#include "tests/support/device.h"
#include "tests/support/emulated_cpu.h"
#include "tests/support/loaded_program.h"

namespace tailor {
namespace {

struct Choices {
  bool donated = false;  // all inputs
  bool optimize = true;
  std::string without = {};  // a pass to leave out; empty: none
  DeviceChoice device = {};
};

class TargetDevice : public TestDevice {
 public:
  explicit TargetDevice(std::string target, const Choices& choices = {})
      : target_(std::move(target)), choices_(choices) {}
  std::string name() const override {
    return choices_.without.empty() ? target_ : absl::StrCat(target_, " without ", choices_.without);
  }
  bool survives_fork() const override { return choices_.device.kind == DeviceChoice::kCpu || target_ == "simt"; }
  absl::StatusOr<std::unique_ptr<TestProgram>> Compile(const Graph& graph) const override {
    driver::CompileOptions options{.targets = {target_}, .threads = 1, .optimize = choices_.optimize};
    if (!choices_.without.empty()) options.without.push_back(choices_.without);
    for (NodeId input : graph.inputs()) {
      if (choices_.donated) options.donated.push_back(graph.node(input).string("name"));
    }
    TAILOR_ASSIGN_OR_RETURN(const driver::CompiledProgram compiled, driver::Compile(graph, options));
    // Where the level adds nothing, the variant's target is a lower one; a GPU takes the variant that it runs.
    const std::string target =
        choices_.device.kind == DeviceChoice::kCpu ? compiled.program.variants.front().target : "";
    AlignedBytes artifact;
    TAILOR_RETURN_IF_ERROR(StatusOfFailure(WriteArtifact(compiled.program, {}, &artifact)));
    return Load(std::move(artifact), target);
  }

 protected:
  virtual absl::StatusOr<std::unique_ptr<TestProgram>> Load(AlignedBytes artifact, const std::string& target) const {
    return LoadProgram(std::move(artifact), target, choices_.device);
  }

 private:
  const std::string target_;
  const Choices choices_;
};

// Compiles here, executes under qemu-user.
class EmulatedCpuDevice : public TargetDevice {
 public:
  explicit EmulatedCpuDevice(const EmulatedCpu& cpu) : TargetDevice(cpu.level), cpu_(cpu) {}
  std::string name() const override { return TargetDevice::name() + " in qemu"; }

 protected:
  absl::StatusOr<std::unique_ptr<TestProgram>> Load(AlignedBytes artifact, const std::string& target) const override {
    return LoadOnEmulatedCpu(cpu_, artifact, target);
  }

 private:
  const EmulatedCpu cpu_;
};

std::vector<std::unique_ptr<TestDevice>> CpuDevicesWith(const Choices& choices) {
  std::vector<std::unique_ptr<TestDevice>> devices;
  for (auto level = CpuLevels().rbegin(); level != CpuLevels().rend(); ++level) {
    const bool tiles = level->traits.bf16_matmuls == BF16Matmuls::kTiles;
    if (MissingFeatures(ThisCpu(), level->features).empty() && (!tiles || RequestTileState())) {
      devices.push_back(std::make_unique<TargetDevice>(level->name, choices));
    }
  }
  return devices;
}

}  // namespace

std::vector<std::unique_ptr<TestDevice>> CpuDevices() { return CpuDevicesWith({}); }

std::unique_ptr<TestDevice> DonatingCpuDevice() {
  return std::make_unique<TargetDevice>(CpuDevices().front()->name(), Choices{.donated = true});
}

std::vector<std::unique_ptr<TestDevice>> DevicesUnderTest() {
  const char* named = std::getenv("TAILOR_TEST_DEVICE");
  const std::string name = named == nullptr ? "cpu" : named;
  if (name == "cpu") return CpuDevices();
  if (name == "unoptimized") return CpuDevicesWith({.optimize = false});
  if (name == "without") {
    std::vector<std::unique_ptr<TestDevice>> devices;
    for (const std::string& pass : driver::OptionalPasses()) {
      devices.push_back(std::make_unique<TargetDevice>(CpuDevices().front()->name(), Choices{.without = pass}));
    }
    return devices;
  }
  if (name == "emulated") setenv("TAILOR_CUDA_DRIVER", TAILOR_FAKE_CUDA_LIBRARY, /*overwrite=*/0);
  std::vector<std::unique_ptr<TestDevice>> devices;
  if (name == "qemu") {
    for (const EmulatedCpu& cpu : kEmulatedCpus) devices.push_back(std::make_unique<EmulatedCpuDevice>(cpu));
    return devices;
  }
  const std::string target = name == "emulated" ? "simt" : name;
  const auto kind = cuda::NamesCudaTarget(target) ? DeviceChoice::kCuda : DeviceChoice::kCpu;
  devices.push_back(std::make_unique<TargetDevice>(target, Choices{.device = {kind, 0}}));
  return devices;
}

}  // namespace tailor

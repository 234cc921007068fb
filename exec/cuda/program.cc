#include "exec/cuda/program.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "exec/cuda/device_panels.h"
#include "exec/cuda/image.h"
#include "exec/cuda/stream.h"

namespace tailor {
namespace {

constexpr uint64_t kConstantAlignment = 256;  // alignment of device allocations

uint64_t Padded(uint64_t bytes) { return (bytes + kConstantAlignment - 1) / kConstantAlignment * kConstantAlignment; }

std::string NameOf(const CudaDevice& device) {
  return "device " + std::to_string(device.info().ordinal) + " (" + device.info().name + ", " +
         NameOf(device.info().architecture) + ")";
}

const char* NameOf(DeviceImageKind kind) {
  return kind == DeviceImageKind::kCubin ? "cubin" : kind == DeviceImageKind::kPtx ? "PTX" : "IR";
}

Failure FromModuleLoad(const CudaDriver& driver, const DeviceImage& image, cuda::Module* module) {
  const std::string purpose = std::string(NameOf(image.kind)) + " " + image.target;
  if (image.kind == DeviceImageKind::kIr) {
    return CudaFailure(driver, driver.LoadIr(module, image.bytes.data(), image.bytes.size()), "tailor_emulator_load_ir",
                       purpose);
  }
  char log[2048] = "";
  cuda::JitOption options[] = {cuda::kJitErrorLogBuffer, cuda::kJitErrorLogBufferSizeBytes};
  void* values[] = {log, reinterpret_cast<void*>(sizeof(log) - 1)};
  const auto result = driver.ModuleLoadDataEx(module, image.bytes.data(), 2, options, values);
  Failure f = CudaFailure(driver, result, "cuModuleLoadDataEx", purpose);
  if (!f.ok() && *log != '\0') f.message += std::string(": ") + log;
  return f;
}

}  // namespace

Failure CudaProgram::Create(const Runtime& runtime, const CudaDevice& device, const Program& program,
                            const Variant& variant, std::unique_ptr<DeviceProgram>* out) {
  if (Failure f = device.RetainContext(); !f.ok()) return f;
  const CurrentContext current(device);
  std::unique_ptr<CudaProgram> made(new CudaProgram(runtime, device, program, variant));
  if (Failure f = made->LoadAnyImage(); !f.ok()) return f;
  if (Failure f = made->UploadConstants(); !f.ok()) return f;
  if (runtime.cublas_lt() != nullptr && !variant.offers_products) {
    runtime.Log(Runtime::kInfo, program, "cuBLASLt is not used: the program offers no matmuls");
  }
  *out = std::move(made);
  return {};
}

size_t CudaProgram::most_parameters() const {
  int32_t most = 0;
  for (const DeviceKernel& kernel : variant_.device_kernels) {
    most = std::max(most, kernel.parameters + static_cast<int32_t>(kernel.maps.size()));
  }
  return static_cast<size_t>(most);
}

CudaProgram::~CudaProgram() {
  const CurrentContext current(device_);
  if (memory_ != 0) device_.driver().MemFree(memory_);
  if (module_ != nullptr) device_.driver().ModuleUnload(module_);
}

Failure CudaProgram::LoadImage(const DeviceImage& image) {
  if (Failure f = FromModuleLoad(device_.driver(), image, &module_); !f.ok()) return f;
  Failure f = FindKernels();
  if (f.ok()) return f;
  device_.driver().ModuleUnload(std::exchange(module_, nullptr));
  kernels_.clear();
  return f;
}

Failure CudaProgram::LoadAnyImage() {
  const auto& images = variant_.device_images;
  std::string reasons;
  for (const size_t i : ImagesFor(device_.info().architecture, images)) {
    Failure f = LoadImage(images[i]);
    if (f.code == Code::kResourceExhausted) return f;
    if (!f.ok()) {
      reasons += (reasons.empty() ? "" : "; ") + f.message;
      continue;
    }
    const bool ptx = images[i].kind == DeviceImageKind::kPtx;
    const std::string why = !reasons.empty() ? reasons : "no cubin for " + NameOf(device_.info().architecture);
    runtime_.Log(Runtime::kInfo, program_,
                 NameOf(device_) + " runs " + NameOf(images[i].kind) + " " + images[i].target +
                     (ptx || !reasons.empty() ? ": " + why : ""));
    return {};
  }
  if (reasons.empty()) reasons = "it has " + ListImages(images);
  return {Code::kFailedPrecondition, "an image for " + NameOf(device_) + ": " + reasons, ""};
}

Failure CudaProgram::FindKernels() {
  const CudaDriver& driver = device_.driver();
  for (const DeviceKernel& kernel : variant_.device_kernels) {
    const std::string purpose = "kernel " + kernel.symbol;
    const char* call = "cuModuleGetFunction";
    cuda::Function function = nullptr;
    int fixed_bytes = 0;
    auto result = driver.ModuleGetFunction(&function, module_, kernel.symbol.c_str());
    if (result == cuda::kSuccess) {
      call = "cuFuncGetAttribute";
      result = driver.FuncGetAttribute(&fixed_bytes, cuda::kSharedSizeBytes, function);
    }
    if (result == cuda::kSuccess) {
      call = "cuFuncSetAttribute";
      result = driver.FuncSetAttribute(function, cuda::kMaxDynamicSharedSizeBytes,
                                       device_.info().most_shared_bytes - fixed_bytes);
    }
    if (result != cuda::kSuccess) return CudaFailure(driver, result, call, purpose);
    if (!kernel.maps.empty() && driver.TensorMapEncodeTiled == nullptr) {
      return {Code::kFailedPrecondition, purpose + ": the driver is older than CUDA 12.0, which makes tensor maps", ""};
    }
    kernels_.push_back({function, &kernel});
  }
  return {};
}

Failure CudaProgram::UploadConstants() {
  const CudaDriver& driver = device_.driver();
  uint64_t bytes = 0;
  for (const ProgramConstant& constant : program_.constants) bytes += Padded(constant.bytes.size());
  const std::string purpose = std::to_string(bytes) + " bytes of constants";
  if (bytes > 0) {
    Failure f = CudaFailure(driver, driver.MemAlloc(&memory_, bytes), "cuMemAlloc", purpose);
    if (f.code == Code::kResourceExhausted) {
      device_.TrimPool();
      f = CudaFailure(driver, driver.MemAlloc(&memory_, bytes), "cuMemAlloc", purpose);
    }
    if (!f.ok()) return f;
  }
  cuda::Stream stream = nullptr;  // a separate stream, so that uploading waits for no other work on the device
  if (Failure f =
          CudaFailure(driver, driver.StreamCreate(&stream, cuda::kStreamNonBlocking), "cuStreamCreate", purpose);
      !f.ok()) {
    return f;
  }
  auto result = cuda::kSuccess;
  uint64_t offset = 0;
  for (const ProgramConstant& constant : program_.constants) {
    std::vector<std::byte> made;  // pageable: read before the copy returns
    const std::span<const std::byte> bytes_on_device = BytesOnDevice(constant, &made);
    const uint64_t size = bytes_on_device.size();
    const cuda::Address address = memory_ + offset;
    constants_.push_back(size == 0 ? EmptyTensorData() : reinterpret_cast<const void*>(address));
    offset += Padded(constant.bytes.size());
    if (size > 0 && result == cuda::kSuccess) {
      result = driver.MemcpyHtoDAsync(address, bytes_on_device.data(), size, stream);
    }
  }
  const auto waited = driver.StreamSynchronize(stream);
  driver.StreamDestroy(stream);
  return CudaFailure(driver, result != cuda::kSuccess ? result : waited, "cuMemcpyHtoDAsync", purpose);
}

Failure CudaProgram::MakeStream(const StreamOptions& options, std::unique_ptr<DeviceStream>* out) const {
  return CudaStream::Create(*this, options, out);
}

}  // namespace tailor

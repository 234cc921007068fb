#include "exec/cuda/program.h"

#include <gmock/gmock.h>

#include "tests/exec/cuda/fixture.h"

namespace tailor {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::StartsWith;

class CudaProgramTest : public CudaTest {
 protected:
  void SetImages(const std::vector<std::pair<std::string, DeviceImageKind>>& images) {
    program_.variants[0].device_images.clear();
    for (const auto& [target, kind] : images) {
      const std::string& bytes = kind == DeviceImageKind::kCubin ? cubin_ : ptx_;
      program_.variants[0].device_images.push_back({target, kind, std::as_bytes(std::span(bytes))});
    }
  }
  void ExpectRuns() {
    ASSERT_EQ(Open(), "OK");
    SampleBuffers b(5);
    EXPECT_EQ(Run(&b), "OK");
    EXPECT_EQ(b.total, b.Totals());
  }

  // "device 0 (Tailor emulator, sm_90)"
  static std::string DeviceText() {
    const CudaDevice::Info& info = Device().info();
    return "device 0 (" + info.name + ", " + NameOf(info.architecture) + ")";
  }

  static constexpr auto kCubin = DeviceImageKind::kCubin;
  static constexpr auto kPtx = DeviceImageKind::kPtx;
  const std::string cubin_ = fake_cuda::AsCubin(SampleKernels());  // which only the fake driver takes
};

TEST_F(CudaProgramTest, ACubinForTheDeviceIsUsed) {
  TAILOR_NEEDS_FAKE_DRIVER("it takes any kernels for a cubin");
  SetImages({{"sm_80", kPtx}, {"sm_80", kCubin}, {"sm_90", kCubin}});
  ASSERT_EQ(Load(), "OK");
  EXPECT_THAT(log_, HasSubstr("device 0 (Tailor emulator, sm_90) runs cubin sm_90\n"));
  ExpectRuns();
}

TEST_F(CudaProgramTest, WithoutACubinPtxIsUsedAndSaid) {
  SetImages({{"sm_70", kCubin}, {"sm_80", kPtx}});
  ASSERT_EQ(Load(), "OK");
  EXPECT_THAT(log_,
              HasSubstr(DeviceText() + " runs PTX sm_80: no cubin for " + NameOf(Device().info().architecture) + "\n"));
  ExpectRuns();
}

TEST_F(CudaProgramTest, ADriverTooOldForTheCubinUsesPtxAndSaysSo) {
  TAILOR_NEEDS_FAKE_DRIVER("a driver that is too old");
  SetImages({{"sm_90", kCubin}, {"sm_80", kPtx}});
  pretend().cubin = cuda::kNoBinaryForGpu;
  ASSERT_EQ(Load(), "OK");
  EXPECT_THAT(log_, HasSubstr("device 0 (Tailor emulator, sm_90) runs PTX sm_80: cuModuleLoadDataEx for cubin sm_90: "
                              "CUDA_ERROR_NO_BINARY_FOR_GPU (209)\n"));
  ExpectRuns();
}

TEST_F(CudaProgramTest, ADriverTooOldForAllImagesIsAnError) {
  TAILOR_NEEDS_FAKE_DRIVER("a driver that is too old");
  SetImages({{"sm_90", kCubin}, {"sm_80", kPtx}});
  pretend().cubin = cuda::kNoBinaryForGpu;
  pretend().ptx = cuda::kUnsupportedPtxVersion;
  EXPECT_EQ(
      Load(),
      "9: this machine cannot run the artifact: cuda needs an image for device 0 (Tailor emulator, sm_90): "
      "cuModuleLoadDataEx for cubin sm_90: CUDA_ERROR_NO_BINARY_FOR_GPU (209); cuModuleLoadDataEx for PTX sm_80: "
      "CUDA_ERROR_UNSUPPORTED_PTX_VERSION (222): the fake assembler is told to fail; x86-64 needs the CPU, but is to "
      "run on a CUDA device");
}

TEST_F(CudaProgramTest, AnArtifactWithoutThisArchitectureIsAnError) {
  SetImages({{"sm_70", kCubin}, {"sm_990", kPtx}});
  EXPECT_EQ(Load(), "9: this machine cannot run the artifact: cuda needs an image for " + DeviceText() +
                        ": it has cubin sm_70, ptx sm_990; x86-64 needs the CPU, but is to run on a CUDA device");
}

TEST_F(CudaProgramTest, TheFirstVariantWithAnImageForTheDeviceIsUsed) {
  SetImages({{"sm_70", kCubin}, {"sm_80", kPtx}});
  Variant later = program_.variants[0];
  program_.variants[0].device_images = {{"sm_990", kCubin, later.device_images[0].bytes}};
  program_.variants[0].target = "sm_990";
  program_.variants.insert(program_.variants.begin() + 1, later);
  ASSERT_EQ(Load(), "OK");
  EXPECT_EQ(executable_->variant().target, "cuda");
  EXPECT_THAT(log_, HasSubstr("variants not used: sm_990 needs an image for " + DeviceText() +
                              ": it has cubin sm_990\nvariant cuda is used\n"));
  ExpectRuns();
}

TEST_F(CudaProgramTest, AnImageWithoutAKernelIsAnError) {
  program_.variants[0].device_kernels[1].symbol = "other";
  EXPECT_THAT(Load(), ContainsRegex("cuModuleGetFunction for kernel other: [^:]*\\(500\\)"));
}

TEST_F(CudaProgramTest, KernelsMayHaveAllSharedMemoryOfTheDevice) {
  TAILOR_NEEDS_FAKE_DRIVER("a device of known numbers");
  const CudaDriver& driver = Device().driver();
  ASSERT_EQ(Load(), "OK");
  ASSERT_EQ(Open(), "OK");
  const CurrentContext current(Device());
  const auto& program = static_cast<const CudaProgram&>(*executable_->device());
  cuda::Function asked = program.kernel(0).function, other = nullptr;
  cuda::Module module = nullptr;
  cuda::Stream stream = nullptr;
  ASSERT_EQ(driver.LoadIr(&module, SampleKernels().data(), SampleKernels().size()), cuda::kSuccess);
  ASSERT_EQ(driver.ModuleGetFunction(&other, module, "sum_rows"), cuda::kSuccess);
  ASSERT_EQ(driver.StreamCreate(&stream, cuda::kStreamNonBlocking), cuda::kSuccess);
  int64_t slots[5] = {};  // no rows
  void* parameters[5];
  for (int i = 0; i < 5; ++i) parameters[i] = &slots[i];
  const auto launch = [&](cuda::Function function, unsigned shared_bytes) {
    return driver.LaunchCooperativeKernel(function, 1, 1, 1, 32, 1, 1, shared_bytes, stream, parameters);
  };
  EXPECT_EQ(launch(asked, 227 << 10), cuda::kSuccess);
  EXPECT_EQ(launch(asked, (227 << 10) + 1), cuda::kInvalidValue);
  EXPECT_EQ(launch(other, 48 << 10), cuda::kSuccess);
  EXPECT_EQ(launch(other, (48 << 10) + 1), cuda::kInvalidValue) << "without being asked for";
  EXPECT_EQ(driver.FuncSetAttribute(other, cuda::kMaxDynamicSharedSizeBytes, (227 << 10) + 1), cuda::kInvalidValue);
  EXPECT_EQ(driver.StreamDestroy(stream), cuda::kSuccess);
  EXPECT_EQ(driver.ModuleUnload(module), cuda::kSuccess);
}

TEST_F(CudaProgramTest, ConstantsThatDoNotFitAreAnError) {
  TAILOR_NEEDS_FAKE_DRIVER("a device with little memory");
  pretend().memory = 100;
  EXPECT_THAT(Load(), StartsWith("8: cuMemAlloc for 256 bytes of constants: CUDA_ERROR_OUT_OF_MEMORY (2)"));
  pretend().memory = 10000;
  EXPECT_EQ(Load(), "OK");
}

// Artifacts hold words of several steps of K (kWordPanels16), kernels read one step after the other. Here 16 columns.
TEST_F(CudaProgramTest, WordPanelsArePanelsInTheDevicesMemory) {
  const auto expect_panels = [&]<typename Element>(DType dtype, std::vector<Element> panel) {
    constexpr int kWord = 4 / sizeof(Element);
    const int steps = static_cast<int>(panel.size()) / 16, held = (steps + kWord - 1) / kWord * kWord;
    const auto at = [](int step, int column) { return static_cast<Element>(step + 7 * column); };
    std::vector<Element> words(held * 16);
    for (int i = 0; i < held * 16; ++i) words[i] = at(i / (16 * kWord) * kWord + i % kWord, i / kWord % 16);
    program_.constants.push_back(
        {"w", dtype, {steps, 16}, ConstantLayout::kWordPanels16, std::as_bytes(std::span(words))});
    ASSERT_EQ(Load(), "OK");
    const void* constant = executable_->device()->constants()[program_.constants.size() - 1];
    CopyStream(Device()).FromDevice(panel.data(), constant, panel.size() * sizeof(Element));
    for (int i = 0; i < steps * 16; ++i) EXPECT_EQ(panel[i], at(i / 16, i % 16)) << NameOf(dtype) << " at " << i;
    program_.constants.pop_back();
  };
  expect_panels(DType::kBF16, std::vector<uint16_t>(3 * 16));
  expect_panels(DType::kI16, std::vector<int16_t>(5 * 16));
  expect_panels(DType::kI8, std::vector<int8_t>(6 * 16));
}

TEST_F(CudaProgramTest, TheCpuVariantRunsOnTheCpu) {
  ASSERT_EQ(Load({}), "OK");
  EXPECT_EQ(executable_->variant().target, "x86-64");
  EXPECT_EQ(executable_->device(), nullptr);
  ExpectRuns();
  EXPECT_EQ(tailor_fake_cuda_counts().modules, 0);
}

TEST_F(CudaProgramTest, NothingElseIsTakenInPlaceOfADevice) {
  const auto count = static_cast<int>(CudaDevices::OfThisProcess().list().size());
  const std::string but = " was asked for, but the devices are 0 to " + std::to_string(count - 1);
  EXPECT_EQ(Load({DeviceChoice::kCuda, count}), "9: CUDA device " + std::to_string(count) + but);
  EXPECT_EQ(Load({DeviceChoice::kCuda, -1}), "9: CUDA device -1" + but);
  EXPECT_EQ(Load({7, 0}), "3: device is 7, not 0 or 1");
  program_.variants.erase(program_.variants.begin());
  EXPECT_EQ(Load(), "9: this machine cannot run the artifact: x86-64 needs the CPU, but is to run on a CUDA device");
  program_ = SampleDeviceProgram();
  program_.variants.pop_back();
  EXPECT_EQ(Load({}), "9: this machine cannot run the artifact: cuda needs a CUDA device, but is to run on the CPU");
}

TEST_F(CudaProgramTest, DevicesAreThoseOfTheDriver) {
  const CudaDriver& driver = Device().driver();
  int version = 0;
  ASSERT_EQ(driver.DriverGetVersion(&version), cuda::kSuccess);
  for (const auto& device : CudaDevices::OfThisProcess().list()) {
    size_t bytes = 0;
    int multiprocessors = 0;
    ASSERT_EQ(driver.DeviceTotalMem(&bytes, device->number()), cuda::kSuccess);
    ASSERT_EQ(driver.DeviceGetAttribute(&multiprocessors, cuda::kMultiprocessorCount, device->number()),
              cuda::kSuccess);
    EXPECT_NE(device->info().name, "");
    EXPECT_EQ(device->info().memory_bytes, bytes);
    EXPECT_EQ(device->info().multiprocessors, multiprocessors);
    EXPECT_EQ(device->info().driver_version, version);
    EXPECT_GT(device->info().most_shared_bytes, 48 << 10);
  }
}

TEST_F(CudaProgramTest, DevicesSayWhatTheyAre) {
  TAILOR_NEEDS_FAKE_DRIVER("a device of known numbers");
  const CudaDevice::Info& info = Device(1).info();
  EXPECT_EQ(info.name, "Tailor emulator");
  EXPECT_EQ(info.ordinal, 1);
  EXPECT_EQ(NameOf(info.architecture), "sm_90");
  EXPECT_EQ(info.driver_version, 12040);
  EXPECT_EQ(info.memory_bytes, 256u << 20);
  EXPECT_EQ(info.multiprocessors, 4);
}

TEST_F(CudaProgramTest, ADriverWithoutDevicesIsAbsent) {
  EXPECT_THAT(CudaDevices("libtailor_no_such_cuda.so").absence(), StartsWith("the CUDA driver cannot be loaded: "));
  TAILOR_NEEDS_FAKE_DRIVER("a driver without devices");
  pretend().devices = 0;
  EXPECT_EQ(CudaDevices(CudaDriverPath()).absence(),
            "cuInit for the CUDA driver " + CudaDriverPath() + ": CUDA_ERROR_NO_DEVICE (100)");
}

}  // namespace
}  // namespace tailor

#include "tests/codegen/emulated_product.h"

#include <algorithm>
#include <random>

#include "codegen/cuda/cuda_target.h"
#include "codegen/cuda/device_intrinsics.h"
#include "codegen/cuda/emit_cuda.h"
#include "codegen/scalar_emitter.h"
#include "exec/kernel_parameters.h"
#include "gtest/gtest.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Instructions.h"
#include "tests/emulator/encode_tensor_map.h"

namespace tailor {
namespace {

ProductForm OnGpu(ProductForm form) {
  form.pairs = false;
  return form;
}

void EraseCalls(llvm::Module& module, const std::string& name) {
  llvm::Function* function = module.getFunction((device::kPrefix + name).str());
  if (function == nullptr) return;
  for (llvm::User* call : llvm::make_early_inc_range(function->users())) {
    llvm::cast<llvm::CallInst>(call)->eraseFromParent();
  }
}

}  // namespace

EmulatedProduct::EmulatedProduct(const ProductForm& form, const std::string& target, const std::string& forgotten)
    : form_(OnGpu(form)), plan_(MakeProductPlan(form_)) {
  TargetTraits traits = FindCudaTarget(target)->traits;
  traits.tf32_products = form.tf32;
  schedule_ = *ScheduleOnCuda(plan_, traits);
  llvm::LLVMContext context;
  llvm::Module module("kernels", context);
  const absl::Status emitted = EmitOnCuda(plan_, schedule_, "k", module);
  EXPECT_TRUE(emitted.ok()) << emitted;
  EraseCalls(module, forgotten);
  SimtOptions options;
  options.find_memory = [this](uint64_t address) {
    const auto [begin, end] = memory_->BufferAt(address);
    return SimtExtent{begin, end};
  };
  emulator_ = std::make_unique<SimtEmulator>(module, std::move(options));
}

std::string EmulatedProduct::Run(const ProductSize& size, int version, uint32_t seed, const ProductMemory& memory,
                                 int64_t most_blocks) const {
  const CudaVersion& launched = schedule_.versions[version];
  const std::vector<int64_t> dims = DimsOf(plan_, size);
  const SimtGrid grid{.blocks = std::min(*launched.blocks.Evaluate(dims), most_blocks),
                      .threads = launched.threads,
                      .shared_bytes = *launched.shared_bytes.Evaluate(dims)};
  if (grid.blocks == 0) return "";  // the host program launches nothing
  memory_ = &memory;
  CudaDriver driver;
  driver.TensorMapEncodeTiled = EncodeTensorMap;
  const std::vector<int64_t> arguments = memory.Arguments(plan_);
  const std::vector<DeviceKernel> kernels = {
      {"k_v" + std::to_string(version), launched.threads, ArgumentSlots(plan_), launched.maps}};
  KernelParameters parameters(driver, kernels);
  const void* bytes = nullptr;
  size_t count = 0;
  EXPECT_EQ(parameters.Make(0, arguments.data(), &bytes, &count), cuda::kSuccess);
  return emulator_->Launch(kernels[0].symbol, grid, static_cast<const int64_t*>(bytes), seed);
}

void EmulatedProduct::ExpectRight(const ProductSize& size, int version, uint32_t seed, const ProductMemory& memory,
                                  int64_t most_blocks) const {
  ASSERT_EQ(Run(size, version, seed, memory, most_blocks), "") << this->version(version).Text();
  ExpectProduct(form_, size, memory.Output());
}

void EmulatedProduct::ExpectRightAtRandomSizes(std::span<const int64_t> extents, int count) const {
  std::mt19937 random(7);
  const auto extent = [&](int64_t fixed) { return fixed == kDynamic ? extents[random() % extents.size()] : fixed; };
  for (int i = 0; i < count && !testing::Test::HasFailure(); ++i) {
    ProductSize size{.m = extent(form_.m), .n = extent(form_.n), .k = extent(form_.k)};
    for (int64_t fixed : form_.batch) size.batch.push_back(fixed == kDynamic ? random() % 4 : fixed);
    for (int version = 0; version < versions(); ++version) ExpectRight(size, version, i);
  }
}

}  // namespace tailor

#include "tests/codegen/cuda/gemm/emulated_product.h"

#include <algorithm>
#include <cstring>
#include <random>

#include "codegen/cuda/device_ir/device_intrinsics.h"
#include "codegen/cuda/emit_cuda.h"
#include "codegen/cuda/ptx/target.h"
#include "codegen/scalar/scalar_emitter.h"
#include "exec/cuda/kernel_parameters.h"
#include "gtest/gtest.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Instructions.h"
#include "tests/emulator/encode_tensor_map.h"

namespace tailor::cuda {
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
  options.find_memory = [this](uint64_t address) { return FindMemory(address); };
  emulator_ = std::make_unique<SimtEmulator>(module, std::move(options));
}

SimtExtent EmulatedProduct::FindMemory(uint64_t address) const {
  const auto find = [&](const void* data, uint64_t bytes) {
    const auto begin = reinterpret_cast<uint64_t>(data);
    return address - begin < bytes ? SimtExtent{begin, begin + bytes} : SimtExtent{};
  };
  if (const SimtExtent word = find(&meeting_->counter, sizeof(meeting_->counter)); word.end > 0) return word;
  if (const SimtExtent scratch = find(meeting_->scratch.data(), meeting_->scratch.bytes()); scratch.end > 0) {
    return scratch;
  }
  const auto [begin, end] = memory_->BufferAt(address);
  return SimtExtent{begin, end};
}

namespace {

// The emulator's parameters: the arguments, then the maps, aligned as they ask.
std::vector<int64_t> Behind(std::vector<int64_t> arguments, const std::vector<void*>& maps) {
  constexpr size_t kAligned = kTensorMapAlignment / sizeof(int64_t), kMap = kTensorMapBytes / sizeof(int64_t);
  if (!maps.empty()) arguments.resize((arguments.size() + kAligned - 1) / kAligned * kAligned);
  for (const void* map : maps) {
    const auto* words = static_cast<const int64_t*>(map);
    arguments.insert(arguments.end(), words, words + kMap);
  }
  return arguments;
}

}  // namespace

std::string EmulatedProduct::Run(const ProductSize& size, int version, uint32_t seed, const ProductMemory& memory,
                                 int64_t most_blocks, int64_t part) const {
  const CudaVersion& launched = schedule_.versions[version];
  const std::vector<int64_t> dims = DimsOf(plan_, size);
  const auto value = [&](const SlotExpr& e) { return *e.WithWorkers(kMultiprocessors).Evaluate(dims); };
  if (launched.cooperative) most_blocks = std::min(most_blocks, launched.resident_blocks * kMultiprocessors);
  const SimtGrid grid{.blocks = std::min(value(launched.blocks), most_blocks),
                      .threads = launched.threads,
                      .shared_bytes = value(launched.shared_bytes),
                      .cooperative = launched.cooperative};
  if (grid.blocks == 0) return "";  // the host program launches nothing
  // Every byte of scratch is of no number, until a block leaves something there.
  Meeting meeting{AlignedMemory(launched.cooperative ? value(launched.scratch_bytes) : 0)};
  std::memset(meeting.scratch.data(), 0xff, meeting.scratch.bytes());
  memory_ = &memory;
  meeting_ = &meeting;
  CudaDriver driver;
  driver.TensorMapEncodeTiled = EncodeTensorMap;
  std::vector<int64_t> arguments = memory.Arguments(plan_);
  if (launched.cooperative) {
    arguments.push_back(reinterpret_cast<int64_t>(meeting.scratch.data()));
    arguments.push_back(reinterpret_cast<int64_t>(&meeting.counter));
    arguments.push_back(part > 0 ? part : value(launched.parts));
  }
  const std::vector<DeviceKernel> kernels = {
      {"k_v" + std::to_string(version), launched.threads, static_cast<int32_t>(arguments.size()), launched.maps}};
  KernelParameters parameters(driver, kernels);
  std::vector<void*> places(arguments.size() + launched.maps.size());
  EXPECT_EQ(parameters.Point(0, arguments.data(), places.data()), cuda::kSuccess);
  return emulator_->Launch(kernels[0].symbol, grid,
                           Behind(arguments, {places.begin() + arguments.size(), places.end()}).data(), seed);
}

bool EmulatedProduct::Takes(const ProductSize& size, int version) const {
  const std::vector<int64_t> dims = DimsOf(plan_, size);
  const std::vector<Guard>& guards = schedule_.versions[version].version.guards;
  return std::all_of(guards.begin(), guards.end(), [&](const Guard& guard) {
    if (guard.kind == Guard::Kind::kDivides) return dims[guard.slot] % guard.number == 0;
    return guard.kind != Guard::Kind::kAtMost || dims[guard.slot] <= guard.number;  // others are of speed alone
  });
}

void EmulatedProduct::ExpectRight(const ProductSize& size, int version, uint32_t seed, const ProductMemory& memory,
                                  int64_t most_blocks, int64_t part) const {
  if (!Takes(size, version)) return;
  ASSERT_EQ(Run(size, version, seed, memory, most_blocks, part), "") << this->version(version).Text();
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

}  // namespace tailor::cuda

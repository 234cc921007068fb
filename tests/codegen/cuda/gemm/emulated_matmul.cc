#include "tests/codegen/cuda/gemm/emulated_matmul.h"

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

MatmulCaseForm OnGpu(MatmulCaseForm form) {
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

EmulatedMatmul::EmulatedMatmul(const MatmulCaseForm& form, const std::string& target, const std::string& forgotten)
    : form_(OnGpu(form)), plan_(MakeMatmulPlan(form_)) {
  TargetTraits traits = FindCudaTarget(target)->traits;
  traits.tf32_matmuls = form.tf32;
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

SimtMemoryRange EmulatedMatmul::FindMemory(uint64_t address) const {
  const auto find = [&](const void* data, uint64_t bytes) {
    const auto begin = reinterpret_cast<uint64_t>(data);
    return address - begin < bytes ? SimtMemoryRange{begin, begin + bytes} : SimtMemoryRange{};
  };
  if (const SimtMemoryRange word = find(&grid_sync_->counter, sizeof(grid_sync_->counter)); word.end > 0) return word;
  if (const SimtMemoryRange scratch = find(grid_sync_->scratch.data(), grid_sync_->scratch.bytes()); scratch.end > 0) {
    return scratch;
  }
  const auto [begin, end] = memory_->BufferAt(address);
  return SimtMemoryRange{begin, end};
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

std::string EmulatedMatmul::Run(const MatmulCaseSize& size, int version, uint32_t seed, const MatmulMemory& memory,
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
  GridSync grid_sync{AlignedMemory(launched.cooperative ? value(launched.scratch_bytes) : 0)};
  std::memset(grid_sync.scratch.data(), 0xff, grid_sync.scratch.bytes());
  memory_ = &memory;
  grid_sync_ = &grid_sync;
  CudaDriver driver;
  driver.TensorMapEncodeTiled = EncodeTensorMap;
  std::vector<int64_t> arguments = memory.Arguments(plan_);
  if (launched.cooperative) {
    arguments.push_back(reinterpret_cast<int64_t>(grid_sync.scratch.data()));
    arguments.push_back(reinterpret_cast<int64_t>(&grid_sync.counter));
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

bool EmulatedMatmul::Takes(const MatmulCaseSize& size, int version) const {
  const std::vector<int64_t> dims = DimsOf(plan_, size);
  const std::vector<Guard>& guards = schedule_.versions[version].version.guards;
  return std::all_of(guards.begin(), guards.end(), [&](const Guard& guard) {
    if (guard.kind == Guard::Kind::kDivides) return dims[guard.slot] % guard.number == 0;
    return guard.kind != Guard::Kind::kAtMost || dims[guard.slot] <= guard.number;  // others are of speed alone
  });
}

void EmulatedMatmul::ExpectRight(const MatmulCaseSize& size, int version, uint32_t seed, const MatmulMemory& memory,
                                 int64_t most_blocks, int64_t part) const {
  if (!Takes(size, version)) return;
  ASSERT_EQ(Run(size, version, seed, memory, most_blocks, part), "") << this->version(version).Text();
  ExpectMatmul(form_, size, memory.Output());
}

void EmulatedMatmul::ExpectRightAtRandomSizes(std::span<const int64_t> dim_sizes, int count) const {
  std::mt19937 random(7);
  const auto dim_size = [&](int64_t fixed) {
    return fixed == kDynamic ? dim_sizes[random() % dim_sizes.size()] : fixed;
  };
  for (int i = 0; i < count && !testing::Test::HasFailure(); ++i) {
    MatmulCaseSize size{.m = dim_size(form_.m), .n = dim_size(form_.n), .k = dim_size(form_.k)};
    for (int64_t fixed : form_.batch) size.batch.push_back(fixed == kDynamic ? random() % 4 : fixed);
    for (int version = 0; version < versions(); ++version) ExpectRight(size, version, i);
  }
}

}  // namespace tailor::cuda

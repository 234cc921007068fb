// Product kernels, run thread by thread on the host, against plain loops in double.
#include <iterator>
#include <random>

#include "codegen/cuda/cuda_target.h"
#include "codegen/cuda/emit_cuda.h"
#include "gtest/gtest.h"
#include "tests/codegen/product_case.h"
#include "tests/emulator/simt_emulator.h"

namespace tailor {
namespace {

class EmulatedProduct {
 public:
  explicit EmulatedProduct(const ProductForm& form) : form_(form), plan_(MakeProductPlan(form)) {
    schedule_ = *ScheduleOnCuda(plan_, FindCudaTarget("sm_80")->traits);
    llvm::LLVMContext context;
    llvm::Module module("kernels", context);
    const absl::Status emitted = EmitOnCuda(plan_, schedule_, "k", module);
    EXPECT_TRUE(emitted.ok()) << emitted;
    SimtOptions options;
    options.find_memory = [this](uint64_t address) {
      const auto [begin, end] = memory_->BufferAt(address);
      return SimtExtent{begin, end};
    };
    emulator_ = std::make_unique<SimtEmulator>(module, std::move(options));
  }

  // Runs `version` whether or not its guards hold: each computes any shape.
  void ExpectRight(const ProductSize& size, int version, uint32_t seed) const {
    ExpectRight(size, version, seed, ProductMemory(form_, size));
  }
  void ExpectRight(const ProductSize& size, int version, uint32_t seed, const ProductMemory& memory) const {
    memory_ = &memory;
    const CudaVersion& launched = schedule_.versions[version];
    const std::vector<int64_t> dims = DimsOf(plan_, size);
    const SimtGrid grid{.blocks = *launched.blocks.Evaluate(dims),
                        .threads = launched.threads,
                        .shared_bytes = *launched.shared_bytes.Evaluate(dims)};
    if (grid.blocks > 0) {  // else the host program launches nothing
      ASSERT_EQ(emulator_->Launch("k_v" + std::to_string(version), grid, memory.Arguments(plan_).data(), seed), "");
    }
    ExpectProduct(form_, size, memory.Output());
  }
  int versions() const { return static_cast<int>(schedule_.versions.size()); }

 private:
  ProductForm form_;
  KernelPlan plan_;
  CudaSchedule schedule_;
  std::unique_ptr<SimtEmulator> emulator_;
  mutable const ProductMemory* memory_ = nullptr;  // of the launch under way
};

constexpr int64_t kExtents[] = {0, 1, 2, 15, 16, 17, 31, 63, 64, 65, 100, 129};

// Every version at `count` random sizes; fixed extents stay.
void ExpectRightAtRandomSizes(const ProductForm& form, int count) {
  const EmulatedProduct product(form);
  std::mt19937 random(7);
  const auto extent = [&](int64_t fixed) {
    return fixed == kDynamic ? kExtents[random() % std::size(kExtents)] : fixed;
  };
  for (int i = 0; i < count && !testing::Test::HasFailure(); ++i) {
    ProductSize size{.m = extent(form.m), .n = extent(form.n), .k = extent(form.k)};
    for (int64_t fixed : form.batch) size.batch.push_back(fixed == kDynamic ? random() % 4 : fixed);
    for (int version = 0; version < product.versions(); ++version) product.ExpectRight(size, version, i);
  }
}

TEST(EmulatedCudaProduct, EveryDType) {
  for (DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}) {
    SCOPED_TRACE(NameOf(dtype));
    ExpectRightAtRandomSizes({.dtype = dtype}, 12);
    ExpectRightAtRandomSizes({.dtype = dtype, .epilogue = true}, 6);
  }
}

TEST(EmulatedCudaProduct, FixedExtents) {
  ExpectRightAtRandomSizes({.n = 96, .k = 64, .epilogue = true}, 3);
  ExpectRightAtRandomSizes({.m = 1, .n = 200, .k = 31}, 1);
  ExpectRightAtRandomSizes({.m = 11, .n = 1, .k = 17}, 1);
  ExpectRightAtRandomSizes({.m = 3, .n = 5, .k = 1}, 1);
  ExpectRightAtRandomSizes({.m = 0, .k = 4}, 2);
}

// Copies for steps that K does not have read nothing.
TEST(EmulatedCudaProduct, FixedDepthsThatAreWholeSteps) {
  for (DType dtype : {DType::kBF16, DType::kF16}) ExpectRightAtRandomSizes({.dtype = dtype, .k = 64}, 4);
}

TEST(EmulatedCudaProduct, BatchWithAndWithoutBroadcast) {
  ExpectRightAtRandomSizes({.batch = {kDynamic}, .rhs_has_batch = {true}}, 4);
  ExpectRightAtRandomSizes({.batch = {kDynamic, 3}, .rhs_has_batch = {true, false}, .epilogue = true}, 4);
  ExpectRightAtRandomSizes({.batch = {2, kDynamic}, .rhs_has_batch = {false, true}}, 4);
}

TEST(EmulatedCudaProduct, LeftOperandOfAnyStride) {
  ExpectRightAtRandomSizes({.transpose_lhs = true}, 8);
  ExpectRightAtRandomSizes({.dtype = DType::kBF16, .transpose_lhs = true}, 8);
  ExpectRightAtRandomSizes({.batch = {kDynamic, 4}, .rhs_has_batch = {true, true}, .heads = true}, 3);
}

TEST(EmulatedCudaProduct, TransposedOutput) {
  ExpectRightAtRandomSizes({.transpose_out = true}, 6);
  ExpectRightAtRandomSizes({.dtype = DType::kF16, .transpose_out = true, .epilogue = true}, 6);
}

// Callers' tensors are aligned to their elements alone.
TEST(EmulatedCudaProduct, ALeftOperandThatNoCopyOfSixteenBytesMayRead) {
  for (DType dtype : {DType::kBF16, DType::kF16}) {
    const ProductForm form{.dtype = dtype};
    const EmulatedProduct product(form);
    const ProductSize size{.m = 65, .n = 40, .k = 72};
    for (int version = 0; version < product.versions(); ++version) {
      ProductMemory memory(form, size);
      memory.ShiftLeftOperand();
      product.ExpectRight(size, version, 1, memory);
    }
  }
}

// Blocks share their operands' lines in bands of eight rows of tiles; here are two whole bands and a part of one.
TEST(EmulatedCudaProduct, EveryTileIsSomeBlocks) {
  const EmulatedProduct product({});
  const ProductSize size{.m = 64 * 18 + 5, .n = 64 * 3 + 1, .k = 3};
  for (int version = 0; version < product.versions(); ++version) product.ExpectRight(size, version, 1);
}

}  // namespace
}  // namespace tailor

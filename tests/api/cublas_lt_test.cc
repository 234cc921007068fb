// Matmuls by cuBLASLt on a device: results are those of the program's own kernels, and matmuls that it does not compute
// are reported.
#include <gmock/gmock.h>

#include <cstdlib>

#include "exec/cuda/types.h"
#include "tests/api/emulated_program.h"
#include "tests/api/matmul_graphs.h"

// Of the fake driver.
extern "C" {
tailor::cuda::Result cuDevicePrimaryCtxRetain(tailor::cuda::Context* context, tailor::cuda::DeviceNumber device);
tailor::cuda::Result cuCtxSetCurrent(tailor::cuda::Context context);
tailor::cuda::Result cuMemAlloc_v2(tailor::cuda::Address* address, size_t bytes);
tailor::cuda::Result cuMemFree_v2(tailor::cuda::Address address);
}

namespace tailor {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Inputs = std::vector<EmulatedProgram::Input>;

// Eighths whose matmuls and sums are exact, so that results do not depend on who adds them in which order.
EmulatedProgram::Input Varied(std::vector<int64_t> dims) {
  const auto rank = static_cast<int64_t>(dims.size());
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  std::vector<float> numbers(count);
  for (int64_t i = 0; i < count; ++i) numbers[i] = static_cast<float>((7 * i + 3 * rank) % 11 - 5) / 8;
  return {std::move(dims), std::move(numbers)};
}

std::string Layer(const std::string& dtype) {
  return "graph @layer(%x: " + dtype + "[B, S, 9], %b: " + dtype + "[19]) {" + Constant(171, dtype) + R"(
  %w = reshape %c {shape = [9, 19]}
  %d = dot %x, %w
  %s = add %d, %b
  %y = max %s, %d
  return "y" = %y
})";
}

Inputs LayerInputs(int64_t rows) { return {Varied({2, rows, 9}), Varied({19})}; }

const char kPlain[] = R"(
graph @plain(%x: f32[M, K], %w: f32[K, N]) {
  %y = dot %x, %w
  return "y" = %y
})";

class CublasLtTest : public EmulatedTest {
 protected:
  static EmulatedProgram::Options Asked() {
    EmulatedProgram::Options options;
    options.runtime.cublas_lt = 1;
    options.compile.offer_products = 1;
    return options;
  }
  static std::vector<float> Results(EmulatedProgram& program, const Inputs& inputs) {
    std::vector<float> results;
    EXPECT_EQ(program.status(), "OK");
    EXPECT_EQ(program.Run(inputs, &results), "OK");
    return results;
  }
  static int64_t Matmuls() { return tailor_fake_cuda_counts().total_gemms; }

  // That the library computes `times` matmuls in a run of `text`, with the results of the program's own kernels.
  static void ExpectSame(const std::string& text, const Inputs& inputs, int64_t times = 1) {
    EmulatedProgram alone(text), together(text, Asked());
    const std::vector<float> own = Results(alone, inputs);
    const int64_t before = Matmuls();
    EXPECT_EQ(Results(together, inputs), own);
    EXPECT_EQ(Results(together, inputs), own);  // laid out already
    EXPECT_EQ(Matmuls() - before, 2 * times) << together.log();
    EXPECT_THAT(own, Not(IsEmpty()));
    EXPECT_THAT(own, Not(testing::Each(0.0f)));
  }
};

TEST_F(CublasLtTest, ComputesEveryTypeOfTensorCoresAndF32) {
  for (const std::string dtype : {"f32", "f16", "bf16"}) {
    SCOPED_TRACE(dtype);
    ExpectSame(Layer(dtype), LayerInputs(3));  // a constant in panels, whose last is not whole
    ExpectSame("graph @plain(%x: " + dtype + "[M, K], %w: " + dtype + R"([K, N]) {
  %y = dot %x, %w
  return "y" = %y
})",
               {Varied({33, 20}), Varied({20, 18})});
  }
}

TEST_F(CublasLtTest, ComputesTransposedOperandsAndBatches) {
  ExpectSame(kScores, {Varied({2, 3, 6}), Varied({2, 17, 6})});
  for (const int64_t rows : {1, 9}) {
    ExpectSame(kGradient, {Varied({rows, 4}), Varied({rows, 18})});
    ExpectSame(kPlain, {Varied({rows, 1}), Varied({1, rows})});
  }
}

TEST_F(CublasLtTest, ComputesInLoops) { ExpectSame(kPower, {Varied({3, 4}), Varied({4, 4})}, 3); }

// Workspace blocks begin at multiples of 64, a caller's tensor where its element may.
TEST_F(CublasLtTest, AlgorithmsAreForTheAlignmentOfAddresses) {
  EmulatedProgram program(kPlain, Asked());
  const Inputs inputs = {Varied({5, 8}), Varied({8, 7})};
  const std::vector<float> expected = Results(program, inputs);
  std::vector<float> results;
  cuda::Context context = nullptr;
  cuda::Address memory = 0;
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), cuda::kSuccess);
  ASSERT_EQ(cuCtxSetCurrent(context), cuda::kSuccess);
  ASSERT_EQ(cuMemAlloc_v2(&memory, 4096), cuda::kSuccess);
  const int64_t before = Matmuls();
  EXPECT_EQ(program.Run(inputs, &results, reinterpret_cast<std::byte*>(memory)), "OK");
  EXPECT_EQ(results, expected);
  EXPECT_EQ(Matmuls(), before + 1);
  cuMemFree_v2(memory);
  cuCtxSetCurrent(nullptr);
}

TEST_F(CublasLtTest, ACopyOfAConstantIsMadeOnceForAllSessionsAndNothingGrowsAfterwards) {
  EmulatedProgram program(Layer("bf16"), Asked());
  const std::vector<float> first = Results(program, LayerInputs(9));
  const int64_t allocated = tailor_fake_cuda_counts().total_allocations;
  EXPECT_EQ(Results(program, LayerInputs(9)), first);
  Results(program, LayerInputs(4));
  EXPECT_EQ(tailor_fake_cuda_counts().total_allocations, allocated);
  tailor_session_options options;
  tailor_session_options_init(&options);
  ASSERT_EQ(program.Open(options), "OK");
  const int64_t opened = tailor_fake_cuda_counts().total_allocations;
  EXPECT_EQ(Results(program, LayerInputs(9)), first);
  const int64_t of_session = tailor_fake_cuda_counts().total_allocations - opened;
  EmulatedProgram alone(Layer("bf16"));
  const int64_t own = tailor_fake_cuda_counts().total_allocations;
  Results(alone, LayerInputs(9));
  // The library's workspace, and a block for what the epilogue reads.
  EXPECT_EQ(of_session, tailor_fake_cuda_counts().total_allocations - own + 2);
}

TEST_F(CublasLtTest, AnAbsentLibrarySaysWhatWasLookedFor) {
  setenv("TAILOR_CUBLASLT", "/nowhere/libcublasLt.so", 1);
  const EmulatedProgram nowhere(kPlain, Asked());
  EXPECT_THAT(nowhere.status(), HasSubstr("9: cuBLASLt cannot be loaded: /nowhere/libcublasLt.so: "));
  setenv("TAILOR_CUBLASLT", TAILOR_OLD_FAKE_CUDA_LIBRARY, 1);
  const EmulatedProgram another(kPlain, Asked());
  EXPECT_THAT(another.status(), HasSubstr("has no cublasLtGetVersion"));
  setenv("TAILOR_CUBLASLT", TAILOR_FAKE_CUDA_LIBRARY, 1);
}

TEST_F(CublasLtTest, WhatItDoesNotComputeIsSaid) {
  tailor_fake_cuda_options()->algorithms = 0;
  EmulatedProgram alone(Layer("f16")), together(Layer("f16"), Asked());
  EXPECT_EQ(Results(together, LayerInputs(3)), Results(alone, LayerInputs(3)));
  EXPECT_THAT(
      together.log(),
      HasSubstr("graph \"layer\": cuBLASLt does not compute 6 x 9 by 9 x 19 in f16: cuBLASLt has no algorithm\n"));
  const std::string once = together.log();
  for (const int64_t rows : {4, 3, 4}) Results(together, LayerInputs(rows));
  EXPECT_EQ(together.log(),
            once + "graph \"layer\": cuBLASLt does not compute 8 x 9 by 9 x 19 in f16: cuBLASLt has no algorithm\n");
  EmulatedProgram::Options unoffered = Asked();
  unoffered.compile.offer_products = 0;
  const EmulatedProgram program(kPlain, unoffered);
  EXPECT_THAT(program.log(), HasSubstr("graph \"plain\": cuBLASLt is not used: the program offers no matmuls\n"));
}

TEST_F(CublasLtTest, ItsFailureFailsTheRun) {
  EmulatedProgram program(kPlain, Asked());
  std::vector<float> results;
  const Inputs inputs = {Varied({5, 8}), Varied({8, 7})};
  tailor_fake_cuda_options()->gemm = 15;
  EXPECT_EQ(program.Run(inputs, &results),
            "13: cublasLtMatmul for 5 x 8 by 8 x 7 in f32: CUBLAS_STATUS_NOT_SUPPORTED (15)");
  tailor_fake_cuda_options()->gemm = 0;
  EXPECT_EQ(program.Run(inputs, &results), "OK");
}

TEST_F(CublasLtTest, AChoiceTellsWhichMatmulsItIsAskedFor) {
  const std::string choice = "if m <= 4.5\n  own\nelse\n  provider\n";
  EmulatedProgram::Options options = Asked();
  options.runtime.product_choice = choice.data();
  options.runtime.product_choice_size = choice.size();
  EmulatedProgram program(kPlain, options);
  const int64_t before = Matmuls();
  Results(program, {Varied({4, 8}), Varied({8, 7})});
  EXPECT_EQ(Matmuls(), before);
  Results(program, {Varied({5, 8}), Varied({8, 7})});
  EXPECT_EQ(Matmuls(), before + 1);
  Results(program, {Varied({5, 0}), Varied({0, 7})});  // nothing to multiply
  EXPECT_EQ(Matmuls(), before + 1);
}

TEST_F(CublasLtTest, ItsMatmulsAreNoPartOfAGraph) {
  tailor_session_options options;
  tailor_session_options_init(&options);
  options.cuda_graph = 1;
  EmulatedProgram together(kPlain, Asked());
  EXPECT_EQ(
      together.Open(options),
      "9: options.cuda_graph: cuBLASLt computes products of the program, which a graph of its kernels cannot have");
  EmulatedProgram::Options alone = Asked();
  alone.runtime.cublas_lt = 0;
  EmulatedProgram program(kPlain, alone);
  EXPECT_EQ(program.Open(options), "OK");
}

}  // namespace
}  // namespace tailor

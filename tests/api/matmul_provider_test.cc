// Matmuls by a matmul provider: its arguments, results that agree with the program's own kernels, and when those run
// instead.
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/api/compiler_fixture.h"
#include "tests/api/matmul_graphs.h"

namespace tailor {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pointwise;

float FromBf16(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

uint16_t ToBf16(float value) {  // to nearest even
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float Element(const tailor_product& p, const void* data, int64_t at) {
  return p.dtype == TAILOR_BF16 ? FromBf16(static_cast<const uint16_t*>(data)[at])
                                : static_cast<const float*>(data)[at];
}

int64_t RightOffset(const tailor_product& p, int64_t b, int64_t k, int64_t n) {
  const int64_t batch = b * p.rhs_strides[0];
  if (p.rhs_layout == TAILOR_PANELS_16) return batch + (n / 16 * p.k + k) * 16 + n % 16;
  if (p.rhs_layout == TAILOR_PAIR_PANELS_16) {
    return batch + ((n / 16 * ((p.k + 1) / 2) + k / 2) * 16 + n % 16) * 2 + k % 2;
  }
  return batch + k * p.rhs_strides[1] + n * p.rhs_strides[2];
}

// A library that multiplies by the definition, and remembers what it was asked.
struct Library {
  Library() {
    tailor_product_provider_init(&table);
    table.user = this;
    table.take = [](void* user, const tailor_product* p) { return static_cast<Library*>(user)->Take(*p); };
    table.multiply = [](void* user, const tailor_product* p) { return static_cast<Library*>(user)->Multiply(*p); };
    table.forget = [](void* user, const void* rhs) { static_cast<Library*>(user)->forgotten.push_back(rhs); };
  }
  int32_t Take(const tailor_product& p) {
    asked.push_back(p);
    return takes;
  }
  int32_t Multiply(const tailor_product& p) {
    multiplied.push_back(p);
    for (int64_t b = 0; b < p.batch; ++b) {
      for (int64_t m = 0; m < p.m; ++m) {
        for (int64_t n = 0; n < p.n; ++n) {
          double sum = 0;
          for (int64_t k = 0; k < p.k; ++k) {
            const int64_t left = b * p.lhs_strides[0] + m * p.lhs_strides[1] + k * p.lhs_strides[2];
            sum += static_cast<double>(Element(p, p.lhs, left)) * Element(p, p.rhs, RightOffset(p, b, k, n));
          }
          const int64_t at = (b * p.m + m) * p.n + n;
          if (p.dtype == TAILOR_BF16) {
            static_cast<uint16_t*>(p.out)[at] = ToBf16(static_cast<float>(sum));
          } else {
            static_cast<float*>(p.out)[at] = static_cast<float>(sum);
          }
        }
      }
    }
    return code;
  }

  tailor_product_provider table;
  int32_t takes = 1, code = 0;
  std::vector<tailor_product> asked, multiplied;
  std::vector<const void*> forgotten;
};

// A graph compiled for a runtime with `library` (null: none).
class Program {
 public:
  Program(const std::string& text, Library* library, bool offer = true, const std::string& choice = "") {
    tailor_runtime_options options;
    tailor_runtime_options_init(&options);
    if (library != nullptr) options.product_provider = &library->table;
    if (!choice.empty()) {
      options.product_choice = choice.data();
      options.product_choice_size = choice.size();
    }
    EXPECT_EQ(Text(tailor_runtime_create(&options, &runtime_)), "OK");
    tailor_graph* graph = nullptr;
    EXPECT_EQ(Text(tailor_graph_parse(text.data(), text.size(), &graph)), "OK");
    tailor_compile_options compile;
    tailor_compile_options_init(&compile);
    const char* host = "host";
    compile.targets = &host;
    compile.target_count = 1;
    compile.offer_products = offer;
    EXPECT_EQ(Text(tailor_graph_compile(graph, runtime_, &compile, &executable_)), "OK");
    tailor_graph_release(graph);
    EXPECT_EQ(Text(tailor_session_create(executable_, nullptr, &session_)), "OK");
  }
  Program(const Program&) = delete;
  ~Program() {
    tailor_session_release(session_);
    tailor_executable_release(executable_);
    tailor_runtime_release(runtime_);
  }

  // Inputs of small numbers, with these dims; all outputs as floats, one behind the other, or the error.
  std::string Run(const std::vector<std::vector<int64_t>>& dims, std::vector<float>* results = nullptr) {
    std::vector<std::vector<float>> floats;
    std::vector<std::vector<uint16_t>> halves;
    std::vector<tailor_tensor> inputs, outputs(tailor_executable_output_count(executable_));
    for (size_t i = 0; i < dims.size(); ++i) {
      tailor_tensor_info info;
      tailor_tensor_info_init(&info);
      EXPECT_EQ(Text(tailor_executable_input(executable_, i, &info)), "OK");
      size_t count = 1;
      for (const int64_t dim : dims[i]) count *= dim;
      std::vector<float> numbers(count);
      for (size_t j = 0; j < count; ++j)
        numbers[j] = static_cast<float>(static_cast<int64_t>((7 * j + i) % 11) - 5) / 8;
      std::vector<uint16_t> narrow;
      for (const float number : numbers) narrow.push_back(ToBf16(number));
      floats.push_back(std::move(numbers));
      halves.push_back(std::move(narrow));
      tailor_tensor tensor;
      tailor_tensor_init(&tensor);
      tensor.dtype = info.dtype;
      tensor.data = info.dtype == TAILOR_BF16 ? static_cast<void*>(halves[i].data()) : floats[i].data();
      tensor.data_bytes = count * (info.dtype == TAILOR_BF16 ? 2 : 4);
      tensor.rank = static_cast<int32_t>(dims[i].size());
      std::copy(dims[i].begin(), dims[i].end(), tensor.dims);
      inputs.push_back(tensor);
    }
    for (tailor_tensor& output : outputs) tailor_tensor_init(&output);
    const std::string status =
        Text(tailor_session_run(session_, inputs.data(), inputs.size(), outputs.data(), outputs.size()));
    if (status != "OK" || results == nullptr) return status;
    results->clear();
    for (const tailor_tensor& output : outputs) {
      const size_t count = output.data_bytes / (output.dtype == TAILOR_BF16 ? 2 : 4);
      for (size_t j = 0; j < count; ++j) {
        results->push_back(output.dtype == TAILOR_BF16 ? FromBf16(static_cast<const uint16_t*>(output.data)[j])
                                                       : static_cast<const float*>(output.data)[j]);
      }
    }
    return status;
  }

 private:
  tailor_runtime* runtime_ = nullptr;
  tailor_executable* executable_ = nullptr;
  tailor_session* session_ = nullptr;
};

using AllDims = std::vector<std::vector<int64_t>>;

std::vector<float> Results(Program& program, const AllDims& dims) {
  std::vector<float> results;
  EXPECT_EQ(program.Run(dims, &results), "OK");
  return results;
}

// That `text` gives the same with one product of the library's, `times` a run, as with its own kernel.
void ExpectSame(const std::string& text, const AllDims& dims, float tolerance = 1e-4f, size_t times = 1) {
  Library library;
  std::vector<float> own, provided;
  {
    Program alone(text, nullptr), together(text, &library);
    own = Results(alone, dims);
    provided = Results(together, dims);
    EXPECT_EQ(Results(together, dims), provided);  // laid out already
  }
  EXPECT_EQ(library.asked.size(), 1u);
  EXPECT_EQ(library.multiplied.size(), 2 * times);
  EXPECT_THAT(provided, Pointwise(FloatNear(tolerance), own));
  EXPECT_THAT(own, testing::Not(IsEmpty()));
  EXPECT_THAT(own, testing::Not(Each(0.0f)));
}

const std::string kLayer = R"(
graph @layer(%x: f32[B, S, 9], %b: f32[19]) {)" +
                           Constant(171, "f32") + R"(
  %w = reshape %c {shape = [9, 19]}
  %d = dot %x, %w
  %s = add %d, %b
  %y = max %s, %d
  return "y" = %y
})";

TEST(MatmulProvider, ComputesALayerWhoseEpilogueFollows) { ExpectSame(kLayer, {{2, 3, 9}, {19}}); }

TEST(MatmulProvider, IsToldOfRowsAndPanels) {
  Library library;
  {
    Program program(kLayer, &library);
    EXPECT_EQ(program.Run({{2, 3, 9}, {19}}), "OK");
    EXPECT_THAT(library.forgotten, IsEmpty());
  }
  ASSERT_EQ(library.multiplied.size(), 1u);
  const tailor_product& p = library.multiplied[0];
  EXPECT_EQ(p.struct_size, sizeof(tailor_product));
  EXPECT_EQ(p.dtype, TAILOR_F32);
  EXPECT_EQ(p.rhs_layout, TAILOR_PANELS_16);
  EXPECT_EQ(p.rhs_constant, 1);
  EXPECT_EQ(p.threads, 1);
  EXPECT_THAT((std::vector<int64_t>{p.batch, p.m, p.n, p.k}), ElementsAre(1, 6, 19, 9));
  EXPECT_THAT((std::vector<int64_t>{p.lhs_strides[1], p.lhs_strides[2]}), ElementsAre(9, 1));
  EXPECT_EQ(library.asked[0].lhs, nullptr);  // known when it runs
  EXPECT_EQ(library.asked[0].rhs, p.rhs);
  EXPECT_THAT(library.forgotten, testing::Contains(p.rhs));
}

TEST(MatmulProvider, ComputesBatchesOfTransposedOperands) {
  ExpectSame(kScores, {{2, 3, 6}, {2, 17, 6}});
  ExpectSame(kGradient, {{9, 4}, {9, 18}});
}

TEST(MatmulProvider, ComputesMatmulsInBf16) {
  ExpectSame(R"(
graph @layer(%x: bf16[B, 10], %b: bf16[21]) {)" +
                 Constant(210, "bf16") + R"(
  %w = reshape %c {shape = [21, 10]}
  %d = dot %x, %w {transpose_rhs = 1}
  %y = add %d, %b
  return "y" = %y
})",
             {{5, 10}, {21}}, 0.02f);
}

TEST(MatmulProvider, ResultsThatAreStoredTransposedFollowToo) {
  ExpectSame(R"(
graph @heads(%x: f32[B, S, 8]) {)" +
                 Constant(96, "f32") + R"(
  %w = reshape %c {shape = [8, 12]}
  %d = dot %x, %w
  %r = reshape %d {shape = [B, S, 3, 4]}
  %t = transpose %r {permutation = [0, 2, 1, 3]}
  return "t" = %t
})",
             {{2, 5, 8}});
}

TEST(MatmulProvider, RunsInLoops) { ExpectSame(kPower, {{3, 4}, {4, 4}}, 1e-4f, 3); }

TEST(MatmulProvider, IsNotAskedUnlessTheProgramOffers) {
  Library library;
  Program program(kLayer, &library, /*offer=*/false);
  EXPECT_EQ(program.Run({{2, 3, 9}, {19}}), "OK");
  EXPECT_THAT(library.asked, IsEmpty());
}

TEST(MatmulProvider, WhatItDoesNotTakeIsComputedAsWithoutIt) {
  Library library;
  library.takes = 0;
  Program alone(kLayer, nullptr, /*offer=*/false), together(kLayer, &library);
  EXPECT_EQ(Results(together, {{2, 3, 9}, {19}}), Results(alone, {{2, 3, 9}, {19}}));
  EXPECT_EQ(library.asked.size(), 1u);
  EXPECT_THAT(library.multiplied, IsEmpty());
}

TEST(MatmulProvider, IsAskedAgainWhenDimSizesChangeAndNeverForNothing) {
  Library library;
  Program program(kLayer, &library);
  for (const int64_t rows : {3, 3, 4, 0}) EXPECT_EQ(program.Run({{1, rows, 9}, {19}}), "OK");
  EXPECT_EQ(library.asked.size(), 2u);
  EXPECT_EQ(library.multiplied.size(), 3u);
}

TEST(MatmulProvider, ItsFailureFailsTheRun) {
  Library library;
  library.code = 7;
  Program program(kLayer, &library);
  EXPECT_EQ(program.Run({{1, 2, 9}, {19}}), "13: the matmul provider failed with code 7");
  library.code = 0;
  EXPECT_EQ(program.Run({{1, 2, 9}, {19}}), "OK");
}

TEST(MatmulProvider, AChoiceTellsWhichMatmulsItIsAskedFor) {
  Library library;
  Program program(kLayer, &library, true, "if m <= 4.5\n  own\nelse\n  provider\n");
  for (const int64_t rows : {4, 5}) EXPECT_EQ(program.Run({{1, rows, 9}, {19}}), "OK");
  ASSERT_EQ(library.multiplied.size(), 1u);
  EXPECT_EQ(library.multiplied[0].m, 5);
}

TEST(MatmulProvider, BadOptionsAreRefused) {
  Library library;
  tailor_runtime_options options;
  tailor_runtime_options_init(&options);
  options.product_provider = &library.table;
  options.product_choice = "own\nown\n";
  options.product_choice_size = 8;
  tailor_runtime* runtime = nullptr;
  EXPECT_THAT(Text(tailor_runtime_create(&options, &runtime)), Invalid("product choice: line 2"));
  options.product_choice_size = SIZE_MAX;
  EXPECT_THAT(Text(tailor_runtime_create(&options, &runtime)), Invalid("product choice: line 2"));
  options.product_choice = nullptr;
  library.table.multiply = nullptr;
  EXPECT_THAT(Text(tailor_runtime_create(&options, &runtime)), Invalid("product_provider lacks take or multiply"));
  EXPECT_EQ(runtime, nullptr);
}

}  // namespace
}  // namespace tailor

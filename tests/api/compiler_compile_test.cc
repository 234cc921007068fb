// Compiling through tailor/compiler.h: options, progress, errors, and that the result runs.
#include <pthread.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <thread>

#include "tests/api/compiler_fixture.h"

namespace tailor {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class CompilerCompile : public CompilerTest {
 protected:
  void SetUp() override {
    CompilerTest::SetUp();
    tailor_value y = 0;
    ASSERT_EQ(Text(tailor_graph_neg(graph, x, &y)), "OK");
    ASSERT_EQ(Text(tailor_graph_output(graph, "y", 1, y)), "OK");
    tailor_compile_options_init(&options);
    options.targets = &kBaseline;
    options.target_count = 1;
  }
  void TearDown() override {
    tailor_executable_release(executable);
    CompilerTest::TearDown();
  }

  // Runs with inputs x [1, 8] = 0..7 and ids [1]; the output, or the failure as a text.
  std::string Run() {
    float in[8], out[8] = {};
    int64_t id = 0;
    for (int i = 0; i < 8; ++i) in[i] = static_cast<float>(i);
    tailor_tensor inputs[2], output;
    for (tailor_tensor* tensor : {&inputs[0], &inputs[1], &output}) tailor_tensor_init(tensor);
    auto fill = [](tailor_tensor* tensor, void* data, size_t size, int32_t dtype, int32_t rank) {
      tensor->data = data;
      tensor->data_bytes = size;
      tensor->dtype = dtype;
      tensor->rank = rank;
      tensor->dims[0] = 1;
      tensor->dims[1] = 8;
    };
    fill(&inputs[0], in, sizeof(in), TAILOR_F32, 2);
    fill(&inputs[1], &id, sizeof(id), TAILOR_I64, 1);
    fill(&output, out, sizeof(out), TAILOR_F32, 2);
    std::string text = Text(tailor_executable_run(executable, inputs, 2, &output, 1));
    if (text != "OK") return text;
    text.clear();
    for (float value : out) text += std::to_string(static_cast<int>(value)) + " ";
    return text;
  }

  std::string Artifact() {
    std::string bytes;
    auto take = [](void* user, const void* data, size_t size) {
      static_cast<std::string*>(user)->assign(static_cast<const char*>(data), size);
    };
    EXPECT_EQ(Text(tailor_graph_compile_artifact(graph, &options, take, &bytes)), "OK");
    return bytes;
  }

  static constexpr const char* kBaseline = "x86-64-v2";
  static constexpr const char* kNegated = "0 -1 -2 -3 -4 -5 -6 -7 ";
  tailor_compile_options options;
  tailor_executable* executable = nullptr;
};

TEST_F(CompilerCompile, ResultRuns) {
  ASSERT_EQ(Text(tailor_graph_compile(graph, nullptr, nullptr, &executable)), "OK");
  tailor_graph_release(graph);
  graph = nullptr;
  EXPECT_EQ(Run(), kNegated);
}

TEST_F(CompilerCompile, CodeMayStayUnoptimized) {
  const std::string usual = Artifact();
  options.optimize = 0;
  EXPECT_NE(Artifact(), usual);
  ASSERT_EQ(Text(tailor_graph_compile(graph, nullptr, &options, &executable)), "OK");
  EXPECT_EQ(Run(), kNegated);
  const char* json = nullptr;
  ASSERT_EQ(Text(tailor_executable_describe(executable, &json)), "OK");
  EXPECT_THAT(json, HasSubstr(" optimize=0\""));
  for (const int64_t wrong : {-1, 2}) {
    options.optimize = wrong;
    tailor_executable* none = nullptr;
    EXPECT_THAT(Text(tailor_graph_compile(graph, nullptr, &options, &none)),
                HasSubstr("options.optimize is " + std::to_string(wrong) + ", not 0 or 1"));
  }
  options.struct_size = offsetof(tailor_compile_options, optimize);  // a host that does not know the field
  EXPECT_EQ(Artifact(), usual);
}

TEST_F(CompilerCompile, ACostProfileIsText) {
  const std::string profile = "tile 2x1 1 2 3\n", wrong = "line 4\ntile 2x1";
  options.cost_profile = profile.data();
  for (const uint64_t size : {uint64_t{profile.size()}, uint64_t{SIZE_MAX}}) {
    options.cost_profile_size = size;
    EXPECT_THAT(Artifact(), HasSubstr("targets=x86-64-v2 cost_profile"));
  }
  options.target_count = 0;
  EXPECT_THAT(Text(tailor_graph_compile(graph, nullptr, &options, &executable)),
              Invalid("needs exactly one CPU target"));
  options.cost_profile = wrong.data();
  options.cost_profile_size = wrong.size();
  EXPECT_THAT(Text(tailor_graph_compile(graph, nullptr, &options, &executable)),
              Invalid("options.cost_profile: line 2: a tile has three costs"));
  EXPECT_EQ(executable, nullptr);
}

TEST_F(CompilerCompile, NothingIsCompiledForADeviceThatDoesNotExist) {
  int calls = 0;
  options.progress = [](void* user, const char*, double) { return ++*static_cast<int*>(user), 1; };
  options.progress_user = &calls;
  options.device = TAILOR_DEVICE_CUDA;
  for (const int32_t ordinal : {-1, 1000}) {
    options.device_ordinal = ordinal;
    EXPECT_THAT(Text(tailor_graph_compile(graph, nullptr, &options, &executable)),
                StartsWith("9: CUDA device " + std::to_string(ordinal) + " was asked for, but "));
  }
  options.device = 5;
  EXPECT_EQ(Text(tailor_graph_compile(graph, nullptr, &options, &executable)), "3: device is 5, not 0 or 1");
  EXPECT_EQ(executable, nullptr);
  EXPECT_EQ(calls, 0);
}

// Also where an input's own dim size divides by the symbol.
TEST_F(CompilerCompile, ADivisorOfZeroIsNamed) {
  for (const char* z : {"", ", %z: f32[floordiv(N, S)]"}) {
    const std::string text = std::string("graph @g(%x: f32[N], %y: f32[S]") + z +
                             ") {\n  %b = broadcast %x {shape = [floordiv(N, S), N]}\n  %c = neg %y\n" +
                             "  return %b, %c\n}\n";
    tailor_graph* parsed = nullptr;
    ASSERT_EQ(Text(tailor_graph_parse(text.data(), text.size(), &parsed)), "OK");
    tailor_executable* compiled = nullptr;
    ASSERT_EQ(Text(tailor_graph_compile(parsed, nullptr, &options, &compiled)), "OK");
    tailor_graph_release(parsed);
    const size_t inputs = *z == '\0' ? 2 : 3;
    for (const int64_t s : {0, 2}) {
      std::vector<float> data(64);
      tailor_tensor in[3], out[2];
      for (tailor_tensor& tensor : in) {
        tailor_tensor_init(&tensor);
        tensor.data = data.data();
        tensor.dtype = TAILOR_F32;
        tensor.rank = 1;
        tensor.dims[0] = &tensor == &in[0] ? 4 : &tensor == &in[1] ? s : 2;
        tensor.data_bytes = 4 * tensor.dims[0];
      }
      std::vector<float> wide(8), narrow(2);
      for (tailor_tensor& tensor : out) {
        const bool first = &tensor == &out[0];
        tailor_tensor_init(&tensor);
        tensor.data = first ? wide.data() : narrow.data();
        tensor.data_bytes = first ? 32 : 8;
        tensor.dtype = TAILOR_F32;
        tensor.rank = first ? 2 : 1;
        tensor.dims[0] = 2;
        tensor.dims[1] = first ? 4 : 0;
      }
      const std::string result = Text(tailor_executable_run(compiled, in, inputs, out, 2));
      if (s == 2) {
        EXPECT_EQ(result, "OK");
        continue;
      }
      EXPECT_THAT(result, StartsWith("3: "));
      EXPECT_THAT(result, HasSubstr("divisor of floordiv(N, S) (S) is 0, but must be at least 1"));
    }
    tailor_executable_release(compiled);
  }
}

// Such tables are read without the index.
TEST_F(CompilerCompile, AnIndexIntoOneEntryOrEqualOnesIsChecked) {
  for (const char* body : {"%y = gather %x, %i", "%t = broadcast %x {shape = [3]}\n  %y = gather %t, %i",
                           "%t = reshape %x {shape = [1, 1]}\n  %z = gather %t, %i {axis = 1}\n"
                           "  %y = reshape %z {shape = [2]}"}) {
    const std::string text = std::string("graph @g(%x: f32[1], %i: i64[2]) {\n  ") + body + "\n  return %y\n}\n";
    SCOPED_TRACE(text);
    tailor_graph* parsed = nullptr;
    ASSERT_EQ(Text(tailor_graph_parse(text.data(), text.size(), &parsed)), "OK");
    tailor_executable* compiled = nullptr;
    ASSERT_EQ(Text(tailor_graph_compile(parsed, nullptr, &options, &compiled)), "OK");
    tailor_graph_release(parsed);
    for (const int64_t last : {0, 7}) {
      float entry = 5, out[2] = {};
      int64_t indices[2] = {0, last};
      tailor_tensor in[2], result;
      const auto fill = [](tailor_tensor* tensor, void* data, size_t bytes, int32_t dtype, int64_t size) {
        tailor_tensor_init(tensor);
        tensor->data = data;
        tensor->data_bytes = bytes;
        tensor->dtype = dtype;
        tensor->rank = 1;
        tensor->dims[0] = size;
      };
      fill(&in[0], &entry, sizeof(entry), TAILOR_F32, 1);
      fill(&in[1], indices, sizeof(indices), TAILOR_I64, 2);
      fill(&result, out, sizeof(out), TAILOR_F32, 2);
      const std::string ran = Text(tailor_executable_run(compiled, in, 2, &result, 1));
      if (last == 0) {
        EXPECT_EQ(ran, "OK");
        EXPECT_EQ(out[1], entry);
      } else {
        EXPECT_THAT(ran, HasSubstr("index 7 is out of range"));
      }
    }
    tailor_executable_release(compiled);
  }
}

// The divisor is known only in the run: the number of rows that a mask keeps.
TEST_F(CompilerCompile, ADivisorOfZeroThatDataTellsIsNamed) {
  tailor_value mask = 0, kept = 0, wide = 0;
  ASSERT_EQ(Text(tailor_graph_input(graph, "m", 1, TAILOR_BOOL, &b, 1, &mask)), "OK");
  ASSERT_EQ(Text(tailor_graph_compact(graph, x, mask, &kept)), "OK");
  int32_t dtype = 0, rank = 0;
  tailor_dim dims[TAILOR_MAX_RANK];
  ASSERT_EQ(Text(tailor_graph_value_type(graph, kept, &dtype, &rank, dims)), "OK");
  tailor_dim shape[] = {0, b, eight};
  ASSERT_EQ(Text(tailor_dim_floordiv(graph, b, dims[0], &shape[0])), "OK");
  ASSERT_EQ(Text(tailor_graph_broadcast(graph, x, shape, 3, &wide)), "OK");
  ASSERT_EQ(Text(tailor_graph_output(graph, "w", 1, wide)), "OK");
  ASSERT_EQ(Text(tailor_graph_compile(graph, nullptr, &options, &executable)), "OK");
  for (const bool keeps : {false, true}) {
    float data[32] = {}, y[32], w[64];
    int64_t id[4] = {};
    bool m[4] = {keeps, keeps, false, false};
    tailor_tensor in[3], out[2];
    auto fill = [](tailor_tensor* tensor, void* at, size_t size, int32_t type, std::vector<int64_t> dim_sizes) {
      tailor_tensor_init(tensor);
      tensor->data = at;
      tensor->data_bytes = size;
      tensor->dtype = type;
      tensor->rank = static_cast<int32_t>(dim_sizes.size());
      std::copy(dim_sizes.begin(), dim_sizes.end(), tensor->dims);
    };
    fill(&in[0], data, sizeof(data), TAILOR_F32, {4, 8});
    fill(&in[1], id, sizeof(id), TAILOR_I64, {4});
    fill(&in[2], m, sizeof(m), TAILOR_BOOL, {4});
    fill(&out[0], y, sizeof(y), TAILOR_F32, {4, 8});
    fill(&out[1], w, sizeof(w), TAILOR_F32, {2, 4, 8});
    const std::string result = Text(tailor_executable_run(executable, in, 3, out, 2));
    if (keeps) {
      EXPECT_EQ(result, "OK");
      continue;
    }
    EXPECT_THAT(result, AllOf(StartsWith("3: "), HasSubstr("divisor of floordiv(B, "),
                              HasSubstr("is 0, but must be at least 1")));
  }
}

TEST_F(CompilerCompile, GraphGrowsAndIsCompiledAgain) {
  ASSERT_EQ(Text(tailor_graph_compile(graph, nullptr, &options, &executable)), "OK");
  tailor_value z = 0;
  ASSERT_EQ(Text(tailor_graph_abs(graph, x, &z)), "OK");
  ASSERT_EQ(Text(tailor_graph_output(graph, "z", 1, z)), "OK");
  tailor_executable* second = nullptr;
  ASSERT_EQ(Text(tailor_graph_compile(graph, nullptr, &options, &second)), "OK");
  EXPECT_EQ(tailor_executable_output_count(executable), 1u);
  EXPECT_EQ(tailor_executable_output_count(second), 2u);
  tailor_executable_release(second);
}

TEST_F(CompilerCompile, SameGraphAndOptionsGiveTheSameBytes) {
  const std::string first = Artifact();
  options.threads = 1;
  EXPECT_EQ(first, Artifact());
  ASSERT_EQ(Text(tailor_graph_compile(graph, nullptr, &options, &executable)), "OK");
  const std::string path = testing::TempDir() + "/compiler_compile_test.tlr";
  ASSERT_EQ(Text(tailor_executable_save(executable, path.c_str(), SIZE_MAX)), "OK");
  std::ifstream in(path, std::ios::binary);
  EXPECT_EQ(first, std::string(std::istreambuf_iterator<char>(in), {})) << "compiling loads what it would save";
  std::filesystem::remove(path);
}

TEST_F(CompilerCompile, ModulesAreCounted) {
  const uint64_t before = tailor_compiler_modules_emitted();
  ASSERT_EQ(Text(tailor_graph_compile(graph, nullptr, &options, &executable)), "OK");
  const uint64_t after = tailor_compiler_modules_emitted();
  EXPECT_GT(after, before);
  EXPECT_EQ(Run(), kNegated);
  EXPECT_EQ(tailor_compiler_modules_emitted(), after);
}

TEST_F(CompilerCompile, ProgressIsReportedAndCancels) {
  struct Seen {
    std::string last;
    double done = -1;
    int calls = 0, allowed = 1 << 20;
  } seen;
  options.progress = [](void* user, const char* phase, double done) -> int32_t {
    auto& s = *static_cast<Seen*>(user);
    EXPECT_GE(done, 0);
    EXPECT_LE(done, 1);
    EXPECT_STRNE(phase, "");
    s.last = phase;
    return ++s.calls <= s.allowed;
  };
  options.progress_user = &seen;
  ASSERT_EQ(Text(tailor_graph_compile(graph, nullptr, &options, &executable)), "OK");
  EXPECT_GT(seen.calls, 0);
  tailor_executable* none = nullptr;
  seen.calls = 0;
  seen.allowed = 0;
  EXPECT_THAT(Text(tailor_graph_compile(graph, nullptr, &options, &none)), StartsWith("1: "));
  EXPECT_EQ(seen.calls, 1);
  EXPECT_EQ(none, nullptr);
}

TEST_F(CompilerCompile, BadOptionsAreNamed) {
  const char* unknown[] = {"x86-64-v9"};
  const char* null_name[] = {nullptr};
  options.targets = unknown;
  EXPECT_THAT(Text(tailor_graph_compile(graph, nullptr, &options, &executable)), Invalid("x86-64-v9"));
  options.targets = null_name;
  EXPECT_THAT(Text(tailor_graph_compile(graph, nullptr, &options, &executable)), Invalid("options.targets is null"));
  options.targets = nullptr;
  EXPECT_THAT(Text(tailor_graph_compile(graph, nullptr, &options, &executable)), Invalid("options.targets is null"));
  tailor_compile_options_init(&options);
  options.max_versions = 0;
  EXPECT_THAT(Text(tailor_graph_compile(graph, nullptr, &options, &executable)), Invalid("options.max_versions"));
  tailor_compile_options_init(&options);
  options.max_code_bytes = 1;
  EXPECT_THAT(Text(tailor_graph_compile(graph, nullptr, &options, &executable)),
              AllOf(StartsWith("8: "), HasSubstr("max_code_bytes is 1")));
  options.struct_size = 1;
  EXPECT_THAT(Text(tailor_graph_compile(graph, nullptr, &options, &executable)), Invalid("struct_size"));
  EXPECT_THAT(Text(tailor_graph_compile(graph, reinterpret_cast<tailor_runtime*>(NoGraph()), nullptr, &executable)),
              Invalid("runtime is a handle of another kind"));
  EXPECT_THAT(Text(tailor_graph_compile_artifact(graph, nullptr, nullptr, nullptr)), Invalid("take is null"));
  EXPECT_EQ(executable, nullptr);
}

TEST_F(CompilerCompile, AGraphWithoutOutputsIsRefused) {
  EXPECT_THAT(Text(tailor_graph_compile(other, nullptr, nullptr, &executable)),
              AllOf(StartsWith("9: "), HasSubstr("output")));
  EXPECT_EQ(executable, nullptr);
}

TEST_F(CompilerCompile, AnUnsolvableSymbolIsNamed) {
  tailor_dim s = 0, square = 0;
  tailor_value z = 0;
  ASSERT_EQ(Text(tailor_graph_symbol(graph, "side", SIZE_MAX, nullptr, &s)), "OK");
  ASSERT_EQ(Text(tailor_dim_mul(graph, s, s, &square)), "OK");
  ASSERT_EQ(Text(tailor_graph_input(graph, "z", 1, TAILOR_F32, &square, 1, &z)), "OK");
  ASSERT_EQ(Text(tailor_graph_output(graph, "z", 1, z)), "OK");
  EXPECT_THAT(Text(tailor_graph_compile(graph, nullptr, &options, &executable)), Invalid("side"));
}

TEST_F(CompilerCompile, AContradictionIsRefused) {
  tailor_dim nine = 0;
  ASSERT_EQ(Text(tailor_graph_dim(graph, 9, &nine)), "OK");
  const std::string assumed = Text(tailor_graph_assume_equal(graph, eight, nine));
  const std::string compiled = Text(tailor_graph_compile(graph, nullptr, &options, &executable));
  EXPECT_THAT(assumed == "OK" ? compiled : assumed, AllOf(StartsWith("3: "), HasSubstr("8"), HasSubstr("9")));
}

TEST_F(CompilerCompile, TheNodeAtFaultIsNamed) {
  // Both dim sizes of z are S, so that concatenating it to rows of 8 and of 9 contradicts itself.
  tailor_dim s = 0, nine = 0;
  tailor_value z = 0, w = 0, y = 0;
  ASSERT_EQ(Text(tailor_graph_dim(graph, 9, &nine)), "OK");
  ASSERT_EQ(Text(tailor_graph_symbol(graph, "S", 1, nullptr, &s)), "OK");
  const tailor_dim z_dims[] = {b, s}, w_dims[] = {b, nine};
  ASSERT_EQ(Text(tailor_graph_input(graph, "z", 1, TAILOR_F32, z_dims, 2, &z)), "OK");
  ASSERT_EQ(Text(tailor_graph_input(graph, "w", 1, TAILOR_F32, w_dims, 2, &w)), "OK");
  for (tailor_value other_rows : {x, w}) {
    const tailor_value rows[] = {z, other_rows};
    ASSERT_EQ(Text(tailor_graph_concat(graph, rows, 2, 0, &y)), "OK");
    ASSERT_EQ(Text(tailor_graph_set_name(graph, y, other_rows == x ? "first" : "stacked", SIZE_MAX)), "OK");
  }
  ASSERT_EQ(Text(tailor_graph_output(graph, "stacked", SIZE_MAX, y)), "OK");
  tailor_status* status = tailor_graph_compile(graph, nullptr, &options, &executable);
  EXPECT_STREQ(tailor_status_node(status), "stacked");
  EXPECT_THAT(Text(status), AllOf(StartsWith("3: "), HasSubstr("stacked")));
}

TEST_F(CompilerCompile, OneGraphIsCompiledByManyThreadsAtOnce) {
  std::vector<std::string> artifacts(3);
  std::vector<std::thread> threads;
  for (std::string& artifact : artifacts) threads.emplace_back([&] { artifact = Artifact(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(artifacts[0].empty());
  EXPECT_EQ(artifacts[0], artifacts[1]);
  EXPECT_EQ(artifacts[0], artifacts[2]);
}

// LLVM runs on threads of the compiler's own (codegen/jobs/job_pool.h).
TEST_F(CompilerCompile, TheCallersStackMayBeSmall) {
  tailor_value y = x;
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(Text(tailor_graph_add(graph, y, x, &y)), "OK");
  ASSERT_EQ(Text(tailor_graph_output(graph, "chain", 5, y)), "OK");
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, 256 << 10), 0);
  std::string text;
  const std::function<void()> compile = [&] {
    text = Text(tailor_graph_compile(graph, nullptr, &options, &executable));
  };
  void* (*const run)(void*) = [](void* user) -> void* {
    (*static_cast<const std::function<void()>*>(user))();
    return nullptr;
  };
  pthread_t thread;
  ASSERT_EQ(pthread_create(&thread, &attributes, run, const_cast<std::function<void()>*>(&compile)), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
  EXPECT_EQ(text, "OK");
}

TEST_F(CompilerCompile, AnAssumedBoundIsCheckedByEveryRun) {
  ASSERT_EQ(Text(tailor_graph_assume_at_least(graph, b, eight, "the stem", 8)), "OK");
  ASSERT_EQ(Text(tailor_graph_compile(graph, nullptr, &options, &executable)), "OK");
  EXPECT_THAT(Run(), AllOf(StartsWith("3: "), HasSubstr("the stem: B is 1, but must be at least 8")));
}

TEST_F(CompilerCompile, AnAssumptionIsCheckedByEveryRun) {
  ASSERT_EQ(Text(tailor_graph_assume_equal(graph, b, eight)), "OK");
  ASSERT_EQ(Text(tailor_graph_compile(graph, nullptr, &options, &executable)), "OK");
  EXPECT_THAT(Run(), StartsWith("3: "));
}

void Count(void* user) { ++*static_cast<int*>(user); }

TEST_F(CompilerCompile, ABorrowedConstantIsNotKeptByTheExecutable) {
  alignas(64) float data[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  const int64_t dims[] = {8};
  int released = 0;
  tailor_value c = 0, sum = 0;
  ASSERT_EQ(Text(tailor_graph_constant(graph, "c", 1, TAILOR_F32, dims, 1, data, 32, Count, &released, &c)), "OK");
  ASSERT_EQ(Text(tailor_graph_add(graph, x, c, &sum)), "OK");
  tailor_graph* compiled = nullptr;
  std::swap(compiled, graph);
  ASSERT_EQ(Text(tailor_graph_output(compiled, "sum", 3, sum)), "OK");
  ASSERT_EQ(Text(tailor_graph_compile(compiled, nullptr, &options, &executable)), "OK");
  EXPECT_EQ(released, 0);
  tailor_graph_release(compiled);
  EXPECT_EQ(released, 1);
  EXPECT_EQ(tailor_executable_output_count(executable), 2u);
}

// A convolution of [B, 16, 6, 8] with weights of ones.
TEST_F(CompilerCompile, ConvolutionsAreByWinogradsAlgorithmUnlessTheyAreToBeDirect) {
  const std::vector<float> ones(16 * 16 * 9, 1);
  const int64_t weight_dims[] = {16, 16, 3, 3};
  tailor_dim dims[4] = {b, 0, 0, 0};
  tailor_value image = 0, weights = 0, y = 0;
  tailor_graph_release(graph);
  ASSERT_EQ(Text(tailor_graph_create("conv", SIZE_MAX, &graph)), "OK");
  ASSERT_EQ(Text(tailor_graph_symbol(graph, "B", 1, nullptr, &dims[0])), "OK");
  for (int i = 1; i < 4; ++i) ASSERT_EQ(Text(tailor_graph_dim(graph, i == 1 ? 16 : 2 + 2 * i, &dims[i])), "OK");
  ASSERT_EQ(Text(tailor_graph_input(graph, "image", SIZE_MAX, TAILOR_F32, dims, 4, &image)), "OK");
  ASSERT_EQ(Text(tailor_graph_constant(graph, "w", 1, TAILOR_F32, weight_dims, 4, ones.data(), ones.size() * 4, nullptr,
                                       nullptr, &weights)),
            "OK");
  ASSERT_EQ(Text(tailor_graph_conv(graph, image, weights, 0, 1, nullptr, &y)), "OK");
  ASSERT_EQ(Text(tailor_graph_output(graph, "y", 1, y)), "OK");
  std::vector<float> in(16 * 6 * 8, 0.5f), out(16 * 4 * 6);
  tailor_tensor input, output;
  const auto fill = [](tailor_tensor* tensor, std::vector<float>& data, int64_t height, int64_t width) {
    tailor_tensor_init(tensor);
    tensor->data = data.data();
    tensor->data_bytes = data.size() * sizeof(float);
    tensor->dtype = TAILOR_F32;
    tensor->rank = 4;
    const int64_t dim_sizes[] = {1, 16, height, width};
    std::copy(std::begin(dim_sizes), std::end(dim_sizes), tensor->dims);
  };
  fill(&input, in, 6, 8);
  fill(&output, out, 4, 6);
  for (int32_t direct : {0, 1}) {
    options.direct_convolutions = direct;
    tailor_executable* compiled = nullptr;
    ASSERT_EQ(Text(tailor_graph_compile(graph, nullptr, &options, &compiled)), "OK");
    const char* json = nullptr;
    ASSERT_EQ(Text(tailor_executable_describe(compiled, &json)), "OK");
    const std::string said = json,
                      layout = direct ? R"("panels16", "bytes": 9216)" : R"("winograd_panels16", "bytes": 16384)";
    EXPECT_THAT(said, HasSubstr(R"("dims": [1, 144, 16], "layout": )" + layout));
    EXPECT_EQ(said.find("winograd") == std::string::npos, direct != 0);
    EXPECT_EQ(said.find(" direct_convolutions\"") != std::string::npos, direct != 0);
    EXPECT_EQ(Text(tailor_executable_run(compiled, &input, 1, &output, 1)), "OK");
    EXPECT_THAT(out, testing::Each(72));
    tailor_executable_release(compiled);
  }
  // A GPU reads the same weights.
  const char* const both[] = {"x86-64-v3", "simt"};
  options.direct_convolutions = 0;
  options.targets = both;
  options.target_count = 2;
  tailor_executable* compiled = nullptr;
  ASSERT_EQ(Text(tailor_graph_compile(graph, nullptr, &options, &compiled)), "OK");
  const char* json = nullptr;
  ASSERT_EQ(Text(tailor_executable_describe(compiled, &json)), "OK");
  EXPECT_EQ(std::string(json).find("winograd"), std::string::npos);
  tailor_executable_release(compiled);
}

}  // namespace
}  // namespace tailor

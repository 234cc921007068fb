// Donated inputs through the C API: which output aliases which input, runs without copies, refused arguments.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/api/compiler_fixture.h"
#include "tools/handles.h"

namespace tailor {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr char kChain[] = R"(
graph @chain(%x: f32[N, 4], %b: f32[4]) {
  %s = add %x, %b
  %y = neg %s
  return "y" = %y
})";

// One step of a decoder's cache: row `at` is replaced, and the sums of all rows are read.
constexpr char kCache[] = R"(
graph @step(%cache: f32[S, 4], %at: i64[1, 1], %row: f32[1, 4]) {
  %next = scatter %cache, %at, %row {combiner = "set"}
  %sums = reduce_sum %next {axes = [1]}
  return "next" = %next, "sums" = %sums
})";

tailor_status* CompileText(const std::string& text, std::vector<const char*> donated, ExecutableHandle* out) {
  tailor_graph* graph = nullptr;
  EXPECT_EQ(Text(tailor_graph_parse(text.data(), text.size(), &graph)), "OK");
  tailor_compile_options options;
  tailor_compile_options_init(&options);
  const char* host = "host";
  options.targets = &host;
  options.target_count = 1;
  options.donated = donated.data();
  options.donated_count = donated.size();
  tailor_executable* executable = nullptr;
  tailor_status* status = tailor_graph_compile(graph, nullptr, &options, &executable);
  tailor_graph_release(graph);
  out->reset(executable);
  return status;
}

ExecutableHandle Compiled(const std::string& text, std::vector<const char*> donated) {
  ExecutableHandle executable;
  EXPECT_EQ(Text(CompileText(text, std::move(donated), &executable)), "OK");
  return executable;
}

template <typename T>
tailor_tensor TensorOf(std::vector<T>& data, int32_t dtype, std::vector<int64_t> dims) {
  tailor_tensor tensor;
  tailor_tensor_init(&tensor);
  tensor.data = data.data();
  tensor.data_bytes = data.size() * sizeof(T);
  tensor.dtype = dtype;
  tensor.rank = static_cast<int32_t>(dims.size());
  std::copy(dims.begin(), dims.end(), tensor.dims);
  return tensor;
}

tailor_tensor Provided() {
  tailor_tensor tensor;
  tailor_tensor_init(&tensor);
  return tensor;
}

class Session {
 public:
  explicit Session(const ExecutableHandle& executable, uint64_t threads = 1) {
    tailor_session_options options;
    tailor_session_options_init(&options);
    options.threads = threads;
    EXPECT_EQ(Text(tailor_session_create(executable.get(), &options, &session_)), "OK");
  }
  Session(const Session&) = delete;
  ~Session() { tailor_session_release(session_); }
  std::string Run(const std::vector<tailor_tensor>& inputs, std::vector<tailor_tensor>& outputs) {
    return Text(tailor_session_run(session_, inputs.data(), inputs.size(), outputs.data(), outputs.size()));
  }
  tailor_session* get() { return session_; }

 private:
  tailor_session* session_ = nullptr;
};

int64_t MemoryOf(const ExecutableHandle& executable, size_t output) {
  tailor_tensor_info info;
  tailor_tensor_info_init(&info);
  EXPECT_EQ(Text(tailor_executable_output(executable.get(), output, &info)), "OK");
  return info.memory_of;
}

TEST(Donation, AnElementwiseChainIsComputedInPlace) {
  const ExecutableHandle executable = Compiled(kChain, {"x"});
  EXPECT_EQ(MemoryOf(executable, 0), 0);
  tailor_tensor_info info;
  tailor_tensor_info_init(&info);
  ASSERT_EQ(Text(tailor_executable_input(executable.get(), 0, &info)), "OK");
  EXPECT_EQ(info.donated, 1);
  ASSERT_EQ(Text(tailor_executable_input(executable.get(), 1, &info)), "OK");
  EXPECT_EQ(info.donated, 0);

  std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8}, b = {10, 20, 30, 40};
  const std::vector<tailor_tensor> inputs = {TensorOf(x, TAILOR_F32, {2, 4}), TensorOf(b, TAILOR_F32, {4})};
  std::vector<tailor_tensor> outputs = {Provided()};
  Session session(executable);
  ASSERT_EQ(session.Run(inputs, outputs), "OK");
  EXPECT_EQ(outputs[0].data, x.data());
  EXPECT_EQ(outputs[0].dims[0], 2);
  EXPECT_EQ(x, (std::vector<float>{-11, -22, -33, -44, -15, -26, -37, -48}));
  ASSERT_EQ(Text(tailor_executable_run(executable.get(), inputs.data(), 2, outputs.data(), 1)), "OK");
  EXPECT_EQ(x[0], 1);

  tailor_plan_info plan;
  tailor_plan_info_init(&plan);
  ASSERT_EQ(Text(tailor_executable_plan(executable.get(), inputs.data(), 2, outputs.data(), 1, &plan)), "OK");
  EXPECT_EQ(plan.workspace_bytes, 0u);
}

TEST(Donation, ACacheIsUpdatedWhereItIsStepByStep) {
  const ExecutableHandle executable = Compiled(kCache, {"cache"});
  EXPECT_EQ(MemoryOf(executable, 0), 0);
  EXPECT_EQ(MemoryOf(executable, 1), -1);
  EXPECT_EQ(tailor_executable_launch_count(executable.get()), 2u) << "a copy is one more";
  std::vector<float> cache(5 * 4, 0), row(4), sums(5);
  std::vector<int64_t> at = {0};
  Session session(executable);
  const std::vector<tailor_tensor> inputs = {TensorOf(cache, TAILOR_F32, {5, 4}), TensorOf(at, TAILOR_I64, {1, 1}),
                                             TensorOf(row, TAILOR_F32, {1, 4})};
  const std::vector<tailor_tensor> outputs = {inputs[0], TensorOf(sums, TAILOR_F32, {5})};
  ASSERT_EQ(Text(tailor_session_bind(session.get(), inputs.data(), 3, outputs.data(), 2)), "OK");
  for (int64_t step = 0; step < 5; ++step) {
    at[0] = step;
    row.assign(4, static_cast<float>(step + 1));
    ASSERT_EQ(Text(tailor_session_run_bound(session.get())), "OK");
    for (int64_t i = 0; i < 5; ++i) EXPECT_EQ(sums[i], i <= step ? 4.0f * static_cast<float>(i + 1) : 0) << step;
  }
  EXPECT_EQ(cache[19], 5);
}

// Of rows with infinities and NaN among them, each of which is read again while results of the one before are written.
TEST(Donation, RowsOfPowersAreComputedInPlace) {
  constexpr int64_t kRows = 43;
  constexpr float kInf = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();
  const std::map<int64_t, float> special = {{0, -kInf}, {1, kNaN},  {3, kInf},  {4, kNaN},   {5, kInf}, {6, -kInf},
                                            {7, -kInf}, {20, kNaN}, {21, kInf}, {30, -kInf}, {42, kNaN}};
  const std::string powers = R"(
graph @powers(%x: f32[R, C]) {
  %m = reduce_max %x {axes = [1], keep_dims = 1}
  %d = sub %x, %m
  %e = exp %d
)";
  for (const std::string& text : {powers + "  return \"e\" = %e\n}", powers + R"(
  %s = reduce_sum %e {axes = [1], keep_dims = 1}
  %y = div %e, %s
  return "y" = %y
})"}) {
    const ExecutableHandle kept = Compiled(text, {}), donated = Compiled(text, {"x"});
    EXPECT_EQ(MemoryOf(kept, 0), -1);
    EXPECT_EQ(MemoryOf(donated, 0), 0);
    for (const int64_t columns : {5, 128, 300}) {
      std::vector<float> x(kRows * columns);
      for (int64_t i = 0; i < kRows * columns; ++i) x[i] = static_cast<float>(i * 7919 % 1009) / 100;
      for (const auto& [row, value] : special) {
        const auto begin = x.begin() + row * columns;
        std::fill_n(value < 0 ? begin : begin + row * 31 % columns, value < 0 ? columns : 1, value);
      }
      for (const uint64_t threads : {1, 2}) {
        std::vector<float> y(x.size()), both = x;
        const auto at = [&](std::vector<float>& data) { return TensorOf(data, TAILOR_F32, {kRows, columns}); };
        std::vector<tailor_tensor> apart = {at(y)}, in_place = {Provided()};
        ASSERT_EQ(Session(kept, threads).Run({at(x)}, apart), "OK");
        ASSERT_EQ(Session(donated, threads).Run({at(both)}, in_place), "OK");
        EXPECT_EQ(in_place[0].data, both.data());
        for (int64_t i = 0; i < kRows * columns; ++i) {
          const bool is_special = special.contains(i / columns);
          const bool alike = both[i] == y[i] || (is_special && std::isnan(both[i]) && std::isnan(y[i]));
          ASSERT_TRUE(alike && (is_special || (0 < y[i] && y[i] <= 1)))
              << y[i] << " became " << both[i] << " at " << i << " of " << columns << " columns" << text;
        }
      }
    }
  }
}

TEST(Donation, EmptyInputsAreNoMemory) {
  const ExecutableHandle executable = Compiled(kChain, {"x"});
  std::vector<float> x(1), b(4);
  std::vector<tailor_tensor> outputs = {Provided()};
  Session session(executable);
  ASSERT_EQ(session.Run({TensorOf(x, TAILOR_F32, {0, 4}), TensorOf(b, TAILOR_F32, {4})}, outputs), "OK");
  EXPECT_EQ(outputs[0].dims[0], 0);
  EXPECT_EQ(outputs[0].data_bytes, 0u);
}

TEST(Donation, OtherMemoryForTheOutputIsRefused) {
  const ExecutableHandle executable = Compiled(kChain, {"x"});
  std::vector<float> x(8), b(4), y(8);
  std::vector<tailor_tensor> outputs = {TensorOf(y, TAILOR_F32, {2, 4})};
  Session session(executable);
  EXPECT_EQ(session.Run({TensorOf(x, TAILOR_F32, {2, 4}), TensorOf(b, TAILOR_F32, {4})}, outputs),
            "3: output \"y\": it is in the memory of donated input \"x\": its data must be null or that input's");
}

TEST(Donation, AnotherArgumentInTheMemoryOfADonatedInputIsRefused) {
  const ExecutableHandle executable = Compiled(kChain, {"x"});
  std::vector<float> x(8);
  tailor_tensor b = TensorOf(x, TAILOR_F32, {4});
  std::vector<tailor_tensor> outputs = {Provided()};
  Session session(executable);
  EXPECT_EQ(session.Run({TensorOf(x, TAILOR_F32, {2, 4}), b}, outputs),
            "3: input \"x\": it is donated, but overlaps input \"b\"");
}

TEST(Donation, AWrongNameIsRefused) {
  ExecutableHandle executable;
  EXPECT_THAT(Text(CompileText(kChain, {"z"}, &executable)),
              AllOf(StartsWith("3: "), HasSubstr("donated input \"z\" is no input of the graph")));
  EXPECT_THAT(Text(CompileText(kChain, {nullptr}, &executable)),
              AllOf(StartsWith("3: "), HasSubstr("options.donated")));
}

}  // namespace
}  // namespace tailor

// Custom operators on a CUDA device that the emulator plays.
#include <gmock/gmock.h>

#include "tests/api/emulated_program.h"

extern "C" {  // of the driver that the emulator plays
int cuMemcpyDtoDAsync_v2(void* to, const void* from, size_t bytes, void* stream);
int cuMemcpyDtoHAsync_v2(void* to, const void* from, size_t bytes, void* stream);
int cuMemcpyHtoDAsync_v2(void* to, const void* from, size_t bytes, void* stream);
int cuStreamSynchronize(void* stream);
}

namespace tailor {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::StartsWith;

class CustomOperatorDeviceTest : public EmulatedTest {
 protected:
  struct Seen {
    int calls = 0;
    const void* stream = nullptr;
    uint64_t workspace_bytes = 0;
  };

  // results[0] = 2 * operands[0], both in device memory.
  static int32_t Double(void* user, const tailor_custom_call* call) {
    Seen& seen = *static_cast<Seen*>(user);
    ++seen.calls;
    seen.stream = call->stream;
    seen.workspace_bytes = call->workspace_bytes;
    std::vector<float> numbers(call->operands[0].dims[0]);
    const uint64_t bytes = numbers.size() * sizeof(float);
    if (bytes == 0) return 0;
    EXPECT_EQ(cuMemcpyDtoDAsync_v2(call->workspace, call->operands[0].data, bytes, call->stream), 0);
    EXPECT_EQ(cuMemcpyDtoHAsync_v2(numbers.data(), call->workspace, bytes, call->stream), 0);
    EXPECT_EQ(cuStreamSynchronize(call->stream), 0);
    for (float& number : numbers) number *= 2;
    EXPECT_EQ(cuMemcpyHtoDAsync_v2(call->results[0].data, numbers.data(), bytes, call->stream), 0);
    return 0;
  }
  static int32_t Workspace(void*, const tailor_custom_call* call, uint64_t* bytes) {
    *bytes = call->operands[0].dims[0] * sizeof(float);
    return 0;
  }

  std::string Register(tailor_runtime* runtime, int32_t device = TAILOR_DEVICE_CUDA) {
    tailor_custom_operator op;
    tailor_custom_operator_init(&op);
    op.name = "double";
    op.name_size = SIZE_MAX;
    op.device = device;
    op.function = Double;
    op.workspace = Workspace;
    op.user = &seen_;
    return Text(tailor_runtime_register(runtime, &op));
  }

  Seen seen_;
};

constexpr char kDoubled[] = R"(
graph @g(%x: f32[N]) {
  %a = neg %x
  %b = custom %a {name = "double", attributes = "", pure = 1, dtypes = "f32", ranks = [1], shapes = [N]}
  %y = neg %b
  return "y" = %y
})";

TEST_F(CustomOperatorDeviceTest, RunsInTheStream) {
  EmulatedProgram program(kDoubled, {}, [&](tailor_runtime* runtime) { ASSERT_EQ(Register(runtime), "OK"); });
  ASSERT_EQ(program.status(), "OK");
  std::vector<float> results;
  for (const int64_t count : {3, 100, 0, 7}) {
    ASSERT_EQ(program.Run({{{count}, std::vector<float>(count, 5)}}, &results), "OK");
    EXPECT_EQ(results, std::vector<float>(count, 10));
    EXPECT_EQ(seen_.workspace_bytes, (count * sizeof(float) + 63) / 64 * 64);
  }
  EXPECT_NE(seen_.stream, nullptr);
}

TEST_F(CustomOperatorDeviceTest, AGraphIsSplitThere) {
  EmulatedProgram program(kDoubled, {}, [&](tailor_runtime* runtime) { ASSERT_EQ(Register(runtime), "OK"); });
  ASSERT_EQ(program.status(), "OK");
  tailor_session_options options;
  tailor_session_options_init(&options);
  options.cuda_graph = 1;
  ASSERT_EQ(program.Open(options), "OK");
  std::vector<float> results;
  for (const int64_t count : {9, 9, 4}) {
    const int64_t before = tailor_fake_cuda_counts().total_graph_launches;
    ASSERT_EQ(program.Run({{{count}, std::vector<float>(count, 5)}}, &results), "OK");
    EXPECT_THAT(results, Each(10));
    EXPECT_EQ(tailor_fake_cuda_counts().total_graph_launches, before + 2);
  }
  EXPECT_EQ(seen_.calls, 3);
}

TEST_F(CustomOperatorDeviceTest, ARegistrationIsForOneDevice) {
  const EmulatedProgram program(
      kDoubled, {}, [&](tailor_runtime* runtime) { ASSERT_EQ(Register(runtime, TAILOR_DEVICE_CPU), "OK"); });
  EXPECT_THAT(program.status(), StartsWith("9: the program needs custom operators that are not registered for CUDA"));
}

TEST_F(CustomOperatorDeviceTest, RunStateIsUploaded) {
  EmulatedProgram program(R"(
graph @g(%x: f32[N]) {
  %s = custom {name = "tailor.run_state", attributes = "", pure = 1, dtypes = "u64", ranks = [1], shapes = [2]}
  %u = cast %s {dtype = u32}
  %y = cast %u {dtype = f32}
  return "y" = %y
})");
  ASSERT_EQ(program.status(), "OK");
  ASSERT_EQ(program.SetSeed(9), "OK");
  std::vector<float> results;
  for (int run = 0; run < 3; ++run) {
    ASSERT_EQ(program.Run({{{1}, {0}}}, &results), "OK");
    EXPECT_THAT(results, ElementsAre(9, run));
  }
}

}  // namespace
}  // namespace tailor

// Devices through the C header, on the driver that plays one (tests/emulator/fake_driver.h).
#include <gmock/gmock.h>

#include <cstdlib>
#include <cstring>

#include "tests/api/runtime_fixture.h"
#include "tests/emulator/fake_driver.h"
#include "tests/support/sample_device_program.h"

namespace tailor {
namespace {

class DevicesTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { setenv("TAILOR_CUDA_DRIVER", TAILOR_FAKE_CUDA_LIBRARY, 1); }

  static ExecutableHandle Load(int32_t device = TAILOR_DEVICE_CUDA, int32_t ordinal = 0) {
    static const AlignedBytes bytes = ArtifactOf(SampleDeviceProgram());
    tailor_load_options options;
    tailor_load_options_init(&options);
    options.device = device;
    options.device_ordinal = ordinal;
    tailor_executable* executable = nullptr;
    status_ = Text(
        tailor_executable_load_memory(nullptr, bytes.data(), bytes.size(), &options, nullptr, nullptr, &executable));
    return ExecutableHandle(executable);
  }
  static inline std::string status_;
};

TEST_F(DevicesTest, AreTheCpuAndThenGpus) {
  EXPECT_EQ(tailor_runtime_device_count(nullptr), 2u);
  EXPECT_STREQ(tailor_runtime_cuda_absence(nullptr), "");
  tailor_device_info info;
  tailor_device_info_init(&info);
  ASSERT_EQ(Text(tailor_runtime_device(nullptr, 0, &info)), "OK");
  EXPECT_EQ(info.kind, TAILOR_DEVICE_CPU);
  EXPECT_THAT(info.name, testing::StartsWith("x86-64"));
  EXPECT_GT(info.memory_bytes, 0u);
  ASSERT_EQ(Text(tailor_runtime_device(nullptr, 1, &info)), "OK");
  EXPECT_EQ(info.kind, TAILOR_DEVICE_CUDA);
  EXPECT_EQ(info.ordinal, 0);
  EXPECT_STREQ(info.name, "Tailor emulator");
  EXPECT_EQ(info.major, 9);
  EXPECT_EQ(info.minor, 0);
  EXPECT_EQ(info.processors, 4);
  EXPECT_EQ(info.driver, 12040);
  EXPECT_EQ(info.memory_bytes, 256u << 20);
  EXPECT_EQ(Text(tailor_runtime_device(nullptr, 2, &info)), "11: tailor_runtime_device: index is 2, but there are 2");
  EXPECT_EQ(Text(tailor_runtime_device(nullptr, 0, nullptr)), "3: tailor_runtime_device: out is null");
}

TEST_F(DevicesTest, HandlesAreChecked) {
  const ExecutableHandle executable = Load();
  const auto* wrong = reinterpret_cast<const tailor_runtime*>(executable.get());
  tailor_device_info info;
  tailor_device_info_init(&info);
  EXPECT_EQ(tailor_runtime_device_count(wrong), 0u);
  EXPECT_EQ(Text(tailor_runtime_device(wrong, 0, &info)),
            "3: tailor_runtime_device: runtime is a handle of another kind");
  EXPECT_STREQ(tailor_runtime_cuda_absence(wrong), "the handle is not a tailor_runtime");
  EXPECT_EQ(tailor_session_stream(nullptr), nullptr);
  EXPECT_EQ(Text(tailor_session_wait(nullptr)), "3: tailor_session_wait: session is null");
}

TEST_F(DevicesTest, RunsHostTensors) {
  const ExecutableHandle executable = Load();
  ASSERT_EQ(status_, "OK");
  const SessionHandle session = MakeSession(executable.get());
  for (int64_t rows : {40, 3}) {
    SampleCall call(rows);
    EXPECT_EQ(call.Run(session.get()), "OK");
    call.ExpectResults();
  }
  EXPECT_NE(tailor_session_stream(session.get()), nullptr);
  const char* json = nullptr;
  ASSERT_EQ(Text(tailor_executable_describe(executable.get(), &json)), "OK");
  EXPECT_THAT(json, testing::HasSubstr(R"({"target": "cuda", "in_use": true)"));
}

TEST_F(DevicesTest, TensorsOfEarlierHeadersAreInHostMemory) {
  const ExecutableHandle executable = Load();
  SampleCall call(40);
  constexpr size_t kEarlier = offsetof(tailor_tensor, device);
  alignas(8) std::byte inputs[2 * kEarlier], outputs[2 * kEarlier];
  for (size_t i = 0; i < 2; ++i) {
    call.inputs[i].struct_size = call.outputs[i].struct_size = kEarlier;
    std::memcpy(inputs + i * kEarlier, &call.inputs[i], kEarlier);
    std::memcpy(outputs + i * kEarlier, &call.outputs[i], kEarlier);
  }
  EXPECT_EQ(Text(tailor_executable_run(executable.get(), reinterpret_cast<tailor_tensor*>(inputs), 2,
                                       reinterpret_cast<tailor_tensor*>(outputs), 2)),
            "OK");
  call.ExpectResults();
}

TEST_F(DevicesTest, OutputsAreProvidedWhereTheyAreWanted) {
  const ExecutableHandle executable = Load();
  tailor_session_options options;
  tailor_session_options_init(&options);
  for (int32_t on_host : {0, 1}) {
    options.host_outputs = on_host;
    const SessionHandle session = MakeSession(executable.get(), &options);
    SampleCall call(9);
    for (tailor_tensor& output : call.outputs) tailor_tensor_init(&output);
    ASSERT_EQ(call.Run(session.get()), "OK");
    EXPECT_EQ(call.outputs[1].device, 1 - on_host);
    ASSERT_EQ(call.outputs[1].data_bytes, 36u);
    std::vector<float> total(9);
    if (on_host != 0) {
      std::memcpy(total.data(), call.outputs[1].data, 36);
    } else {
      ASSERT_TRUE(tailor_fake_cuda_peek(total.data(), call.outputs[1].data, 36));
    }
    EXPECT_EQ(total, call.want_total);
  }
}

TEST_F(DevicesTest, AsynchronousRunsAreWaitedFor) {
  const ExecutableHandle executable = Load();
  tailor_session_options options;
  tailor_session_options_init(&options);
  options.asynchronous = 1;
  const SessionHandle session = MakeSession(executable.get(), &options);
  SampleCall good(40), bad(40);
  bad.mask[7] = -1;
  ASSERT_EQ(good.Run(session.get()), "OK");
  ASSERT_EQ(bad.Run(session.get()), "OK");
  EXPECT_EQ(good.total[0], -99);
  EXPECT_EQ(Text(tailor_session_wait(session.get())), "3: input \"mask\" at 7 of 40 is negative");
  good.ExpectResults();
}

TEST_F(DevicesTest, RunsInFlightArePolledAndTellWhenTheyEnd) {
  const ExecutableHandle executable = Load();
  tailor_session_options options;
  tailor_session_options_init(&options);
  options.asynchronous = 1;
  const SessionHandle session = MakeSession(executable.get(), &options);
  SampleCall call(40);
  int calls = 0;
  int32_t done = -1;
  ASSERT_EQ(call.Run(session.get()), "OK");
  ASSERT_EQ(Text(tailor_session_notify(
                session.get(), [](void* user) { ++*static_cast<int*>(user); }, &calls)),
            "OK");
  ASSERT_EQ(Text(tailor_session_poll(session.get(), &done)), "OK");
  EXPECT_EQ(done, 0);
  EXPECT_EQ(calls, 0);
  ASSERT_EQ(Text(tailor_session_wait(session.get())), "OK");
  EXPECT_EQ(calls, 1);
  ASSERT_EQ(Text(tailor_session_poll(session.get(), &done)), "OK");
  EXPECT_EQ(done, 1);
  call.ExpectResults();
  EXPECT_EQ(Text(tailor_session_poll(session.get(), nullptr)), "3: tailor_session_poll: done is null");
  EXPECT_EQ(Text(tailor_session_notify(session.get(), nullptr, nullptr)), "3: tailor_session_notify: ended is null");
  EXPECT_EQ(Text(tailor_session_poll(nullptr, &done)), "3: tailor_session_poll: session is null");
  EXPECT_EQ(Text(tailor_session_notify(nullptr, nullptr, nullptr)), "3: tailor_session_notify: session is null");
}

TEST_F(DevicesTest, EventsAreTheDevices) {
  const ExecutableHandle executable = Load(), on_cpu = Load(TAILOR_DEVICE_CPU);
  const SessionHandle session = MakeSession(executable.get()), cpu_session = MakeSession(on_cpu.get());
  EXPECT_EQ(Text(tailor_session_follow(session.get(), nullptr)), "3: event is null");
  EXPECT_EQ(Text(tailor_session_record(session.get(), nullptr)), "3: event is null");
  EXPECT_EQ(Text(tailor_session_record(cpu_session.get(), &status_)),
            "3: event is given, but the executable runs on the CPU");
  EXPECT_EQ(Text(tailor_session_follow(nullptr, &status_)), "3: tailor_session_follow: session is null");
  EXPECT_EQ(Text(tailor_session_record(nullptr, &status_)), "3: tailor_session_record: session is null");
}

TEST_F(DevicesTest, RunsMayBeGraphs) {
  Program program = SampleDeviceProgram();
  const ExecutableHandle reads_back = Load();
  program.variants[0].reads_back = false;
  static const AlignedBytes bytes = ArtifactOf(program);
  tailor_load_options load;
  tailor_load_options_init(&load);
  load.device = TAILOR_DEVICE_CUDA;
  tailor_executable* loaded = nullptr;
  ASSERT_EQ(Text(tailor_executable_load_memory(nullptr, bytes.data(), bytes.size(), &load, nullptr, nullptr, &loaded)),
            "OK");
  const ExecutableHandle executable(loaded);
  tailor_session_options options;
  tailor_session_options_init(&options);
  options.cuda_graph = 1;
  const SessionHandle session = MakeSession(executable.get(), &options);
  const int64_t before = tailor_fake_cuda_counts().total_graph_launches;
  for (int64_t rows : {40, 3}) {
    SampleCall call(rows);
    EXPECT_EQ(call.Run(session.get()), "OK");
    call.ExpectResults();
  }
  EXPECT_EQ(tailor_fake_cuda_counts().total_graph_launches, before + 2);

  tailor_session* refused = nullptr;
  EXPECT_EQ(Text(tailor_session_create(reads_back.get(), &options, &refused)),
            "9: options.cuda_graph: the program reads results back in the middle of its runs");
  SampleCall call(3);
  for (const auto& [which, expected] : {std::pair{reads_back.get(), 1u}, {executable.get(), 0u}}) {
    tailor_plan_info info;
    tailor_plan_info_init(&info);
    ASSERT_EQ(Text(tailor_executable_plan(which, call.inputs.data(), 2, call.outputs.data(), 2, &info)), "OK");
    EXPECT_EQ(info.reads_back, expected);
  }
}

TEST_F(DevicesTest, ADeviceThatIsNotThereIsAnError) {
  EXPECT_EQ(Load(TAILOR_DEVICE_CUDA, 1), nullptr);
  EXPECT_EQ(status_, "9: CUDA device 1 was asked for, but the devices are 0 to 0");
  EXPECT_EQ(Load(5), nullptr);
  EXPECT_EQ(status_, "3: device is 5, not 0 or 1");
  const ExecutableHandle on_cpu = Load(TAILOR_DEVICE_CPU);
  EXPECT_EQ(status_, "OK");
  tailor_session_options options;
  tailor_session_options_init(&options);
  options.stream = &options;
  tailor_session* session = nullptr;
  EXPECT_EQ(Text(tailor_session_create(on_cpu.get(), &options, &session)),
            "3: options.stream is set, but the executable runs on the CPU");
}

}  // namespace
}  // namespace tailor

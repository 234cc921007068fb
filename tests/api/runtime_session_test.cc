#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "tests/api/runtime_fixture.h"

namespace tailor {
namespace {

tailor_session_options Options() {
  tailor_session_options options;
  tailor_session_options_init(&options);
  return options;
}

TEST(Session, RunsTheSampleAtManyShapes) {
  const ExecutableHandle executable = LoadSample();
  const SessionHandle session = MakeSession(executable.get());
  for (int64_t rows : {5, 0, 1, 16, 17, 1000, 3}) {
    SampleCall call(rows);
    EXPECT_EQ(call.Run(session.get()), "OK");
    call.ExpectResults();
  }
}

TEST(Session, RunsOnThreads) {
  const ExecutableHandle executable = LoadSample();
  for (const int32_t idle_sleep : {0, 1}) {
    tailor_session_options options = Options();
    options.threads = 4;
    options.idle_sleep = idle_sleep;
    const SessionHandle session = MakeSession(executable.get(), &options);
    for (int64_t rows : {1000, 1, 777}) {
      SampleCall call(rows);
      EXPECT_EQ(call.Run(session.get()), "OK");
      call.ExpectResults();
    }
  }
}

TEST(Session, RunsOnTheHostsThreads) {
  struct Host {
    std::atomic<size_t> most{0};
    static void For(void* user, void (*task)(void*, size_t), void* data, size_t count) {
      static_cast<Host*>(user)->most = count;
      std::vector<std::thread> threads;
      for (size_t i = 0; i < count; ++i) threads.emplace_back(task, data, i);
      for (std::thread& thread : threads) thread.join();
    }
  } host;
  const ExecutableHandle executable = LoadSample();
  tailor_session_options options = Options();
  options.threads = 3;
  options.parallel_for = Host::For;
  options.parallel_user = &host;
  const SessionHandle session = MakeSession(executable.get(), &options);
  SampleCall call(1000);
  EXPECT_EQ(call.Run(session.get()), "OK");
  call.ExpectResults();
  EXPECT_EQ(host.most, 3u);
}

// Results are the same in whatever order, on whatever threads, and whatever the executor gets wrong.
TEST(Session, BearsWithEveryExecutor) {
  using Task = void (*)(void*, size_t);
  constexpr tailor_parallel_for kExecutors[] = {
      [](void*, Task task, void* data, size_t count) {
        for (size_t i = 0; i < count; ++i) task(data, i);
      },
      [](void*, Task task, void* data, size_t count) {
        for (size_t i = count; i-- > 0;) task(data, i);
      },
      [](void*, Task task, void* data, size_t count) {  // at once, each twice, and one that there is not
        std::vector<std::thread> threads;
        for (size_t i = 0; i < 2 * count; ++i) threads.emplace_back(task, data, i / 2);
        task(data, count);
        for (std::thread& thread : threads) thread.join();
      },
      [](void*, Task task, void* data, size_t count) { task(data, count / 2); },
      [](void*, Task, void*, size_t) {},
  };
  const ExecutableHandle executable = LoadSample();
  for (const tailor_parallel_for executor : kExecutors) {
    tailor_session_options options = Options();
    options.threads = 5;
    options.parallel_for = executor;
    const SessionHandle session = MakeSession(executable.get(), &options);
    for (int64_t rows : {1000, 3, 777}) {
      SampleCall call(rows);
      EXPECT_EQ(call.Run(session.get()), "OK");
      call.ExpectResults();
    }
  }
}

// A pool's own threads may run sessions whose kernels go to the same pool.
TEST(Session, RunsWithinItsExecutor) {
  struct Host {
    const tailor_executable* executable;
    int depth = 0, runs = 0;
    static void For(void* user, void (*task)(void*, size_t), void* data, size_t count) {
      auto& host = *static_cast<Host*>(user);
      if (host.depth++ < 2) {
        tailor_session_options options = Options();
        options.threads = 2;
        options.parallel_for = For;
        options.parallel_user = user;
        const SessionHandle inner = MakeSession(host.executable, &options);
        SampleCall call(500);
        EXPECT_EQ(call.Run(inner.get()), "OK");
        call.ExpectResults();
        ++host.runs;
      }
      --host.depth;
      for (size_t i = 0; i < count; ++i) task(data, i);
    }
  };
  const ExecutableHandle executable = LoadSample();
  Host host{executable.get()};
  tailor_session_options options = Options();
  options.threads = 2;
  options.parallel_for = Host::For;
  options.parallel_user = &host;
  const SessionHandle session = MakeSession(executable.get(), &options);
  SampleCall call(1000);
  EXPECT_EQ(call.Run(session.get()), "OK");
  call.ExpectResults();
  EXPECT_GT(host.runs, 1);
}

TEST(Session, GoesOnInAForkedChild) {
  const ExecutableHandle executable = LoadSample();
  tailor_session_options options = Options();
  options.threads = 2;
  SessionHandle session = MakeSession(executable.get(), &options);
  SampleCall before(1000);
  ASSERT_EQ(before.Run(session.get()), "OK");
  const pid_t child = fork();
  if (child == 0) {
    SampleCall call(1000), fresh(500);
    bool ok = call.Run(session.get()) == "OK" && call.total == call.want_total;
    const SessionHandle own = MakeSession(executable.get(), &options);
    ok = ok && fresh.Run(own.get()) == "OK" && fresh.y == fresh.want_y;
    session.reset();
    _exit(ok ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Session, ProvidesOutputsUntilItsNextRun) {
  const ExecutableHandle executable = LoadSample();
  const SessionHandle session = MakeSession(executable.get());
  for (int64_t rows : {9, 4, 0}) {
    SampleCall call(rows);
    for (tailor_tensor& output : call.outputs) tailor_tensor_init(&output);
    ASSERT_EQ(call.Run(session.get()), "OK");
    ASSERT_NE(call.outputs[1].data, nullptr);
    EXPECT_EQ(call.outputs[0].rank, 2);
    EXPECT_EQ(call.outputs[0].dims[0], rows);
    EXPECT_EQ(call.outputs[0].data_bytes, static_cast<uint64_t>(rows) * 16);
    const auto* total = static_cast<const float*>(call.outputs[1].data);
    EXPECT_EQ(std::vector<float>(total, total + rows), call.want_total);
  }
}

TEST(Session, ErrorsNameTheInput) {
  const ExecutableHandle executable = LoadSample();
  const SessionHandle session = MakeSession(executable.get());
  SampleCall call(5);
  call.inputs[0].dtype = TAILOR_I64;
  EXPECT_EQ(call.Run(session.get()), "3: input \"x\": dtype is i64, expected f32");
  call.inputs[0].dtype = TAILOR_F32;
  call.inputs[1].dims[0] = 4;
  EXPECT_EQ(call.Run(session.get()), "3: input \"mask\" dim 0 is 4, but N is 5 from input \"x\" dim 0");
  tailor_status* status = tailor_session_run(session.get(), call.inputs.data(), 2, call.outputs.data(), 2);
  EXPECT_STREQ(tailor_status_node(status), "masked");
  tailor_status_release(status);
}

TEST(Session, ADimOutOfItsRangeIsNamed) {
  const ExecutableHandle executable = LoadSample();
  const SessionHandle session = MakeSession(executable.get());
  const int64_t rows = (1 << 20) + 1;
  std::vector<tailor_tensor> inputs = {TensorOf(nullptr, 0, TAILOR_F32, {rows, 4}),
                                       TensorOf(nullptr, 0, TAILOR_F32, {rows})};
  EXPECT_EQ(Text(tailor_session_reserve(session.get(), inputs.data(), 2)),
            "3: N is 1048577, above its largest value 1048576");
}

TEST(Session, StridedInputsAreCopiedWhereAllowed) {
  const ExecutableHandle executable = LoadSample();
  tailor_session_options options = Options();
  options.copy_strided = 1;
  const SessionHandle copying = MakeSession(executable.get(), &options), plain = MakeSession(executable.get());
  SampleCall call(4), transposed(4);
  const int64_t strides[] = {1, 4};
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) transposed.x[i + 4 * j] = call.x[4 * i + j];
  }
  transposed.inputs[0].strides = strides;
  EXPECT_EQ(transposed.Run(plain.get()),
            "3: input \"x\": it is strided, but must be dense row-major (or set copy_strided)");
  EXPECT_EQ(transposed.Run(copying.get()), "OK");
  EXPECT_EQ(transposed.y, call.want_y);
}

// A tensor of a caller built against a later header.
struct LaterTensor {
  tailor_tensor known;
  uint64_t later[3];
};

TEST(Session, ArraysHaveTheStrideOfTheirFirstElement) {
  const ExecutableHandle executable = LoadSample();
  const SessionHandle session = MakeSession(executable.get());
  SampleCall call(6);
  LaterTensor inputs[2] = {}, outputs[2] = {};
  for (int i = 0; i < 2; ++i) {
    inputs[i].known = call.inputs[i];
    outputs[i].known = call.outputs[i];
    inputs[i].known.struct_size = outputs[i].known.struct_size = sizeof(LaterTensor);
  }
  EXPECT_EQ(Text(tailor_session_run(session.get(), &inputs[0].known, 2, &outputs[0].known, 2)), "OK");
  call.ExpectResults();
  for (uint64_t size : {uint64_t{0}, uint64_t{8}, sizeof(tailor_tensor) + 4, UINT64_MAX - 7}) {
    call.inputs[0].struct_size = size;
    EXPECT_EQ(call.Run(session.get()), "3: tailor_session_run: inputs has a wrong struct_size: use tailor_tensor_init");
  }
}

TEST(Session, NullArraysAreNamed) {
  const ExecutableHandle executable = LoadSample();
  const SessionHandle session = MakeSession(executable.get());
  SampleCall call(6);
  EXPECT_EQ(Text(tailor_session_run(session.get(), nullptr, 2, call.outputs.data(), 2)),
            "3: tailor_session_run: inputs is null");
  EXPECT_EQ(Text(tailor_session_run(session.get(), call.inputs.data(), 2, nullptr, 2)),
            "3: tailor_session_run: outputs is null");
  EXPECT_EQ(Text(tailor_session_run(session.get(), nullptr, 0, nullptr, 0)), "3: 0 inputs given, expected 2");
}

TEST(Session, BindsAndRunsAgain) {
  const ExecutableHandle executable = LoadSample();
  const SessionHandle session = MakeSession(executable.get());
  EXPECT_EQ(Text(tailor_session_run_bound(session.get())), "9: no buffers are bound: call tailor_session_bind");
  for (int64_t rows : {40, 2}) {
    SampleCall call(rows);
    ASSERT_EQ(call.Bind(session.get()), "OK");
    std::vector<tailor_tensor>().swap(call.inputs);  // the arrays were copied
    ASSERT_EQ(Text(tailor_session_run_bound(session.get())), "OK");
    call.ExpectResults();
  }
  SampleCall call(2);
  call.outputs[0].data = nullptr;
  EXPECT_EQ(call.Bind(session.get()), "3: output \"y\": data is null");
}

TEST(Executable, RunsFromManyThreadsAtOnce) {
  const ExecutableHandle executable = LoadSample();
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 20; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) {
        SampleCall call(1 + (13 * t + i) % 60, static_cast<float>(t));
        tailor_status* status = tailor_executable_run(executable.get(), call.inputs.data(), 2, call.outputs.data(), 2);
        if (status != nullptr || call.y != call.want_y || call.total != call.want_total) ++wrong;
        tailor_status_release(status);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Executable, NeedsTheCallersOutputs) {
  const ExecutableHandle executable = LoadSample();
  SampleCall call(3);
  call.outputs[1].data = nullptr;
  EXPECT_EQ(Text(tailor_executable_run(executable.get(), call.inputs.data(), 2, call.outputs.data(), 2)),
            "3: output \"total\": data is null");
}

TEST(Executable, PlansShapesAndMemory) {
  const ExecutableHandle executable = LoadSample();
  std::vector<tailor_tensor> inputs = {TensorOf(nullptr, 0, TAILOR_F32, {100, 4}),
                                       TensorOf(nullptr, 0, TAILOR_F32, {100})};
  std::vector<tailor_tensor> outputs(2);
  for (tailor_tensor& output : outputs) tailor_tensor_init(&output);
  tailor_plan_info info;
  tailor_plan_info_init(&info);
  for (uint64_t threads : {0, 1, 6}) {
    info.threads = threads;
    ASSERT_EQ(Text(tailor_executable_plan(executable.get(), inputs.data(), 2, outputs.data(), 2, &info)), "OK");
    EXPECT_EQ(info.workspace_bytes, 448 + std::max<uint64_t>(threads, 1) * kSampleScratchBytes);
  }
  EXPECT_EQ(info.kernels, 2u);
  EXPECT_EQ(info.versions, 2u);
  EXPECT_GT(info.code_bytes, 0u);
  EXPECT_EQ(outputs[0].rank, 2);
  EXPECT_EQ(outputs[0].dims[0], 100);
  EXPECT_EQ(outputs[1].dtype, TAILOR_F32);
  EXPECT_EQ(Text(tailor_executable_plan(executable.get(), inputs.data(), 2, outputs.data(), 2, nullptr)), "OK");
  inputs[1].dims[0] = 99;
  info.workspace_bytes = 1;
  EXPECT_EQ(Text(tailor_executable_plan(executable.get(), inputs.data(), 2, outputs.data(), 2, &info)),
            "3: input \"mask\" dim 0 is 99, but N is 100 from input \"x\" dim 0");
  EXPECT_EQ(info.workspace_bytes, 1u);
}

}  // namespace
}  // namespace tailor

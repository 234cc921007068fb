// Compiling in a process of its own: the same bytes and errors, and what only a process of its own can promise.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/api/compiler_fixture.h"

namespace tailor {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kBaseline = "x86-64-v2";

// A constant that the text leaves out, in the graph and in a region; one that it gives; symbols; several outputs.
constexpr char kRegions[] = R"(graph @regions(%x: f32[N, 32], %n: i64[]) where N in [1, 64] multiple_of 2 {
  %w = constant @w : f32[32, 40]
  %s = constant [1, 2, 3] : f32[3]
  %y = dot %x, %w
  %i0 = constant 0 : i64[]
  %i, %k, %c = while(%i0, %n, %x) {
    region(%i: i64[], %k: i64[], %c: f32[N, 32]) {
      %more = lt %i, %k
      return %more
    }
    region(%i: i64[], %k: i64[], %c: f32[N, 32]) {
      %w = constant @w : f32[32, 32]
      %one = constant 1 : i64[]
      %next = add %i, %one
      %d = dot %c, %w
      return %next, %k, %d
    }
  }
  return "y" = %y, "c" = %c, "s" = %s
})";

class IsolatedCompile : public CompilerTest {
 protected:
  void SetUp() override {
    CompilerTest::SetUp();
    tailor_value y = 0;
    ASSERT_EQ(Text(tailor_graph_neg(graph, x, &y)), "OK");
    ASSERT_EQ(Text(tailor_graph_output(graph, "y", 1, y)), "OK");
    tailor_compile_options_init(&options);
    options.targets = &kBaseline;
    options.target_count = 1;
    options.isolated = 1;
  }
  void TearDown() override {
    for (const std::string& file : files) std::filesystem::remove(file);
    CompilerTest::TearDown();
  }

  std::string Compile(std::string* bytes) {
    auto take = [](void* user, const void* data, size_t size) {
      static_cast<std::string*>(user)->assign(static_cast<const char*>(data), size);
    };
    return Text(tailor_graph_compile_artifact(graph, &options, take, bytes));
  }

  void Parse(const std::string& text) {
    tailor_parse_options parse;
    tailor_parse_options_init(&parse);
    parse.constant = [](void*, const char*, size_t, int32_t, const int64_t*, size_t, void* data, size_t size) {
      static int seed = 0;
      for (size_t i = 0; i < size / sizeof(float); ++i) static_cast<float*>(data)[i] = static_cast<float>(++seed % 17);
      return int32_t{0};
    };
    tailor_graph_release(graph);
    graph = nullptr;
    ASSERT_EQ(Text(tailor_graph_parse_with(text.data(), text.size(), &parse, &graph)), "OK");
  }

  // An executable file of the given shell commands, in the worker's place.
  void SetWorker(const std::string& commands) {
    files.push_back(testing::TempDir() + "/tailor_worker_" + std::to_string(getpid()) + ".sh");
    std::ofstream(files.back()) << "#!/bin/sh\n" << commands << "\n";
    chmod(files.back().c_str(), 0755);
    options.worker = files.back().c_str();
  }

  tailor_compile_options options;
  std::vector<std::string> files;
};

TEST_F(IsolatedCompile, GivesTheSameBytes) {
  Parse(kRegions);
  for (const std::vector<const char*>& targets : {std::vector<const char*>{}, {kBaseline}, {"host", "sm_80"}}) {
    options.targets = targets.data();
    options.target_count = targets.size();
    std::string isolated, here;
    options.isolated = 1;
    ASSERT_EQ(Compile(&isolated), "OK");
    options.isolated = 0;
    ASSERT_EQ(Compile(&here), "OK");
    EXPECT_GT(here.size(), 10000u);
    EXPECT_EQ(isolated, here);
  }
}

TEST_F(IsolatedCompile, OptionsReachTheWorker) {
  Parse(kRegions);
  const std::vector<uint8_t> key(64, 7);
  const char* donated = "x";
  options.secret_key = key.data();
  options.donated = &donated;
  options.donated_count = 1;
  options.max_versions = 1;
  options.offer_products = 1;
  options.direct_convolutions = 1;
  options.allow_tf32 = 1;
  options.optimize = 0;
  options.denormals = TAILOR_DENORMALS_FLUSH;
  const char* pass = "stitch";
  options.without = &pass;
  options.without_count = 1;
  const std::string profile = "tile 2x1 1 2 3\n";
  options.cost_profile = profile.data();
  options.cost_profile_size = profile.size();
  options.threads = 1;
  std::string isolated, here;
  ASSERT_EQ(Compile(&isolated), "OK");
  options.isolated = 0;
  ASSERT_EQ(Compile(&here), "OK");
  EXPECT_EQ(isolated, here);
  for (const char* option : {"max_versions=1", "donated=x", "offer_products", "direct_convolutions", "allow_tf32",
                             "optimize=0", "without=stitch", " cost_profile", "denormals=flush"}) {
    EXPECT_THAT(here, HasSubstr(option));
  }
}

TEST_F(IsolatedCompile, LoadsWhatItCompiles) {
  tailor_executable* executable = nullptr;
  ASSERT_EQ(Text(tailor_graph_compile(graph, nullptr, &options, &executable)), "OK");
  EXPECT_EQ(tailor_executable_input_count(executable), 2u);
  tailor_executable_release(executable);
}

TEST_F(IsolatedCompile, ErrorsAreThoseOfCompiling) {
  Parse("graph @g(%x: f32[N*M]) {\n  %b = neg %x @\"the node\"\n  return %b\n}\n");
  std::string bytes;
  const std::string isolated = Compile(&bytes);
  options.isolated = 0;
  EXPECT_EQ(isolated, Compile(&bytes));
  EXPECT_THAT(isolated, AllOf(StartsWith("3: "), HasSubstr("N")));
  EXPECT_EQ(bytes, "");
}

TEST_F(IsolatedCompile, AProgressFunctionCancels) {
  options.progress = [](void* user, const char*, double) { return int32_t{++*static_cast<int*>(user) < 3}; };
  int calls = 0;
  options.progress_user = &calls;
  std::string bytes;
  EXPECT_THAT(Compile(&bytes), StartsWith("1: compilation was cancelled during "));
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(bytes, "");
}

// The worker sleeps, and would for an hour.
TEST_F(IsolatedCompile, ASilentWorkerIsCancelledToo) {
  SetWorker("exec sleep 3600");
  options.progress = [](void* user, const char*, double) { return int32_t{++*static_cast<int*>(user) < 3}; };
  int calls = 0;
  options.progress_user = &calls;
  std::string bytes;
  EXPECT_EQ(Compile(&bytes), "1: compilation was cancelled during start");
}

TEST_F(IsolatedCompile, ALimitHoldsExactly) {
  Parse(kRegions);
  std::string bytes;
  for (const uint64_t threads : {1, 4}) {
    options.threads = threads;
    int refused = 0;
    // Memory is out at many places, on every thread.
    for (uint64_t kilobytes = 64; kilobytes < (threads << 16); kilobytes = kilobytes * 5 / 4) {
      options.memory_limit = kilobytes << 10;
      const std::string text = Compile(&bytes);
      refused += text != "OK";
      if (text != "OK") EXPECT_THAT(text, StartsWith("8: ")) << kilobytes << " KiB";
    }
    EXPECT_GE(refused, 5);
    options.memory_limit = uint64_t{1} << 30;
    EXPECT_EQ(Compile(&bytes), "OK");
  }
}

TEST_F(IsolatedCompile, AWorkerThatDiesIsAnError) {
  std::string bytes;
  SetWorker("echo first; echo PLEASE submit a bug report >&2; kill -SEGV $$");
  EXPECT_EQ(Compile(&bytes), "13: isolated compilation: the worker died of signal 11: PLEASE submit a bug report");
  SetWorker("echo LLVM ERROR: out of memory >&2; kill -ABRT $$");
  EXPECT_EQ(Compile(&bytes), "8: isolated compilation: the worker died of signal 6: LLVM ERROR: out of memory");
  SetWorker("kill -KILL $$");  // as the system does where memory is out
  EXPECT_EQ(Compile(&bytes), "8: isolated compilation: the worker died of signal 9");
  SetWorker("exit 0");
  EXPECT_EQ(Compile(&bytes), "13: isolated compilation: the worker ended without a result");
  SetWorker("printf 'no message at all, but long enough for one' >&5");
  EXPECT_EQ(Compile(&bytes), "13: isolated compilation: the worker ended without a result");
}

TEST_F(IsolatedCompile, AWorkerThatIsNotThereIsAnError) {
  options.worker = "/nowhere/worker";
  std::string bytes;
  EXPECT_EQ(Compile(&bytes), "9: isolated compilation: the worker \"/nowhere/worker\": No such file or directory");
  options.worker = "/dev/null";
  EXPECT_EQ(Compile(&bytes), "9: isolated compilation: the worker \"/dev/null\": Permission denied");
}

// The host's files, at the numbers that the worker's have too, stay with the host.
TEST_F(IsolatedCompile, FilesOfTheHostStayWithIt) {
  int held[4];
  ASSERT_EQ(pipe(held), 0);
  ASSERT_EQ(pipe(held + 2), 0);
  std::string bytes;
  EXPECT_EQ(Compile(&bytes), "OK");
  ASSERT_EQ(write(held[1], "a", 1) + write(held[3], "b", 1), 2);
  char a = 0, b = 0;
  ASSERT_EQ(read(held[0], &a, 1) + read(held[2], &b, 1), 2);
  EXPECT_EQ(std::string({a, b}), "ab");
  for (int file : held) close(file);
}

TEST_F(IsolatedCompile, AHostMayIgnoreTheEndOfProcesses) {
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  std::string bytes;
  EXPECT_EQ(Compile(&bytes), "OK");
  SetWorker("kill -SEGV $$");
  EXPECT_THAT(Compile(&bytes), StartsWith("13: isolated compilation: the worker ended without a result"));
  std::signal(SIGCHLD, before);
}

TEST_F(IsolatedCompile, ThreadsCompileAtOnce) {
  std::string expected;
  ASSERT_EQ(Compile(&expected), "OK");
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      std::string bytes;
      right += Compile(&bytes) == "OK" && bytes == expected;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 4);
}

// ---- In this process ----

TEST_F(IsolatedCompile, ALimitIsKeptByAnEstimateHere) {
  options.isolated = 0;
  options.memory_limit = 1 << 20;
  const uint64_t modules = tailor_compiler_modules_emitted();
  std::string bytes;
  EXPECT_THAT(Compile(&bytes), AllOf(StartsWith("8: "), HasSubstr("memory_limit of 1.0 MiB"), HasSubstr("MiB for ")));
  EXPECT_EQ(tailor_compiler_modules_emitted(), modules) << "LLVM began";
  options.memory_limit = uint64_t{4} << 30;
  EXPECT_EQ(Compile(&bytes), "OK");
}

}  // namespace
}  // namespace tailor

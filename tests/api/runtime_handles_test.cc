// Every function with null and with a handle of another kind: an error that names function and parameter.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <functional>
#include <string>
#include <type_traits>

#include "tests/api/runtime_fixture.h"

namespace tailor {
namespace {

struct Handles {
  tailor_runtime* runtime;
  tailor_executable* executable;
  tailor_session* session;
};

struct Call {
  const char* name;
  const char* handle;  // the parameter that `call` takes from the struct
  std::function<tailor_status*(const Handles&)> call;
};

std::vector<Call> Calls() {
  static tailor_tensor_info tensor_info = {sizeof(tensor_info), nullptr, 0, 0, {}, {}, 0, -1};
  static tailor_symbol_info symbol_info = {sizeof(symbol_info), nullptr, 0, 0, 0};
  static tailor_launch_info launch_info = {sizeof(launch_info), nullptr, 0, 0, 0, 0};
  static const char* json = nullptr;
  static size_t size = 0;
  static tailor_session* session = nullptr;
  return {
      {"tailor_executable_save", "executable",
       [](const Handles& h) { return tailor_executable_save(h.executable, "/tmp/x", 6); }},
      {"tailor_executable_save_memory", "executable",
       [](const Handles& h) { return tailor_executable_save_memory(h.executable, nullptr, 0, &size); }},
      {"tailor_executable_input", "executable",
       [](const Handles& h) { return tailor_executable_input(h.executable, 0, &tensor_info); }},
      {"tailor_executable_output", "executable",
       [](const Handles& h) { return tailor_executable_output(h.executable, 0, &tensor_info); }},
      {"tailor_executable_symbol", "executable",
       [](const Handles& h) { return tailor_executable_symbol(h.executable, 0, &symbol_info); }},
      {"tailor_executable_launch", "executable",
       [](const Handles& h) { return tailor_executable_launch(h.executable, 0, &launch_info); }},
      {"tailor_executable_describe", "executable",
       [](const Handles& h) { return tailor_executable_describe(h.executable, &json); }},
      {"tailor_session_create", "executable",
       [](const Handles& h) { return tailor_session_create(h.executable, nullptr, &session); }},
      {"tailor_executable_run", "executable",
       [](const Handles& h) { return tailor_executable_run(h.executable, nullptr, 0, nullptr, 0); }},
      {"tailor_executable_plan", "executable",
       [](const Handles& h) { return tailor_executable_plan(h.executable, nullptr, 0, nullptr, 0, nullptr); }},
      {"tailor_session_run", "session",
       [](const Handles& h) { return tailor_session_run(h.session, nullptr, 0, nullptr, 0); }},
      {"tailor_session_bind", "session",
       [](const Handles& h) { return tailor_session_bind(h.session, nullptr, 0, nullptr, 0); }},
      {"tailor_session_run_bound", "session", [](const Handles& h) { return tailor_session_run_bound(h.session); }},
      {"tailor_session_reserve", "session",
       [](const Handles& h) { return tailor_session_reserve(h.session, nullptr, 0); }},
  };
}

TEST(Handles, NullIsNamed) {
  for (const Call& call : Calls()) {
    EXPECT_EQ(Text(call.call({})), std::string("3: ") + call.name + ": " + call.handle + " is null");
  }
}

TEST(Handles, AnotherKindIsNamed) {
  const ExecutableHandle executable = LoadSample();
  const SessionHandle session = MakeSession(executable.get());
  const Handles swapped = {reinterpret_cast<tailor_runtime*>(session.get()),
                           reinterpret_cast<tailor_executable*>(session.get()),
                           reinterpret_cast<tailor_session*>(executable.get())};
  for (const Call& call : Calls()) {
    EXPECT_EQ(Text(call.call(swapped)),
              std::string("3: ") + call.name + ": " + call.handle + " is a handle of another kind");
  }
  tailor_executable* out = nullptr;
  EXPECT_EQ(Text(tailor_executable_load(swapped.runtime, "x", 1, nullptr, &out)),
            "3: tailor_executable_load: runtime is a handle of another kind");
  EXPECT_EQ(Text(tailor_executable_load_memory(swapped.runtime, "x", 1, nullptr, nullptr, nullptr, &out)),
            "3: tailor_executable_load_memory: runtime is a handle of another kind");
  EXPECT_EQ(tailor_executable_input_count(swapped.executable), 0u);
  EXPECT_EQ(tailor_executable_output_count(swapped.executable), 0u);
  EXPECT_EQ(tailor_executable_symbol_count(swapped.executable), 0u);
}

TEST(Handles, ReleasingNullOrAnotherKindDoesNothing) {
  const ExecutableHandle executable = LoadSample();
  tailor_executable_release(nullptr);
  tailor_session_release(nullptr);
  tailor_runtime_release(nullptr);
  tailor_executable_retain(nullptr);
  tailor_session_release(reinterpret_cast<tailor_session*>(executable.get()));
  tailor_runtime_release(reinterpret_cast<tailor_runtime*>(executable.get()));
  EXPECT_EQ(tailor_executable_input_count(executable.get()), 2u);
}

TEST(Handles, NullOutParametersAreNamed) {
  const ExecutableHandle executable = LoadSample();
  const tailor_executable* e = executable.get();
  EXPECT_EQ(Text(tailor_runtime_create(nullptr, nullptr)), "3: tailor_runtime_create: out is null");
  EXPECT_EQ(Text(tailor_executable_load(nullptr, "x", 1, nullptr, nullptr)), "3: tailor_executable_load: out is null");
  tailor_executable* out = nullptr;
  EXPECT_EQ(Text(tailor_executable_load(nullptr, nullptr, 1, nullptr, &out)),
            "3: tailor_executable_load: path is null");
  EXPECT_EQ(Text(tailor_executable_load_memory(nullptr, nullptr, 1, nullptr, nullptr, nullptr, &out)),
            "3: tailor_executable_load_memory: data is null");
  EXPECT_EQ(Text(tailor_executable_save(e, nullptr, 0)), "3: tailor_executable_save: path is null");
  EXPECT_EQ(Text(tailor_executable_save_memory(e, nullptr, 0, nullptr)),
            "3: tailor_executable_save_memory: size is null");
  EXPECT_EQ(Text(tailor_executable_input(e, 0, nullptr)), "3: tailor_executable_input: out is null");
  EXPECT_EQ(Text(tailor_executable_output(e, 0, nullptr)), "3: tailor_executable_output: out is null");
  EXPECT_EQ(Text(tailor_executable_symbol(e, 0, nullptr)), "3: tailor_executable_symbol: out is null");
  EXPECT_EQ(Text(tailor_executable_describe(e, nullptr)), "3: tailor_executable_describe: json is null");
  EXPECT_EQ(Text(tailor_session_create(e, nullptr, nullptr)), "3: tailor_session_create: out is null");
}

// A later library must not write past the struct of a caller built against an earlier header: filling it is the
// caller's own code, and reading it stops at struct_size.
TEST(Handles, StructOfAnEarlierHeaderIsReadAsFarAsItGoes) {
  alignas(8) unsigned char earlier[offsetof(tailor_session_options, trace)];
  tailor_session_options now;
  tailor_session_options_init(&now);
  now.threads = 2;
  now.struct_size = sizeof(earlier);
  std::memcpy(earlier, &now, sizeof(earlier));
  const ExecutableHandle executable = LoadSample();
  tailor_session* session = nullptr;
  ASSERT_EQ(Text(tailor_session_create(executable.get(), reinterpret_cast<tailor_session_options*>(earlier), &session)),
            "OK");
  SampleCall call(40);
  EXPECT_EQ(call.Run(session), "OK");
  call.ExpectResults();
  tailor_session_release(session);
}

// Padding would be a field of a later header, holding whatever the caller's stack held.
template <typename... Structs>
constexpr bool kWithoutPadding = (std::has_unique_object_representations_v<Structs> && ...);
static_assert(kWithoutPadding<tailor_tensor, tailor_runtime_options, tailor_load_options, tailor_session_options,
                              tailor_device_info, tailor_tensor_info, tailor_symbol_info, tailor_launch_info,
                              tailor_plan_info, tailor_counters>);

TEST(Handles, CountersIntoNothing) { tailor_counters_read(nullptr); }

// A struct of a caller built against a later header: ours, and more.
struct LaterOptions {
  tailor_session_options known;
  uint64_t later = 0;
};

TEST(Handles, OptionStructsMayBeShorterAndLonger) {
  const ExecutableHandle executable = LoadSample();
  LaterOptions options;
  tailor_session_options_init(&options.known);
  options.known.struct_size = sizeof(options);
  MakeSession(executable.get(), &options.known);
  tailor_session* session = nullptr;
  options.later = 1;
  EXPECT_EQ(Text(tailor_session_create(executable.get(), &options.known, &session)),
            "3: tailor_session_create: options sets a field that this library does not know");
  tailor_session_options shorter;
  std::memset(&shorter, 0xff, sizeof(shorter));
  shorter.struct_size = 16;
  shorter.threads = 1;
  MakeSession(executable.get(), &shorter);
  for (uint64_t size : {uint64_t{0}, uint64_t{7}, UINT64_MAX}) {
    shorter.struct_size = size;
    EXPECT_EQ(Text(tailor_session_create(executable.get(), &shorter, &session)),
              "3: tailor_session_create: options has a wrong struct_size: use its _init function");
  }
  EXPECT_EQ(session, nullptr);
}

// A tensor of a caller built against a later header.
struct LongerTensor {
  tailor_tensor known;
  uint64_t later = 0;
};

TEST(Handles, TensorsMayBeLonger) {
  const ExecutableHandle executable = LoadSample();
  SampleCall call(3);
  LongerTensor inputs[] = {{call.inputs[0]}, {call.inputs[1]}}, outputs[] = {{call.outputs[0]}, {call.outputs[1]}};
  inputs[0].known.struct_size = outputs[0].known.struct_size = sizeof(LongerTensor);
  const auto run = [&] {
    return Text(tailor_executable_run(executable.get(), &inputs[0].known, 2, &outputs[0].known, 2));
  };
  EXPECT_EQ(run(), "OK");
  call.ExpectResults();
  inputs[1].later = 1;
  EXPECT_EQ(run(), "3: tailor_executable_run: inputs sets a field that this library does not know");
}

}  // namespace
}  // namespace tailor

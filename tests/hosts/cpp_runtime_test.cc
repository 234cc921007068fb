// tailor/runtime.hpp on the artifact of c99_test (TAILOR_TEST_ARTIFACT): y = x * [1, 2, 3, 4] + 0.5 and its row sums, x
// f32 [B, 4] with B in [1, 64]. Links libtailor_runtime.so alone.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tailor/runtime.hpp"
#include "tests/hosts/cpp_expect.hpp"

namespace {

using tailor::Code;
using tailor::DType;
using tailor::Executable;
using tailor::Outputs;
using tailor::Result;
using tailor::Session;
using tailor::Shape;
using tailor::Span;
using tailor::Tensor;
using tailor::view;

std::string ArtifactPath() {
  const char* path = std::getenv("TAILOR_TEST_ARTIFACT");
  return path == nullptr ? "" : path;
}

Executable Load() { return Executable::load(ArtifactPath()).value(); }

std::vector<std::uint8_t> ArtifactBytes() {
  std::ifstream file(ArtifactPath(), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

const std::vector<float> kOnes(12, 1.0f);
const std::vector<float> kRow = {1.5, 2.5, 3.5, 4.5};

template <typename T>
std::vector<T> ToVector(Span<const T> span) {
  return {span.begin(), span.end()};
}

std::vector<float> Rows(int count) {
  std::vector<float> out;
  for (int i = 0; i < count; ++i) out.insert(out.end(), kRow.begin(), kRow.end());
  return out;
}

TEST(CppRuntime, RunsIntoMemoryOfTheSession) {
  Session session = Load().session().value();
  for (std::int64_t rows : {3, 1, 2}) {
    Outputs outputs = session.run({view(Span<const float>(kOnes.data(), 4 * rows), {rows, 4})}).value();
    ASSERT_EQ(outputs.size(), 2u);
    EXPECT_EQ(*outputs.shape(0), (Shape{rows, 4}));
    EXPECT_EQ(*outputs.dtype(0), DType::kF32);
    EXPECT_EQ(*outputs.copy<float>(0), Rows(static_cast<int>(rows)));
    EXPECT_EQ(ToVector(*outputs.get<float>("total")), std::vector<float>(rows, 12.0f));
  }
}

TEST(CppRuntime, RunsIntoMemoryOfTheCaller) {
  Executable executable = Load();
  Session session = executable.session().value();
  std::array<float, 12> y;
  float total[3];
  session.run_into({view(kOnes, {3, 4})}, {view(y, {3, 4}), view(total)}).value();
  EXPECT_EQ(std::vector<float>(y.begin(), y.end()), Rows(3));
  EXPECT_EQ(total[2], 12.0f);
  y = {};
  executable.run({view(kOnes, {3, 4})}, {view(y, {3, 4}), view(total)}).value();
  EXPECT_EQ(std::vector<float>(y.begin(), y.end()), Rows(3));

  std::vector<tailor::TensorView> open = {view(y, {-1, -1}), view(total, {-1})};
  session.run_into({view(Span<const float>(kOnes.data(), 8), {2, 4})}, Span<tailor::TensorView>(open)).value();
  EXPECT_EQ(open[0].shape(), (Shape{2, 4}));
  EXPECT_EQ(open[1].shape(), Shape{2});
}

TEST(CppRuntime, RunsWithBoundMemory) {
  Session session = Load().session().value();
  std::vector<float> x = kOnes, y(12), total(3);
  EXPECT_EQ(session.run_bound().error().code(), Code::kFailedPrecondition);
  session.reserve({Shape{3, 4}}).value();
  session.bind({view(x, {3, 4})}, {view(y, {3, 4}), view(total)}).value();
  session.run_bound().value();
  EXPECT_EQ(y, Rows(3));
  x[0] = 3;
  session.run_bound().value();
  EXPECT_EQ(y[0], 3.5f);
}

TEST(CppRuntime, OutputsEndWithTheNextRunAndKeepTheSession) {
  Result<Outputs> kept = [] {
    Session session = Load().session().value();
    Outputs first = session.run({view(kOnes, {3, 4})}).value();
    Outputs second = session.run({view(kOnes, {3, 4})}).value();
    const auto stale = [&](Outputs& outputs) {
      tailor::Error error = outputs.get<float>(0).error();
      EXPECT_EQ(error.code(), Code::kFailedPrecondition) << error.what();
      EXPECT_EQ(error.message(), "output 0 \"y\" is of an earlier run: the session has run again");
      EXPECT_FALSE(outputs.shape(0));
      EXPECT_FALSE(outputs.take(0));
    };
    stale(first);
    EXPECT_FALSE(session.run({}));  // refused, but it is a run
    stale(second);
    return session.run({view(kOnes, {3, 4})});
  }();
  EXPECT_EQ(*kept->copy<float>(0), Rows(3));  // the session has ended
}

TEST(CppRuntime, OutputsCanBeTaken) {
  Tensor taken;
  {
    Session session = Load().session().value();
    Outputs outputs = session.run({view(kOnes, {3, 4})}).value();
    taken = outputs.take(0).value();
    ExpectError(outputs.get<float>(0), Code::kFailedPrecondition, "was taken already");
    ExpectError(outputs.take(0), Code::kFailedPrecondition, "was taken already");
    EXPECT_EQ((*outputs.get<float>(1))[0], 12.0f);
    EXPECT_TRUE(session.run({view(kOnes, {3, 4})}));  // in other memory
  }
  EXPECT_EQ(ToVector(*taken.elements<const float>()), Rows(3));
  EXPECT_EQ(taken.shape(), (Shape{3, 4}));
  Tensor moved = std::move(taken);
  ExpectInvalid(taken.elements<float>(), "no memory");
  EXPECT_EQ((*moved.elements<float>())[1], 2.5f);
}

TEST(CppRuntime, OutputsAreInputsOfTheNextRun) {
  Session session = Load().session().value();
  Outputs outputs = session.run({view(kOnes, {3, 4})}).value();
  for (int run = 0; run < 4; ++run) {
    const Span<const float> x = outputs.get<float>(0).value();
    const std::vector<float> kept(x.begin(), x.end());
    outputs = session.run({view(x, {3, 4})}).value();
    EXPECT_EQ(std::vector<float>(x.begin(), x.end()), kept);
    const Span<const float> y = outputs.get<float>(0).value();
    for (size_t i = 0; i < kept.size(); ++i) EXPECT_EQ(y[i], kept[i] * static_cast<float>(i % 4 + 1) + 0.5f);
  }
}

TEST(CppRuntime, ExchangesDLPackTensors) {
  Executable executable = Load();
  Session session = executable.session().value();
  Outputs outputs = session.run({view(kOnes, {3, 4})}).value();
  DLManagedTensor* y = outputs.take_dlpack(0).value();
  tailor::ConstTensorView input = executable.from_dlpack(y).value();
  EXPECT_EQ(input.shape(), (Shape{3, 4}));
  Outputs again = session.run({input}).value();
  EXPECT_EQ((*again.get<float>(0))[3], 4.5f * 4 + 0.5f);
  auto* managed = reinterpret_cast<tailor::detail::ManagedTensor*>(y);
  managed->deleter(managed);
  ExpectInvalid(executable.from_dlpack(nullptr), "tensor");
}

TEST(CppRuntime, DescribesAndPlans) {
  Executable executable = Load();
  std::vector<tailor::TensorInfo> inputs = executable.inputs().value(), outputs = executable.outputs().value();
  ASSERT_EQ(inputs.size(), 1u);
  EXPECT_EQ(inputs[0].name, "x");
  EXPECT_EQ(inputs[0].dtype, DType::kF32);
  EXPECT_EQ(inputs[0].dims, (std::vector<std::string>{"B", "4"}));
  EXPECT_EQ(inputs[0].extents, (std::vector<std::int64_t>{-1, 4}));
  EXPECT_EQ(outputs[1].name, "total");
  EXPECT_EQ(executable.symbols()->at(0).max, 64);
  EXPECT_FALSE(executable.launches()->empty());
  EXPECT_EQ(executable.describe()->front(), '{');
  EXPECT_EQ(tailor::describe_artifact(ArtifactPath())->front(), '{');
  tailor::Plan plan = executable.plan({Shape{3, 4}}).value();
  EXPECT_EQ(plan.outputs[0], (Shape{3, 4}));
  EXPECT_GT(plan.kernels, 0u);
  EXPECT_FALSE(plan.data_dependent);
  ExpectInvalid(executable.plan({Shape{65, 4}}), "x");
}

TEST(CppRuntime, LoadsBytesAndSaves) {
  std::vector<std::uint8_t> bytes = ArtifactBytes();
  ASSERT_FALSE(bytes.empty());
  for (Executable executable : {Executable::load_bytes(bytes).value(), Executable::load_owned(bytes).value()}) {
    std::vector<float> y(4), total(1);
    executable.run({view(Span<const float>(kOnes.data(), 4), {1, 4})}, {view(y, {1, 4}), view(total)}).value();
    EXPECT_EQ(y, kRow);
  }
  const std::string copy = ArtifactPath() + ".cpp_copy" + std::to_string(getpid());  // the test runs twice at a time
  Executable::load_bytes(bytes)->save(copy).value();
  std::ifstream file(copy, std::ios::binary);
  EXPECT_EQ(std::vector<std::uint8_t>(std::istreambuf_iterator<char>(file), {}), bytes);
  std::remove(copy.c_str());
  EXPECT_EQ(Load().save_bytes().value(), bytes);
}

TEST(CppRuntime, MessagesNameTheFile) {
  std::string log;
  tailor::RuntimeOptions options;
  options.log = [&log](tailor::LogLevel, std::string_view message) { log += std::string(message) + "\n"; };
  tailor::Runtime runtime = tailor::Runtime::create(options).value();
  tailor::LoadOptions load;
  load.runtime = &runtime;
  ASSERT_TRUE(Executable::load(ArtifactPath(), load));
  EXPECT_EQ(log.rfind(ArtifactPath() + ": variant", 0), 0u) << log;
  log.clear();
  ASSERT_TRUE(Executable::load_bytes(ArtifactBytes(), load));
  EXPECT_EQ(log.rfind("graph \"", 0), 0u) << log;
}

TEST(CppRuntime, LoadOptionsAreChecked) {
  EXPECT_EQ(Executable::load("/nowhere.tlr").error().code(), Code::kNotFound);
  ExpectInvalid(Executable::load(std::string("a\0b", 3)), "path");
  std::vector<std::uint8_t> bytes = ArtifactBytes();
  bytes[bytes.size() / 2] ^= 1;
  tailor::LoadOptions options;
  options.verify_constants = options.copy_constants = true;
  EXPECT_EQ(Executable::load_bytes(bytes, options).error().code(), Code::kDataLoss);
  EXPECT_FALSE(Executable::load_owned({1, 2, 3}));
  options.target = "z80";
  ExpectError(Executable::load(ArtifactPath(), options), Code::kNotFound, "z80");
  options.target = std::string("x\0y", 3);
  ExpectInvalid(Executable::load(ArtifactPath(), options), "NUL");
  options.target = "";
  options.public_key = {1, 2, 3};
  ExpectInvalid(Executable::load(ArtifactPath(), options), "public_key has 3 bytes, not 32");
  options.public_key.resize(32);
  EXPECT_EQ(Executable::load(ArtifactPath(), options).error().code(), Code::kFailedPrecondition);
  options = {};
  options.device = tailor::Device::cuda(99);
  EXPECT_EQ(Executable::load(ArtifactPath(), options).error().code(), Code::kFailedPrecondition);
}

TEST(CppRuntime, ViewsThatDoNotFitAreErrors) {
  Executable executable = Load();
  Session session = executable.session().value();
  std::vector<float> y(12), total(3);
  const std::vector<std::int32_t> integers(12);
  ExpectInvalid(session.run({}), "0 inputs given");
  ExpectInvalid(session.run({tailor::ConstTensorView()}), "input 0: it is an empty view");
  ExpectInvalid(session.run({view(kOnes, {4, 4})}), "input 0: it has 12 elements, but its shape [4, 4] has 16");
  ExpectInvalid(session.run({view(kOnes, {3, 5})}), "shape [3, 5] has 15");
  ExpectInvalid(session.run({view(kOnes, {1, 1, 1, 1, 1, 1, 1, 1, 12})}), "9 dims, more than 8");
  ExpectInvalid(session.run({view(kOnes, {-3, -4})}), "negative");
  ExpectInvalid(session.run({view(kOnes, {INT64_MAX, INT64_MAX})}), "63 bits");
  ExpectInvalid(session.run({view(kOnes)}), "rank is 1, expected 2");
  ExpectInvalid(session.run({view(integers, {3, 4})}), "dtype is i32, expected f32");
  ExpectInvalid(session.run({view(std::as_const(y), {12, 1})}), "x");
  ExpectInvalid(session.run({tailor::ConstTensorView(y.data(), 48, static_cast<DType>(99), {3, 4})}), "dtype 99");
  ExpectInvalid(session.run({tailor::ConstTensorView(reinterpret_cast<char*>(y.data()) + 1, 16, DType::kF32, {1, 4})}),
                "aligned");
  ExpectInvalid(session.run_into({view(kOnes, {3, 4})}, {view(y, {3, 4})}), "1 outputs given");
  ExpectInvalid(session.run_into({view(kOnes, {3, 4})}, {view(y, {4, 3}), view(total)}), "y");
  ExpectInvalid(session.run_into({view(kOnes, {3, 4})}, {view(y, {3, 4}), view(y, {12})}), "total");
  ExpectInvalid(executable.run({view(kOnes, {3, 4})}, {tailor::TensorView(), view(total)}),
                "output 0: it is an empty view");
  Outputs outputs = session.run({view(kOnes, {3, 4})}).value();
  ExpectInvalid(outputs.get<std::int32_t>(0), "output 0 \"y\" is f32, not i32");
  ExpectError(outputs.get<float>(2), Code::kOutOfRange, "there is no output 2, only 2");
  ExpectError(outputs.get<float>("z"), Code::kNotFound, "\"z\"");
  ExpectInvalid(outputs.device_address(0), "host memory");
}

TEST(CppRuntime, StridedViewsStayInTheirMemory) {
  tailor::SessionOptions options;
  options.copy_strided = true;
  Executable executable = Load();
  Session session = executable.session(options).value();
  std::vector<float> x(24);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  using tailor::ConstTensorView;
  const Span<const float> all(x);
  Outputs outputs = session.run({ConstTensorView::strided(all, {3, 4}, {-8, 2}, 16)}).value();
  EXPECT_EQ((*outputs.get<float>(0))[0], 16.5f);
  EXPECT_EQ((*outputs.get<float>(0))[5], 10 * 2 + 0.5f);
  ExpectInvalid(session.run({ConstTensorView::strided(all, {3, 4}, {-8, 2}, 15)}), "outside of the 24");
  ExpectInvalid(session.run({ConstTensorView::strided(all, {3, 4}, {8, 2}, 2)}), "outside of the 24");
  ExpectInvalid(session.run({ConstTensorView::strided(all, {3, 4}, {INT64_MAX, 2})}), "outside of the 24");
  ExpectInvalid(session.run({ConstTensorView::strided(all, {3, 4}, {8})}), "1 strides are given for 2 dims");
  ExpectInvalid(executable.session()->run({ConstTensorView::strided(all, {3, 4}, {8, 2})}), "copy_strided");
}

TEST(CppRuntime, HandlesThatWereMovedFromAreErrors) {
  Executable executable = Load();
  Session session = executable.session().value();
  Session other = std::move(session);
  ExpectInvalid(session.run({view(kOnes, {3, 4})}), "the session was moved from");
  ExpectInvalid(session.run_bound(), "moved from");
  ExpectInvalid(session.bind({}, {}), "moved from");
  ExpectInvalid(session.reserve({}), "moved from");
  ExpectInvalid(session.set_seed(1), "moved from");
  ExpectInvalid(session.wait(), "moved from");
  ExpectInvalid(session.trim(), "moved from");
  ExpectInvalid(session.cancel(), "session");
  ExpectInvalid(session.poll(), "moved from");
  EXPECT_EQ(session.stream(), nullptr);
  EXPECT_TRUE(other.run({view(kOnes, {3, 4})}));
  Outputs outputs = other.run({view(kOnes, {3, 4})}).value();
  Outputs moved = std::move(outputs);
  EXPECT_FALSE(outputs.get<float>(0));
  EXPECT_FALSE(outputs.take(0));
  EXPECT_FALSE(outputs.index_of("y"));
  Executable copy = executable;
  Executable gone = std::move(executable);
  EXPECT_FALSE(executable.session());
  EXPECT_FALSE(executable.inputs());
  EXPECT_FALSE(executable.describe());
  EXPECT_FALSE(executable.plan({}));
  EXPECT_FALSE(executable.save("/tmp/never"));
  EXPECT_FALSE(executable.trim());
  EXPECT_FALSE(executable.counters());
  EXPECT_FALSE(executable.run({}, {}));
  Executable empty_copy = executable;
  EXPECT_FALSE(empty_copy.session());
  EXPECT_TRUE(copy.session());
  tailor::Runtime runtime = tailor::Runtime::create().value();
  tailor::Runtime taken = std::move(runtime);
  EXPECT_FALSE(runtime.register_operator("f", [](const tailor::CustomCall&) { return Result<void>(); }));
  tailor::LoadOptions options;
  options.runtime = &runtime;
  ExpectInvalid(Executable::load(ArtifactPath(), options), "the runtime was moved from");
}

TEST(CppRuntime, ValueThrowsTheError) {
  EXPECT_THROW(Executable::load("/nowhere.tlr").value(), tailor::Error);
  try {
    *Executable::load("/nowhere.tlr");
  } catch (const std::exception& error) {
    EXPECT_EQ(std::string(error.what()).rfind("NOT_FOUND: ", 0), 0u) << error.what();
  }
  EXPECT_THROW(Shape({1})[1], tailor::Error);
}

TEST(CppRuntime, ResultsCompose) {
  const auto half = [](int x) -> Result<int> {
    if (x % 2 != 0) return tailor::Error(Code::kInvalidArgument, "odd", "node");
    return x / 2;
  };
  EXPECT_EQ(*half(8).and_then(half), 2);
  EXPECT_STREQ(half(6).and_then(half).error().what(), "INVALID_ARGUMENT: odd (node \"node\")");
  EXPECT_EQ(*half(8).transform([](int x) { return std::to_string(x); }), "4");
  EXPECT_EQ(half(3).value_or(7), 7);
  EXPECT_EQ(half(4).error().code(), Code::kFailedPrecondition);  // there is none
  EXPECT_EQ(Result<void>().and_then([&] { return half(2); }).value(), 1);
}

TEST(CppRuntime, ASessionServesOneCallAtATime) {
  std::atomic<int> refused{0};
  Session* self = nullptr;
  tailor::SessionOptions options;
  options.trace = [&](const tailor::TraceEvent&) {
    Result<Outputs> nested = self->run({view(kOnes, {3, 4})});
    ASSERT_FALSE(nested);
    EXPECT_EQ(nested.error().code(), Code::kFailedPrecondition);
    EXPECT_FALSE(self->wait());
    ++refused;
  };
  Session session = Load().session(options).value();
  self = &session;
  EXPECT_TRUE(session.run({view(kOnes, {3, 4})}));
  EXPECT_GT(refused, 0);

  Session shared = Load().session().value();
  std::atomic<int> runs{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        Result<Outputs> outputs = shared.run({view(kOnes, {3, 4})});
        if (outputs) {
          ++runs;
        } else {
          EXPECT_EQ(outputs.error().code(), Code::kFailedPrecondition);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(runs, 0);
}

TEST(CppRuntime, ASessionMayEndDuringItsRun) {
  std::unique_ptr<Session> session;
  tailor::SessionOptions options;
  options.trace = [&](const tailor::TraceEvent&) { session.reset(); };
  session = std::make_unique<Session>(Load().session(options).value());
  Session& alias = *session;
  Result<Outputs> outputs = alias.run({view(kOnes, {3, 4})});
  ASSERT_TRUE(outputs);
  EXPECT_EQ(*outputs->copy<float>(0), Rows(3));
}

TEST(CppRuntime, ExceptionsOfCallbacksAreThrownAfterTheRun) {
  tailor::SessionOptions options;
  bool angry = true;
  options.trace = [&](const tailor::TraceEvent&) {
    if (angry) throw std::runtime_error("no trace today");
  };
  Session session = Load().session(options).value();
  EXPECT_THROW((void)session.run({view(kOnes, {3, 4})}), std::runtime_error);
  angry = false;
  EXPECT_TRUE(session.run({view(kOnes, {3, 4})}));
}

TEST(CppRuntime, ExecutablesKeepIdleSessions) {
  tailor::RuntimeOptions options;
  options.pooled_sessions = 1;
  tailor::Runtime runtime = tailor::Runtime::create(std::move(options)).value();
  tailor::LoadOptions load;
  load.runtime = &runtime;
  Executable executable = Executable::load(ArtifactPath(), load).value();
  std::vector<float> y(12), total(3);
  for (int i = 0; i < 3; ++i) {
    executable.run({view(kOnes, {3, 4})}, {view(y, {3, 4}), view(total)}).value();
    EXPECT_EQ(y, Rows(3));
  }
  tailor::ExecutableCounts counts = executable.counters().value();
  EXPECT_EQ(counts.runs, 3u);
  EXPECT_EQ(counts.pooled_sessions, 1u);
  executable.trim().value();
  EXPECT_EQ(executable.counters()->pooled_sessions, 0u);
}

TEST(CppRuntime, RunsAreCancelledAndTraced) {
  std::vector<tailor::TraceEvent> events;
  tailor::SessionOptions options;
  options.timeout = std::chrono::hours(1);
  options.trace = [&](const tailor::TraceEvent& event) { events.push_back(event); };
  Session session = Load().session(options).value();
  session.cancel().value();
  EXPECT_EQ(session.run({view(kOnes, {3, 4})}).error().code(), Code::kCancelled);
  events.clear();
  session.cancel().value();
  session.uncancel().value();
  Outputs outputs = session.run({view(kOnes, {3, 4})}).value();
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.front().launch, 0);
  EXPECT_EQ(events.back().launch, -1);
  EXPECT_LE(events.front().begin_ns, events.back().end_ns);
  ExpectInvalid(session.set_timeout(std::chrono::nanoseconds(-1)), "timeout");
  session.set_timeout(std::chrono::seconds(100)).value();
  session.trim().value();
  EXPECT_FALSE(outputs.get<float>(0));
  EXPECT_EQ(*session.run({view(kOnes, {3, 4})})->copy<float>(0), Rows(3));
}

TEST(CppRuntime, AllocatorAndLogLiveAsLongAsTheyAreNeeded) {
  struct Memory {
    std::mutex mutex;
    std::map<void*, std::size_t> live;
    int allocations = 0;
    bool* ended;
    ~Memory() { *ended = true; }
  };
  bool ended = false;
  Tensor taken;
  {
    auto memory = std::make_shared<Memory>();
    memory->ended = &ended;
    tailor::RuntimeOptions options;
    options.allocate = [memory](std::size_t bytes, std::size_t alignment) {
      const std::lock_guard<std::mutex> lock(memory->mutex);
      void* out = ::operator new (bytes, std::align_val_t{alignment});
      memory->live[out] = alignment;
      ++memory->allocations;
      return out;
    };
    options.deallocate = [memory](void* data, std::size_t) {
      const std::lock_guard<std::mutex> lock(memory->mutex);
      ::operator delete (data, std::align_val_t{memory->live.at(data)});
      memory->live.erase(data);
    };
    options.log = [memory](tailor::LogLevel, std::string_view) { throw 1; };
    tailor::LoadOptions load;
    {
      tailor::Runtime runtime = tailor::Runtime::create(std::move(options)).value();
      load.runtime = &runtime;
      Session session = Executable::load(ArtifactPath(), load)->session().value();
      taken = session.run({view(kOnes, {3, 4})})->take(0).value();
    }
    EXPECT_GT(memory->allocations, 0);
    EXPECT_EQ(memory->live.size(), 1u);  // the output
  }
  EXPECT_FALSE(ended);
  EXPECT_EQ(ToVector(*taken.elements<const float>()), Rows(3));
  taken = Tensor();
  EXPECT_TRUE(ended);
}

TEST(CppRuntime, AnAllocatorThatFailsIsAnError) {
  tailor::RuntimeOptions options;
  options.allocate = [](std::size_t, std::size_t) -> void* { throw std::bad_alloc(); };
  ExpectInvalid(tailor::Runtime::create(options), "only one of allocate and deallocate");
  options.deallocate = [](void*, std::size_t) {};
  tailor::Runtime runtime = tailor::Runtime::create(options).value();
  tailor::LoadOptions load;
  load.runtime = &runtime;
  Result<Session> session = Executable::load(ArtifactPath(), load)->session();
  Result<Outputs> outputs = session ? session->run({view(kOnes, {3, 4})}) : Result<Outputs>(session.error());
  ASSERT_FALSE(outputs);
  EXPECT_EQ(outputs.error().code(), Code::kResourceExhausted);
}

TEST(CppRuntime, KnowsTheMachine) {
  EXPECT_FALSE(tailor::version().empty());
  EXPECT_NE(tailor::cpu_features().find("uses:"), std::string::npos);
  EXPECT_GE(tailor::usable_cpus(), 1u);
  std::vector<tailor::DeviceInfo> devices = tailor::Runtime::create()->devices().value();
  ASSERT_FALSE(devices.empty());
  EXPECT_EQ(devices[0].device.kind, TAILOR_DEVICE_CPU);
  const std::uint64_t before = tailor::counters().runs;
  Session session = Load().session().value();
  EXPECT_TRUE(session.run({view(kOnes, {3, 4})}));
  EXPECT_EQ(tailor::counters().runs, before + 1);
}

TEST(CppRuntime, NamesFunctionsForPerf) {
  tailor::RuntimeOptions options;
  options.perf_map = true;
  tailor::Runtime runtime = tailor::Runtime::create(options).value();
  tailor::LoadOptions load;
  load.runtime = &runtime;
  ASSERT_TRUE(Executable::load(ArtifactPath(), load));
  const std::string path = "/tmp/perf-" + std::to_string(getpid()) + ".map";
  std::ifstream map(path);
  EXPECT_NE(map.peek(), std::ifstream::traits_type::eof());
  std::remove(path.c_str());
}

TEST(CppRuntime, TensorsOwnTheirMemory) {
  Tensor x = Tensor::copy_of<const float>(kOnes, {3, 4}).value();
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(x.data()) % 64, 0u);
  Session session = Load().session().value();
  Outputs outputs = session.run({x}).value();
  EXPECT_EQ(*outputs.copy<float>(0), Rows(3));
  ExpectInvalid(x.elements<double>(), "f32, not f64");
  ExpectInvalid(session.run({Tensor().view()}), "empty view");
  ExpectInvalid(Tensor::zeros<float>({-1}), "cannot be made");
  ExpectError(Tensor::zeros<double>({INT64_MAX / 8}), Code::kResourceExhausted, "no memory");
  ExpectInvalid(Tensor::copy_of<const float>(kOnes, {3, 5}), "12 elements are given for shape [3, 5]");
  static_assert(tailor::dtype_of<long long>() == DType::kI64 && tailor::dtype_of<unsigned char>() == DType::kU8);
}

}  // namespace

#include "exec/session.h"

#include <gtest/gtest.h>
#include <immintrin.h>

#include <cstring>
#include <limits>
#include <vector>

#include "tests/exec/sample_tensors.h"
#include "tests/support/sample_program.h"

namespace tailor {
namespace {

class SessionTest : public testing::Test {
 protected:
  void Make(const Session::Options& options = {}) {
    ASSERT_EQ(Text(Session::Create(*executable_, options, &session_)), "OK");
  }
  std::string Run(SampleBuffers* b, OutputUse use = OutputUse::kNeedData) {
    return Text(session_->Run(Inputs(b->inputs), Outputs(b->outputs), use));
  }
  std::string Bind(SampleBuffers* b) { return Text(session_->Bind(Inputs(b->inputs), Outputs(b->outputs))); }

  // Fails allocations above `limit_`.
  Allocator Limited() {
    return {[](void* user, size_t bytes, size_t alignment) -> void* {
              if (bytes > *static_cast<size_t*>(user)) return nullptr;
              return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
            },
            [](void*, void* data, size_t) { std::free(data); }, &limit_};
  }

  size_t limit_ = SIZE_MAX;
  const Program program_ = SampleProgram();
  std::unique_ptr<Executable> executable_ = MakeReady(program_, Limited());
  std::unique_ptr<Session> session_;
};

TEST_F(SessionTest, ResultsDoNotDependOnThreads) {
  SampleBuffers alone(999);
  Make();
  ASSERT_EQ(Run(&alone), "OK");
  EXPECT_EQ(alone.total, alone.Totals());
  for (uint64_t threads : {2, 5, 16, 64}) {
    for (const bool sleep : {false, true}) {
      SampleBuffers together(999);
      Make({.threads = threads, .sleep = sleep});
      ASSERT_EQ(Run(&together), "OK");
      EXPECT_EQ(together.y, alone.y);
      EXPECT_EQ(together.total, alone.total);
    }
  }
}

TEST_F(SessionTest, TooManyThreadsAreRefused) {
  EXPECT_EQ(Text(Session::Create(*executable_, {.threads = 5000}, &session_)), "3: threads is 5000, at most 4096");
}

TEST_F(SessionTest, OnTheHostThereIsNoStreamAndNothingToWaitFor) {
  int stream;
  EXPECT_EQ(Text(Session::Create(*executable_, {.stream = &stream}, &session_)),
            "3: options.stream is set, but the executable runs on the CPU");
  Make({.asynchronous = true});
  SampleBuffers b(7);
  ASSERT_EQ(Run(&b), "OK");
  EXPECT_EQ(b.total, b.Totals());
  EXPECT_EQ(Text(session_->Wait()), "OK");
  EXPECT_EQ(session_->stream(), nullptr);
}

TEST_F(SessionTest, ProvidesOutputs) {
  Make();
  SampleBuffers b(7);
  b.outputs = {Tensor{}, Tensor{}};
  ASSERT_EQ(Run(&b, OutputUse::kMayProvide), "OK");
  EXPECT_EQ(b.outputs[0].rank, 2);
  EXPECT_EQ(b.outputs[0].dims[0], 7);
  EXPECT_EQ(b.outputs[0].dims[1], 4);
  EXPECT_EQ(b.outputs[0].dtype, static_cast<int32_t>(DType::kF32));
  EXPECT_EQ(b.outputs[0].data_bytes, 112u);
  EXPECT_EQ(b.outputs[1].data_bytes, 28u);
  const auto* total = static_cast<const float*>(b.outputs[1].data);
  EXPECT_EQ(std::vector<float>(total, total + 7), b.Totals());
}

// y = -x * scale, where x is y of the run before.
TEST_F(SessionTest, OutputsAreInputsOfTheNextRun) {
  for (const Allocator& allocator : {Limited(), Allocator{}}) {
    executable_ = MakeReady(program_, allocator);
    Make();
    SampleBuffers b(7);
    std::vector<const void*> written;
    float want = b.x[5];
    for (int run = 0; run < 6; ++run) {
      b.outputs = {Tensor{}, Tensor{}};
      ASSERT_EQ(Run(&b, OutputUse::kMayProvide), "OK");
      want *= -kSampleScale[1];
      EXPECT_EQ(static_cast<const float*>(b.outputs[0].data)[5], want);
      written.push_back(b.outputs[0].data);
      b.inputs[0].data = b.outputs[0].data;
    }
    EXPECT_NE(written[1], written[0]);
    for (size_t run = 2; run < written.size(); ++run) EXPECT_EQ(written[run], written[run - 2]);
    // The same run again, as after a failure: its input is still there.
    b.inputs[0].data = const_cast<void*>(written[4]);
    b.outputs = {Tensor{}, Tensor{}};
    ASSERT_EQ(Run(&b, OutputUse::kMayProvide), "OK");
    EXPECT_EQ(static_cast<const float*>(b.outputs[0].data)[5], want);
    session_.reset();
  }
}

TEST_F(SessionTest, AnInputMayNotLieInBothBuffersOfAnOutput) {
  Make();
  SampleBuffers b(7);
  const std::vector<Tensor> own = b.outputs;
  b.outputs = {Tensor{}, Tensor{}};
  ASSERT_EQ(Run(&b, OutputUse::kMayProvide), "OK");
  void* const oldest = b.outputs[0].data;
  b.inputs[0].data = oldest;
  b.outputs = {Tensor{}, Tensor{}};
  ASSERT_EQ(Run(&b, OutputUse::kMayProvide), "OK");
  b.inputs[0].data = b.outputs[0].data;
  b.inputs[1].data = oldest;
  b.outputs = {Tensor{}, Tensor{}};
  EXPECT_EQ(Run(&b, OutputUse::kMayProvide),
            "3: output \"y\": it overlaps input \"mask\", which an earlier run of this session gave: copy or take "
            "it");
  b.outputs = {own[0], Tensor{}};
  ASSERT_EQ(Run(&b, OutputUse::kMayProvide), "OK");
}

TEST_F(SessionTest, MemoryOfTakenOutputsIsUsedAgain) {
  executable_ = MakeReady(program_);
  Make();
  const MemoryCounters& counters = executable_->counters().memory();
  SampleBuffers largest(1100);
  ASSERT_EQ(Text(session_->Reserve(Inputs(largest.inputs))), "OK");
  std::unique_ptr<TakenOutput> taken;
  uint64_t growths = 0;
  for (int64_t rows = 1000; rows < 1100; ++rows) {  // a cache that grows, read by the run after
    SampleBuffers b(rows);
    b.outputs = {Tensor{}, Tensor{}};
    if (taken != nullptr) std::memcpy(b.x.data(), taken->data, 16 * (rows - 1));
    ASSERT_EQ(Run(&b, OutputUse::kMayProvide), "OK");
    EXPECT_EQ(static_cast<const float*>(b.outputs[0].data)[4 * rows - 2], -b.x[4 * rows - 2] * kSampleScale[2]);
    std::unique_ptr<TakenOutput> next;
    ASSERT_EQ(Text(session_->TakeOutput(0, nullptr, &next)), "OK");
    taken = std::move(next);
    if (rows == 1010) growths = counters.growths;
  }
  EXPECT_EQ(counters.growths, growths);
  EXPECT_GT(session_->memory_bytes(), 0u);
  ASSERT_EQ(Text(session_->Trim()), "OK");
  EXPECT_EQ(session_->memory_bytes(), 0u);
  EXPECT_EQ(counters.bytes, 0u);
  session_.reset();
  taken.reset();  // to no pool
  EXPECT_EQ(counters.bytes, 0u);
}

TEST_F(SessionTest, ErrorsLeaveOutputStructsAlone) {
  Make();
  SampleBuffers b(7);
  b.outputs = {Tensor{}, Tensor{}};
  b.inputs[1].dims[0] = 3;
  EXPECT_EQ(Run(&b, OutputUse::kMayProvide),
            "3: input \"mask\" dim 0 is 3, but N is 7 from input \"x\" dim 0 [masked]");
  EXPECT_EQ(b.outputs[0].data, nullptr);
  EXPECT_EQ(b.outputs[0].rank, 0);
}

TEST_F(SessionTest, TheResultsDimsMustBeTheCallers) {
  Make();
  SampleBuffers b(7);
  b.outputs[0].dims[0] = 6;
  EXPECT_EQ(Run(&b), "3: output \"y\" dim 0 is 6, but the result has 7");
  b.outputs[0].dims[0] = 7;
  EXPECT_EQ(Run(&b), "OK");
}

TEST_F(SessionTest, ABindingIsRunAgainAndAgain) {
  Make();
  EXPECT_FALSE(session_->RunBound());
  EXPECT_EQ(Text(session_->BoundFailure()), "9: no buffers are bound: call tailor_session_bind");
  SampleBuffers b(5);
  ASSERT_EQ(Bind(&b), "OK");
  ASSERT_TRUE(session_->RunBound());
  EXPECT_EQ(b.total, b.Totals());
  b.x[0] = 100;
  ASSERT_TRUE(session_->RunBound());
  EXPECT_EQ(b.total, b.Totals());
}

TEST_F(SessionTest, RunsBetweenLeaveTheBindingAlone) {
  Make();
  SampleBuffers bound(5), other(9), wrong(3);
  ASSERT_EQ(Bind(&bound), "OK");
  ASSERT_EQ(Run(&other), "OK");
  wrong.inputs[0].rank = 1;
  EXPECT_NE(Bind(&wrong), "OK");
  ASSERT_TRUE(session_->RunBound());
  EXPECT_EQ(bound.total, bound.Totals());
  ASSERT_EQ(Bind(&other), "OK");
  other.total.assign(9, -1);
  ASSERT_TRUE(session_->RunBound());
  EXPECT_EQ(other.total, other.Totals());
}

TEST_F(SessionTest, ABoundRunReportsItsChecks) {
  Make();
  SampleBuffers b(5);
  b.inputs[1].dims[0] = 4;
  ASSERT_EQ(Bind(&b), "OK");
  EXPECT_FALSE(session_->RunBound());
  EXPECT_EQ(Text(session_->BoundFailure()), "3: input \"mask\" dim 0 is 4, but N is 5 from input \"x\" dim 0 [masked]");
}

TEST_F(SessionTest, BoundStridedInputsAreCopiedAnew) {
  Make({.copy_strided = true});
  SampleBuffers b(4);
  const int64_t transposed[] = {1, 4};
  b.inputs[0].strides = transposed;
  ASSERT_EQ(Bind(&b), "OK");
  for (float first : {1.0f, 50.0f}) {
    b.x[0] = first;
    ASSERT_TRUE(session_->RunBound());
    EXPECT_EQ(b.total[0], b.x[0] + b.x[4] + b.x[8] + b.x[12]);
  }
}

TEST_F(SessionTest, ReserveMakesTheWorkspaceThatARunNeeds) {
  Make();
  SampleBuffers large(1000), small(10);
  const std::vector<Tensor> shapes = {TensorOf(nullptr, 0, DType::kF32, {1000, 4}),
                                      TensorOf(nullptr, 0, DType::kF32, {1000})};
  ASSERT_EQ(Run(&small), "OK");
  ASSERT_EQ(Text(session_->Reserve(Inputs(shapes))), "OK");
  const uint64_t growths = ReadCounters().workspace_growths;
  EXPECT_EQ(Run(&small), "OK");
  EXPECT_EQ(small.total, small.Totals());
  EXPECT_EQ(Run(&large), "OK");
  EXPECT_EQ(large.total, large.Totals());
  EXPECT_EQ(ReadCounters().workspace_growths, growths);
}

TEST_F(SessionTest, ReserveFailsWhereARunWould) {
  Make();
  SampleBuffers b(10);
  b.inputs[1].dims[0] = 9;
  EXPECT_EQ(Text(session_->Reserve(Inputs(b.inputs))),
            "3: input \"mask\" dim 0 is 9, but N is 10 from input \"x\" dim 0 [masked]");
}

TEST_F(SessionTest, AFailingAllocatorLeavesTheSessionUsable) {
  Make();
  SampleBuffers small(10), large(1000);
  ASSERT_EQ(Run(&small), "OK");
  limit_ = 2000;
  // The same shape again must not trust what the program remembers of a workspace that it did not get.
  EXPECT_EQ(Run(&large), "8: no memory for a workspace of 4096 bytes");
  EXPECT_EQ(Run(&large), "8: no memory for a workspace of 4096 bytes");
  small.total.assign(10, -1);
  EXPECT_EQ(Run(&small), "OK");
  EXPECT_EQ(small.total, small.Totals());
  EXPECT_EQ(Text(session_->Reserve(Inputs(large.inputs))), "8: no memory for a workspace of 4096 bytes");
  EXPECT_EQ(Run(&small), "OK");
  limit_ = SIZE_MAX;
  EXPECT_EQ(Run(&large), "OK");
  EXPECT_EQ(large.total, large.Totals());
}

TEST_F(SessionTest, AFailingAllocatorNamesTheOutput) {
  Make();
  SampleBuffers b(200);
  b.outputs[0] = {};
  limit_ = 2000;
  EXPECT_EQ(Run(&b, OutputUse::kMayProvide), "8: output \"y\": no memory for its 3200 bytes");
  limit_ = SIZE_MAX;
  EXPECT_EQ(Run(&b, OutputUse::kMayProvide), "OK");
}

TEST_F(SessionTest, AFailingAllocatorNamesTheStridedInput) {
  Make({.copy_strided = true});
  SampleBuffers b(200);
  const int64_t transposed[] = {1, 200};
  b.inputs[0].strides = transposed;
  limit_ = 2000;
  EXPECT_EQ(Run(&b), "8: input \"x\": no 3200 bytes to copy it to");
  limit_ = SIZE_MAX;
  EXPECT_EQ(Run(&b), "OK");
}

TEST_F(SessionTest, DenormalsSurviveAHostThatFlushesThem) {
  Make();
  SampleBuffers b(1);
  const float tiny = std::numeric_limits<float>::denorm_min();
  b.x.assign(4, tiny);
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040);
  const bool ok = Run(&b) == "OK";
  const unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  EXPECT_TRUE(ok);
  EXPECT_EQ(after & 0x8040, 0x8040u);
  EXPECT_EQ(b.y[0], -tiny);
  EXPECT_EQ(b.total[0], 4 * tiny);
}

TEST_F(SessionTest, RunsAreCounted) {
  const uint64_t before = ReadCounters().runs;
  Make();
  SampleBuffers b(1);
  ASSERT_EQ(Run(&b), "OK");
  ASSERT_EQ(Bind(&b), "OK");
  ASSERT_TRUE(session_->RunBound());
  EXPECT_EQ(ReadCounters().runs, before + 2);
  session_.reset();
  EXPECT_EQ(ReadCounters().runs, before + 2);
}

}  // namespace
}  // namespace tailor

#include "exec/cuda/graph.h"

#include <gmock/gmock.h>

#include <optional>

#include "tests/exec/cuda/fixture.h"

namespace tailor {
namespace {

using testing::HasSubstr;

// Sessions whose runs are graphs.
class CudaGraphSessionTest : public CudaTest {
 protected:
  CudaGraphSessionTest() { program_.variants[0].reads_back = false; }

  void MakeWithGraph(Session::Options options = {}) {
    options.cuda_graph = true;
    Make(options);
  }
  void ExpectRight(int64_t rows) {
    SampleBuffers b(rows);
    ASSERT_EQ(Run(&b), "OK") << rows;
    EXPECT_EQ(b.total, b.Totals()) << rows;
  }

  const fake_cuda::Counts before_ = tailor_fake_cuda_counts();
  // Where the driver counts.
  void ExpectGraphsMade(int64_t count) const {
    if (!fake_cuda::IsInUse()) return;
    EXPECT_EQ(tailor_fake_cuda_counts().total_graphs - before_.total_graphs, count);
  }
  void ExpectGraphsLaunched(int64_t count) const {
    if (!fake_cuda::IsInUse()) return;
    EXPECT_EQ(tailor_fake_cuda_counts().total_graph_launches - before_.total_graph_launches, count);
  }
  void ExpectPatches(int64_t count) const {
    if (!fake_cuda::IsInUse()) return;
    EXPECT_EQ(tailor_fake_cuda_counts().total_patches - before_.total_patches, count);
  }
};

TEST_F(CudaGraphSessionTest, OneGraphServesAllShapes) {
  MakeWithGraph();
  for (int64_t rows : {5, 40, 1, 300, 5}) ExpectRight(rows);
  ExpectGraphsMade(1);
  ExpectGraphsLaunched(5);
}

TEST_F(CudaGraphSessionTest, OnlyWhatChangedIsPatched) {
  MakeWithGraph();
  SampleBuffers b(40), other(40);
  ASSERT_EQ(Text(session_->Bind(Inputs(b.inputs), Outputs(b.outputs))), "OK");
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(session_->RunBound());
  ExpectPatches(0);
  b.total.assign(40, -1);
  EXPECT_TRUE(session_->RunBound());
  EXPECT_EQ(b.total, b.Totals());
  // The bound buffers' copies stay where they are, so those of a run have others: x, mask and y, of two kernels.
  ExpectRight(40);
  ExpectPatches(2);
  ExpectRight(41);
  ExpectPatches(2 + 3);
}

TEST_F(CudaGraphSessionTest, RunsWithoutLaunchesLaunchNoGraph) {
  MakeWithGraph();
  ExpectRight(0);
  ExpectGraphsMade(0);
  ExpectRight(5);
  ExpectRight(0);
  ExpectGraphsLaunched(1);
}

TEST_F(CudaGraphSessionTest, BlocksThatMeetMakeTheGraphAnew) {
  MakeWithGraph();
  for (int64_t rows : {7, 14, 9, 10}) ExpectRight(rows);
  ExpectGraphsMade(2);
}

TEST_F(CudaGraphSessionTest, BlocksThatMeetMustFitAtOnce) {
  TAILOR_NEEDS_FAKE_DRIVER("a device that holds eight blocks");
  MakeWithGraph();
  SampleBuffers does_not(14 * 32);
  EXPECT_EQ(Run(&does_not),
            "9: kernel sum_rows of 14 blocks of 32 threads with 0 bytes of shared memory has all blocks run at once, "
            "but device 0 holds 8");
  ExpectRight(7 * 32);
  EXPECT_EQ(Run(&does_not).substr(0, 2), "9:");
  ExpectRight(7 * 32);
}

TEST_F(CudaGraphSessionTest, RunsInFlightKeepTheirParameters) {
  MakeWithGraph({.asynchronous = true});
  SampleBuffers small(10), large(1000), together(14);
  ASSERT_EQ(Run(&small), "OK");
  ASSERT_EQ(Run(&large), "OK");  // with another workspace
  ASSERT_EQ(Run(&together), "OK");
  ASSERT_EQ(Text(session_->Wait()), "OK");
  EXPECT_EQ(small.total, small.Totals());
  EXPECT_EQ(large.total, large.Totals());
  EXPECT_EQ(together.total, together.Totals());
}

TEST_F(CudaGraphSessionTest, ACheckThatFailsLaunchesNothing) {
  MakeWithGraph();
  ExpectRight(20);
  SampleBuffers wrong(20);
  wrong.inputs[1].dims[0] = 19;
  EXPECT_EQ(Run(&wrong), "3: input \"mask\" dim 0 is 19, but N is 20 from input \"x\" dim 0 [masked]");
  ExpectGraphsLaunched(1);
  ExpectRight(20);
  ExpectGraphsMade(1);
}

TEST_F(CudaGraphSessionTest, FaultsOfKernelsAreFound) {
  MakeWithGraph();
  SampleBuffers b(20);
  b.mask[11] = -1;
  EXPECT_EQ(Run(&b), "3: input \"mask\" at 11 of 20 is negative [masked]");
  ExpectRight(20);
}

TEST_F(CudaGraphSessionTest, AGraphThatCannotBePatchedIsMadeAnew) {
  TAILOR_NEEDS_FAKE_DRIVER("launches that fail");
  MakeWithGraph();
  ExpectRight(20);
  pretend().launch = cuda::kInvalidValue;
  SampleBuffers b(22);
  EXPECT_EQ(Run(&b),
            "13: cuGraphExecKernelNodeSetParams for kernel sum_rows of 1 blocks of 32 threads with 0 bytes of shared "
            "memory: CUDA_ERROR_INVALID_VALUE (1)");
  EXPECT_EQ(tailor_fake_cuda_counts().graphs, 0);
  EXPECT_EQ(Run(&b),
            "13: cuGraphAddKernelNode for kernel sum_rows of 1 blocks of 32 threads with 0 bytes of shared memory: "
            "CUDA_ERROR_INVALID_VALUE (1)");
  pretend().launch = 0;
  ExpectRight(22);
  ExpectGraphsMade(2);
}

TEST_F(CudaGraphSessionTest, WorkGoesToTheCallersStream) {
  ASSERT_EQ(Load(), "OK");
  const CurrentContext current(Device());
  cuda::Stream stream = nullptr;
  ASSERT_EQ(Device().driver().StreamCreate(&stream, 0), cuda::kSuccess);
  ASSERT_EQ(Open({.stream = stream, .asynchronous = true, .cuda_graph = true}), "OK");
  SampleBuffers b(40);
  ASSERT_EQ(Run(&b), "OK");
  EXPECT_EQ(Device().driver().StreamSynchronize(stream), cuda::kSuccess);
  EXPECT_EQ(b.total, b.Totals());
  session_.reset();
  Device().driver().StreamDestroy(stream);
}

TEST_F(CudaGraphSessionTest, LaunchesAreTraced) {
  std::string seen;
  const auto trace = [](void* user, const TraceEvent* event) {
    *static_cast<std::string*>(user) += std::to_string(event->launch) + ";";
  };
  MakeWithGraph({.tracing = {.trace = trace, .user = &seen}});
  ExpectRight(5);
  EXPECT_EQ(seen, "0;1;2;-1;");
}

TEST_F(CudaGraphSessionTest, ProgramsThatReadBackAreRefused) {
  program_.variants[0].reads_back = true;
  ASSERT_EQ(Load(), "OK");
  EXPECT_EQ(Open({.cuda_graph = true}),
            "9: options.cuda_graph: the program reads results back in the middle of its runs");
}

TEST_F(CudaGraphSessionTest, TheCpuHasNoGraphs) {
  ASSERT_EQ(Load({DeviceChoice::kCpu, 0}), "OK");
  EXPECT_EQ(Open({.cuda_graph = true}), "3: options.cuda_graph is set, but the executable runs on the CPU");
}

TEST_F(CudaGraphSessionTest, ADriverWithoutGraphsRunsWithoutThem) {
  TAILOR_NEEDS_FAKE_DRIVER("a driver from before CUDA 11.6");
  const CudaDevices old(TAILOR_OLD_FAKE_CUDA_LIBRARY);
  ASSERT_EQ(old.absence(), "");
  const Variant& variant = program_.variants[0];
  std::unique_ptr<DeviceProgram> program;
  ASSERT_EQ(Text(old.list()[0]->Load(Runtime({}), program_, variant, &program)), "OK");
  std::unique_ptr<DeviceStream> stream;
  EXPECT_EQ(Text(program->MakeStream({.graph = true}, &stream)),
            "9: options.cuda_graph: the driver has no graphs that can be changed: it is older than CUDA 11.6");
  EXPECT_EQ(Text(program->MakeStream({}, &stream)), "OK");
}

// The graph itself: launches of the sample's kernels that negate and copy, on memory of the device.
class CudaGraphTest : public CudaGraphSessionTest {
 protected:
  void SetUp() override {
    ASSERT_EQ(Load(), "OK");
    program_on_device_ = static_cast<const CudaProgram*>(executable_->device());
    from_.emplace(Device(), std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8});
    to_.emplace(Device(), std::vector<float>(8));
    current_.emplace(Device());
    ASSERT_EQ(Device().driver().StreamCreate(&stream_, 0), cuda::kSuccess);
    graph_.emplace(*program_on_device_);
  }
  void TearDown() override {
    graph_.reset();
    Device().driver().StreamDestroy(stream_);
    to_.reset();
    from_.reset();
    current_.reset();
  }

  // Copies `count` floats from from_[at] to to_[at].
  bool Copy(int64_t at, int64_t count) {
    const int64_t args[] = {Address(*from_) + 4 * at, Address(*to_) + 4 * at, count};
    return graph_->Add(2, args, {1, 0, 0});
  }
  // Negates, by a kernel of other parameters.
  bool Negate(int64_t at, int64_t count) {
    const int64_t ones = reinterpret_cast<int64_t>(program_on_device_->constants()[0]);
    const int64_t args[] = {Address(*from_) + 4 * at, ones, Address(*to_) + 4 * at, count};
    return graph_->Add(1, args, {1, 0, 0});
  }
  std::vector<float> Launched() {
    EXPECT_EQ(graph_->Launch(stream_).result, cuda::kSuccess);
    EXPECT_EQ(Device().driver().StreamSynchronize(stream_), cuda::kSuccess);
    std::vector<float> got = to_->Read<float>();
    CopyStream(Device()).ToDevice(to_->data(), std::vector<float>(8).data(), 32);
    return got;
  }
  static int64_t Address(const DeviceBytes& bytes) { return reinterpret_cast<int64_t>(bytes.data()); }

  const CudaProgram* program_on_device_ = nullptr;
  std::optional<DeviceBytes> from_, to_;
  std::optional<CurrentContext> current_;
  cuda::Stream stream_ = nullptr;
  std::optional<CudaGraph> graph_;
};

using Floats = std::vector<float>;

TEST_F(CudaGraphTest, RunsOfFewerLaunchesDisableTheRest) {
  graph_->Begin();
  Copy(0, 1), Copy(1, 1), Copy(2, 1);
  EXPECT_EQ(Launched(), (Floats{1, 2, 3, 0, 0, 0, 0, 0}));
  graph_->Begin();
  Copy(5, 1);
  EXPECT_EQ(Launched(), (Floats{0, 0, 0, 0, 0, 6, 0, 0}));
  graph_->Begin();
  Copy(5, 1), Copy(1, 1), Copy(2, 1);
  EXPECT_EQ(Launched(), (Floats{0, 2, 3, 0, 0, 6, 0, 0}));
  ExpectGraphsMade(1);
  ExpectPatches(3 + 2);
}

TEST_F(CudaGraphTest, RunsOfMoreLaunchesMakeItAnew) {
  graph_->Begin();
  Copy(0, 1);
  EXPECT_EQ(Launched(), (Floats{1, 0, 0, 0, 0, 0, 0, 0}));
  graph_->Begin();
  Copy(0, 1), Copy(1, 1);
  EXPECT_EQ(Launched(), (Floats{1, 2, 0, 0, 0, 0, 0, 0}));
  ExpectGraphsMade(2);
}

TEST_F(CudaGraphTest, ANodeTakesAnyKernel) {
  graph_->Begin();
  Copy(0, 8), Negate(0, 2);
  EXPECT_EQ(Launched(), (Floats{-1, -4, 3, 4, 5, 6, 7, 8}));
  graph_->Begin();
  Negate(0, 2), Copy(1, 1);
  EXPECT_EQ(Launched(), (Floats{-1, 2, 0, 0, 0, 0, 0, 0}));
  ExpectGraphsMade(1);
}

TEST_F(CudaGraphTest, WhatARunThatFailedAskedForIsForgotten) {
  graph_->Begin();
  Copy(0, 1), Copy(1, 1);
  EXPECT_EQ(Launched(), (Floats{1, 2, 0, 0, 0, 0, 0, 0}));
  graph_->Begin();
  Negate(0, 1);
  graph_->Begin();  // no launch between
  Negate(0, 1), Copy(1, 1);
  EXPECT_EQ(Launched(), (Floats{-1, 2, 0, 0, 0, 0, 0, 0}));
}

// A loop launches the program's kernels again and again.
TEST_F(CudaGraphTest, MoreLaunchesThanTheProgramHasFitUntilItIsFull) {
  graph_->Begin();
  EXPECT_TRUE(Copy(0, 1) && Copy(1, 1) && Copy(2, 1) && Copy(3, 1) && Copy(4, 1) && Copy(5, 1) && Copy(6, 1));
  EXPECT_EQ(Launched(), (Floats{1, 2, 3, 4, 5, 6, 7, 0}));
  graph_->Begin();
  for (int i = 0; i < 1024; ++i) ASSERT_TRUE(Copy(i % 8, 1)) << i;
  EXPECT_FALSE(Copy(0, 1));
  EXPECT_EQ(Launched(), (Floats{1, 2, 3, 4, 5, 6, 7, 8}));
  ExpectGraphsMade(2);
}

}  // namespace
}  // namespace tailor

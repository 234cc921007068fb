#include "codegen/host/emit/emit_host.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/codegen/host/emit/fake_runtime.h"
#include "tests/codegen/link/ir_image.h"

namespace tailor::host {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Place = HostBuffer::Place;

const DimExpr kN = DimExpr::Symbol(0);
const DimExpr kM = DimExpr::Symbol(1);

// Kernels over (in, out; d0 elements). One task is one element.
constexpr char kKernels[] = R"(
define void @double_v0(ptr %args, i64 %begin, i64 %end, i64 %worker) {
entry:
  %in = load ptr, ptr %args
  %out.at = getelementptr i64, ptr %args, i64 1
  %out = load ptr, ptr %out.at
  br label %loop
loop:
  %i = phi i64 [%begin, %entry], [%next, %body]
  %more = icmp slt i64 %i, %end
  br i1 %more, label %body, label %done
body:
  %p = getelementptr float, ptr %in, i64 %i
  %x = load float, ptr %p
  %y = fadd float %x, %x
  %q = getelementptr float, ptr %out, i64 %i
  store float %y, ptr %q
  %next = add i64 %i, 1
  br label %loop
done:
  ret void
}
; The version for counts that 4 divides writes 4 everywhere, so that a test can tell.
define void @double4_v0(ptr %args, i64 %begin, i64 %end, i64 %worker) {
  %out.at = getelementptr i64, ptr %args, i64 1
  %out = load ptr, ptr %out.at
  %q = getelementptr float, ptr %out, i64 %begin
  store float 4.0, ptr %q
  ret void
}
define void @double4_v1(ptr %args, i64 %begin, i64 %end, i64 %worker) {
  call void @double_v0(ptr %args, i64 %begin, i64 %end, i64 %worker)
  ret void
}
; Slots: in, out, d0, scratch, bytes per worker, fault record, fault base. Records fault 1 of the plan with value -7.
define void @faulty_v0(ptr %args, i64 %begin, i64 %end, i64 %worker) {
  %scratch.at = getelementptr i64, ptr %args, i64 3
  %scratch = load ptr, ptr %scratch.at
  %bytes.at = getelementptr i64, ptr %args, i64 4
  %bytes = load i64, ptr %bytes.at
  %own = mul i64 %worker, %bytes
  %mine = getelementptr i8, ptr %scratch, i64 %own
  store i64 99, ptr %mine
  %fault.at = getelementptr i64, ptr %args, i64 5
  %fault = load ptr, ptr %fault.at
  %base.at = getelementptr i64, ptr %args, i64 6
  %base = load i64, ptr %base.at
  %id = add i64 %base, 2
  store i64 %id, ptr %fault
  %value = getelementptr i64, ptr %fault, i64 1
  store i64 -7, ptr %value
  %dim = getelementptr i64, ptr %fault, i64 2
  store i64 5, ptr %dim
  ret void
}
; Slots: in, out, d0, scratch of the launch, phase, parts. One task is one part, of an element. Phase 0 leaves elements
; in scratch, phase 1 reads there what other tasks left: out is 1 more than in, the last element first.
define void @mirrored_v0(ptr %args, i64 %begin, i64 %end, i64 %worker) {
entry:
  %in = load ptr, ptr %args
  %out.at = getelementptr i64, ptr %args, i64 1
  %out = load ptr, ptr %out.at
  %cells.at = getelementptr i64, ptr %args, i64 3
  %cells = load ptr, ptr %cells.at
  %phase.at = getelementptr i64, ptr %args, i64 4
  %phase = load i64, ptr %phase.at
  %parts.at = getelementptr i64, ptr %args, i64 5
  %parts = load i64, ptr %parts.at
  %is_first = icmp eq i64 %phase, 0
  %from = select i1 %is_first, ptr %in, ptr %cells
  %to = select i1 %is_first, ptr %cells, ptr %out
  %phase.number = sitofp i64 %phase to float
  br label %loop
loop:
  %i = phi i64 [%begin, %entry], [%next, %body]
  %more = icmp slt i64 %i, %end
  br i1 %more, label %body, label %done
body:
  %next = add i64 %i, 1
  %last = sub i64 %parts, %next
  %source = select i1 %is_first, i64 %i, i64 %last
  %p = getelementptr float, ptr %from, i64 %source
  %x = load float, ptr %p
  %y = fadd float %x, %phase.number
  %q = getelementptr float, ptr %to, i64 %i
  store float %y, ptr %q
  br label %loop
done:
  ret void
}
define void @mirrored_v1(ptr %args, i64 %begin, i64 %end, i64 %worker) {
  call void @double_v0(ptr %args, i64 %begin, i64 %end, i64 %worker)
  ret void
}
)";

// y = 2 * (2 * x) for x f32[N, M]: in0 -> w0 -> out0.
class EmitHostTest : public ::testing::Test {
 protected:
  EmitHostTest() {
    plan_.buffers = {{BufferKind::kInput, DType::kF32, {}}, {BufferKind::kOutput, DType::kF32, {}}};
    plan_.dims = {{}};
    schedule_.tasks = SlotExpr::Slot(0);
    schedule_.tasks_per_chunk = 3;
    program_.bindings = {{0, 0, 0, 1, 0}, {1, 0, 1, 1, 0}};
    program_.checks = {{ShapeCheck::Relation::kAtMost, {}, 1 << 20, 0, 0},
                       {ShapeCheck::Relation::kAtMost, {}, int64_t{1} << 60, 0, 1}};
    program_.shape_check_count = 2;
    program_.output_dims = {{kN, kM}};
    program_.output_numbers = {0};
    program_.outermost = true;
    program_.output_sources = {HostProgram::Output::kRuntime};
    program_.checks.resize(2);
    program_.buffers = {{Place::kInput, 0, DType::kF32, {kN, kM}},
                        {Place::kWorkspace, 0, DType::kF32, {kN, kM}, 0, 1},
                        {Place::kOutput, 0, DType::kF32, {kN, kM}}};
    program_.memory = {{0}, {{}}};
    program_.launches = {{0, "first", {0, 1}, {kN * kM}}, {0, "second", {1, 2}, {kN * kM}}};
    program_.steps = {{false, 0}, {false, 1}};
  }

  void Build(int64_t workers = 1) {
    auto host = std::make_unique<llvm::Module>("host", llvm_);
    auto emission =
        EmitHostPrograms({program_}, {KernelOnHost(symbol_, &plan_, &schedule_)}, KernelPlace::kHost, *host);
    ASSERT_TRUE(emission.ok()) << emission.status();
    std::vector<std::unique_ptr<llvm::MemoryBuffer>> objects;
    objects.push_back(CompileIr(ParseIr(llvm_, kKernels)));
    objects.push_back(CompileIr(std::move(host)));
    auto image = LinkImage(std::move(objects), {"tailor_run", "tailor_plan"});
    ASSERT_TRUE(image.ok()) << image.status();
    image_ = std::make_unique<CodeImage>(*image);
    runtime_ = std::make_unique<FakeRuntime>(emission->shape_cache_slots, workers);
  }

  // Runs on x = 1, 2, 3, ...
  int32_t Run(std::vector<int64_t> dims) {
    x_.resize(dims[0] * dims[1] < 1000 ? dims[0] * dims[1] : 0);
    for (size_t i = 0; i < x_.size(); ++i) x_[i] = static_cast<float>(i + 1);
    const TensorArg in{x_.data(), dims.data()};
    out_dims_ = {-1, -1};
    y_.assign(x_.size() + 1, -1.0f);
    TensorArg out{nullptr, out_dims_.data()};
    const int32_t code = image_->Find<RunFn>("tailor_run")(&runtime_->api, &runtime_->context, &in, &out);
    if (code == 0) y_.assign(static_cast<float*>(out.data), static_cast<float*>(out.data) + x_.size());
    return code;
  }

  int32_t Plan(std::vector<int64_t> dims, PlanResult& result) {
    const TensorArg in{nullptr, dims.data()};
    out_dims_ = {-1, -1};
    TensorArg out{nullptr, out_dims_.data()};
    return image_->Find<PlanFn>("tailor_plan")(&runtime_->api, &runtime_->context, &in, &out, &result);
  }

  llvm::LLVMContext llvm_;
  std::string symbol_ = "double";
  KernelPlan plan_;
  Schedule schedule_;
  HostProgram program_;
  std::unique_ptr<CodeImage> image_;
  std::unique_ptr<FakeRuntime> runtime_;
  std::vector<float> x_, y_;
  std::vector<int64_t> out_dims_;
};

TEST_F(EmitHostTest, RunsLaunchesInOrder) {
  Build();
  ASSERT_EQ(Run({2, 3}), 0);
  EXPECT_THAT(y_, ElementsAre(4, 8, 12, 16, 20, 24));
  EXPECT_THAT(out_dims_, ElementsAre(2, 3));
  EXPECT_EQ(runtime_->output_bytes, 24u);
  EXPECT_TRUE(runtime_->chunks.empty());  // a lone worker needs no parallel_for
}

TEST_F(EmitHostTest, EveryShapeIsItsOwnLayoutAndGrowsOnlyUpwards) {
  Build();
  ASSERT_EQ(Run({2, 40}), 0);
  EXPECT_EQ(runtime_->grown, 1);
  EXPECT_EQ(runtime_->context.workspace_bytes, 320u);
  for (std::vector<int64_t> dims : {std::vector<int64_t>{1, 1}, {5, 2}, {5, 2}, {2, 5}, {80, 1}}) {
    ASSERT_EQ(Run(dims), 0);
    EXPECT_THAT(out_dims_, ::testing::ElementsAreArray(dims));
    for (size_t i = 0; i < y_.size(); ++i) ASSERT_EQ(y_[i], 4 * x_[i]);
  }
  EXPECT_EQ(runtime_->grown, 1);
  ASSERT_EQ(Run({9, 9}), 0);
  EXPECT_EQ(runtime_->grown, 2);
}

TEST_F(EmitHostTest, FollowsAWorkspaceThatMovedBetweenRuns) {
  Build();
  ASSERT_EQ(Run({2, 3}), 0);
  runtime_->Grow(4096);
  *runtime_->workspaces[0] = {};  // the old one is gone
  ASSERT_EQ(Run({2, 3}), 0);
  EXPECT_EQ(y_[5], 24);
}

TEST_F(EmitHostTest, ZeroElementsRunNothing) {
  Build();
  ASSERT_EQ(Run({0, 3}), 0);
  EXPECT_THAT(out_dims_, ElementsAre(0, 3));
  EXPECT_TRUE(y_.empty());
}

TEST_F(EmitHostTest, FailingCheckReportsItsValuesAndLeavesTheSessionUsable) {
  Build();
  ASSERT_EQ(Run({2, 2}), 0);
  EXPECT_EQ(Run({(1 << 20) + 1, 1}), 100);
  EXPECT_THAT(runtime_->failure, ElementsAre(0, (1 << 20) + 1, 1 << 20));
  ASSERT_EQ(Run({2, 2}), 0);
  EXPECT_THAT(y_, ElementsAre(4, 8, 12, 16));
}

TEST_F(EmitHostTest, SizesThatOverflowFail) {
  Build();
  EXPECT_EQ(Run({1 << 20, int64_t{1} << 50}), 99);
  EXPECT_EQ(runtime_->failure[0], kCheckOverflow);
}

TEST_F(EmitHostTest, RefusedGrowthEndsTheRunAndIsTriedAgain) {
  Build();
  runtime_->refuse_grow = true;
  EXPECT_EQ(Run({2, 2}), 77);
  runtime_->refuse_grow = false;
  ASSERT_EQ(Run({2, 2}), 0);
  EXPECT_THAT(y_, ElementsAre(4, 8, 12, 16));
}

TEST_F(EmitHostTest, ManyTasksGoToParallelFor) {
  Build(/*workers=*/2);
  ASSERT_EQ(Run({5, 2}), 0);
  EXPECT_THAT(runtime_->chunks, ElementsAre(3, 3));
  EXPECT_EQ(y_[9], 40);
  runtime_->chunks.clear();
  ASSERT_EQ(Run({3, 1}), 0);  // one chunk: not worth a region
  EXPECT_TRUE(runtime_->chunks.empty());
  runtime_->context.workers = 1;
  ASSERT_EQ(Run({5, 2}), 0);
  EXPECT_TRUE(runtime_->chunks.empty());
  ASSERT_EQ(Run({15, 2}), 0);  // one thread takes eight chunks at once
  EXPECT_THAT(runtime_->chunks, ElementsAre(24, 24));
}

TEST_F(EmitHostTest, GuardsChooseTheVersion) {
  symbol_ = "double4";
  schedule_.versions = {{{{Guard::Kind::kDivides, 0, -1, 4}, {Guard::Kind::kAtLeast, 0, -1, 8}}}, {}};
  Build();
  int32_t versions[2] = {-1, -1};
  PlanResult plan{sizeof(PlanResult), 0, versions};
  ASSERT_EQ(Run({2, 4}), 0);
  EXPECT_EQ(y_[0], 4.0f);
  ASSERT_EQ(Plan({2, 4}, plan), 0);
  EXPECT_THAT(versions, ElementsAre(0, 0));
  ASSERT_EQ(Run({2, 3}), 0);
  EXPECT_EQ(y_[1], 8.0f);
  ASSERT_EQ(Plan({1, 4}, plan), 0);
  EXPECT_THAT(versions, ElementsAre(1, 1));
}

TEST_F(EmitHostTest, WhatOutgrowsTheCacheHasAVersionOfItsOwn) {
  symbol_ = "double4";
  schedule_.versions = {
      {.guards = {{.kind = Guard::Kind::kOutgrowsCache, .value = 4 * SlotExpr::Slot(0)}}, .streams = true}, {}};
  Build();
  int32_t versions[2] = {-1, -1};
  PlanResult plan{sizeof(PlanResult), 0, versions};
  const auto chosen = [&](uint64_t streamed_bytes) {
    runtime_->context.streamed_bytes = streamed_bytes;
    EXPECT_EQ(Plan({2, 4}, plan), 0);
    return versions[0];
  };
  EXPECT_EQ(chosen(32), 0);
  EXPECT_EQ(chosen(33), 1);
  EXPECT_EQ(chosen(0), 1);
}

TEST_F(EmitHostTest, VersionsAreChosenByWhatIsComputedFromDims) {
  symbol_ = "double4";
  schedule_.versions = {{{{.kind = Guard::Kind::kValueAtLeast, .number = 17, .value = 2 * SlotExpr::Slot(0) + 1}}}, {}};
  Build();
  int32_t versions[2] = {-1, -1};
  PlanResult plan{sizeof(PlanResult), 0, versions};
  ASSERT_EQ(Plan({2, 4}, plan), 0);
  EXPECT_EQ(versions[0], 0);
  ASSERT_EQ(Plan({1, 7}, plan), 0);
  EXPECT_EQ(versions[0], 1);
}

TEST_F(EmitHostTest, PartsRunInPhasesAndShareTheScratchOfTheLaunch) {
  symbol_ = "mirrored";
  const SlotExpr elements = SlotExpr::Slot(0);
  program_.launches = {{0, "mirrored", {0, 2}, {kN * kM}}};
  program_.steps = {{false, 0}};
  program_.memory = {};
  std::erase_if(program_.buffers, [](const HostBuffer& buffer) { return buffer.place == Place::kWorkspace; });
  program_.launches[0].buffers = {0, 1};
  schedule_.versions = {
      {.guards = {{Guard::Kind::kAtLeast, 0, -1, 4}},
       .parts = PartTasks{.count = elements, .tasks = elements, .phases = 2, .scratch_bytes = 4 * elements}},
      {}};
  Build(/*workers=*/3);
  ASSERT_EQ(Run({2, 10}), 0);
  for (size_t i = 0; i < 20; ++i) EXPECT_EQ(y_[i], 21.0f - i);
  EXPECT_EQ(runtime_->context.workspace_bytes, 128u);  // 80 bytes, rounded up
  EXPECT_THAT(runtime_->chunks, ElementsAre(1, 1));    // twice, by threads
  ASSERT_EQ(Run({1, 3}), 0);                           // as before, in one phase
  EXPECT_THAT(y_, ElementsAre(2.0f, 4.0f, 6.0f));
  Build(/*workers=*/1);
  ASSERT_EQ(Run({2, 10}), 0);
  for (size_t i = 0; i < 20; ++i) EXPECT_EQ(y_[i], 21.0f - i);
  EXPECT_THAT(runtime_->chunks, ElementsAre(1, 1));
  schedule_.versions[0].parts->serial = 2;  // the last phase is the caller's
  Build(/*workers=*/3);
  ASSERT_EQ(Run({2, 10}), 0);
  for (size_t i = 0; i < 20; ++i) EXPECT_EQ(y_[i], 21.0f - i);
  EXPECT_THAT(runtime_->chunks, ElementsAre(1));
  runtime_->context.interrupt = 1;
  ASSERT_EQ(Run({2, 10}), 0);
  EXPECT_THAT(runtime_->polls, ElementsAre(kBetweenLaunches, kWithinLaunch, kWithinLaunch, 0));
}

TEST_F(EmitHostTest, RunsArePolledAtTheBeginAndAfterEachLaunch) {
  Build();
  ASSERT_EQ(Run({2, 2}), 0);
  EXPECT_THAT(runtime_->polls, IsEmpty());
  runtime_->context.interrupt = 1;
  ASSERT_EQ(Run({2, 2}), 0);
  EXPECT_THAT(runtime_->polls, ElementsAre(kBetweenLaunches, 0, 1));
  runtime_->ends = true;
  EXPECT_EQ(Run({2, 2}), 88);
  EXPECT_THAT(runtime_->polls, ElementsAre(kBetweenLaunches, 0, 1, kBetweenLaunches));
}

TEST_F(EmitHostTest, PlanReportsDimsAndBytesAndKeepsTheShapeCache) {
  Build();
  ASSERT_EQ(Run({2, 2}), 0);
  const std::vector<int64_t> shape_cache = runtime_->shape_cache;
  PlanResult plan{sizeof(PlanResult), 0, nullptr};
  ASSERT_EQ(Plan({7, 11}, plan), 0);
  EXPECT_THAT(out_dims_, ElementsAre(7, 11));
  EXPECT_EQ(plan.workspace_bytes, 320u);  // 308 rounded up to 64
  EXPECT_EQ(runtime_->shape_cache, shape_cache);
  EXPECT_EQ(runtime_->grown, 1);
}

TEST_F(EmitHostTest, FaultsAreReportedAfterTheRun) {
  plan_.buffers.push_back({BufferKind::kRow, DType::kF32, {}});
  plan_.fault_count = 2;
  schedule_.scratch_bytes = SlotExpr::Slot(0) * 4;
  symbol_ = "faulty";
  program_.checks.resize(6);
  program_.launches = {{0, "faulty", {0, 2}, {kN * kM}, 4}};
  program_.steps = {{false, 0}};
  program_.buffers[1].place = Place::kInput;
  program_.memory = {};
  Build(/*workers=*/3);
  EXPECT_EQ(Run({2, 10}), 105);
  EXPECT_THAT(runtime_->failure, ElementsAre(5, -7, 5));
  EXPECT_EQ(runtime_->context.workspace_bytes, 3 * 128u);  // 80 bytes a worker, rounded up
  EXPECT_EQ(runtime_->context.workspace[0], 99);
}

TEST_F(EmitHostTest, UnboundSymbolIsNamed) {
  program_.bindings.pop_back();
  llvm::Module module("host", llvm_);
  auto emission = EmitHostPrograms({program_}, {KernelOnHost(symbol_, &plan_, &schedule_)}, KernelPlace::kHost, module);
  ASSERT_FALSE(emission.ok());
  EXPECT_THAT(std::string(emission.status().message()), HasSubstr("needs symbol 1, which is unbound"));
}

// The same programs where kernels run on a device: the runtime is asked to launch them.
class EmitDeviceHostTest : public EmitHostTest {
 protected:
  struct Launched {
    int32_t kernel;
    std::vector<int64_t> args, grid;
    friend bool operator==(const Launched&, const Launched&) = default;
  };

  EmitDeviceHostTest() {
    const SlotExpr d0 = SlotExpr::Slot(0);
    kernel_ = {"k0", &plan_, EmittedKernel::OnDevice{.first = 5}};
    versions() = {
        {.guards = {{Guard::Kind::kAtMost, 0, -1, 8}}, .blocks = 1, .shared_bytes = d0 * 4, .scratch_bytes = 0},
        {.guards = {}, .blocks = d0, .shared_bytes = 64, .scratch_bytes = 100, .cooperative = true}};
  }

  void BuildForDevice() {
    auto host = std::make_unique<llvm::Module>("host", llvm_);
    auto emission = EmitHostPrograms({program_}, {kernel_}, KernelPlace::kDevice, *host);
    ASSERT_TRUE(emission.ok()) << emission.status();
    fault_word_ = emission->fault_word;
    std::vector<std::unique_ptr<llvm::MemoryBuffer>> objects;
    objects.push_back(CompileIr(std::move(host)));
    auto image = LinkImage(std::move(objects), {"tailor_run", "tailor_plan"});
    ASSERT_TRUE(image.ok()) << image.status();
    image_ = std::make_unique<CodeImage>(*image);
    runtime_ = std::make_unique<FakeRuntime>(emission->shape_cache_slots, 1);
    launches_.clear();
    runtime_->api.launch = [](RtContext*, int32_t device, int32_t kernel, const int64_t* args, const LaunchGrid* grid) {
      EXPECT_EQ(device, 1);
      launches_.push_back({kernel, {args, args + slots_}, {grid->blocks, grid->shared_bytes, grid->cooperative}});
      return refuse_ == kernel ? 55 : 0;
    };
  }

  std::vector<DeviceLaunch>& versions() { return std::get<EmittedKernel::OnDevice>(kernel_.launches).versions; }

  EmittedKernel kernel_;
  int64_t fault_word_ = 0;
  static inline int slots_ = 3, refuse_ = -1;
  static inline std::vector<Launched> launches_;
};

int64_t AddressOf(const void* data) { return reinterpret_cast<int64_t>(data); }

TEST_F(EmitDeviceHostTest, TheVersionSaysWhichKernelAndWhatGrid) {
  BuildForDevice();
  ASSERT_EQ(Run({2, 3}), 0);
  const int64_t block = AddressOf(runtime_->context.workspace);
  const int64_t result = AddressOf(runtime_->buffers[0].data());
  EXPECT_EQ(launches_, (std::vector<Launched>{{5, {AddressOf(x_.data()), block, 6}, {1, 24, 0}},
                                              {5, {block, result, 6}, {1, 24, 0}}}));
  launches_.clear();
  ASSERT_EQ(Run({3, 3}), 0);
  ASSERT_EQ(launches_.size(), 2u);
  EXPECT_EQ(launches_[0].kernel, 6);
  EXPECT_THAT(launches_[0].grid, ElementsAre(9, 64, 1));
  launches_.clear();
  ASSERT_EQ(Run({0, 3}), 0);  // one block of no elements, as the version says
  EXPECT_EQ(launches_.size(), 2u);
  EXPECT_EQ(fault_word_, -1);
}

TEST_F(EmitDeviceHostTest, ScratchIsThatOfAllBlocks) {
  plan_.buffers.push_back({BufferKind::kRow, DType::kF32, {}});
  slots_ = 5;
  versions()[1].cooperative = false;
  BuildForDevice();
  ASSERT_EQ(Run({5, 10}), 0);
  // A block of 200 bytes in cache lines, then 50 slices of 100 bytes, likewise.
  EXPECT_EQ(runtime_->context.workspace_bytes, 256u + 50 * 128);
  EXPECT_EQ(launches_[0].args[3], AddressOf(runtime_->context.workspace) + 256);
  EXPECT_EQ(launches_[0].args[4], 128);
  slots_ = 3;
}

TEST_F(EmitDeviceHostTest, BlocksThatMeetShareTheirScratch) {
  plan_.buffers.push_back({BufferKind::kRow, DType::kF32, {}});
  slots_ = 5;
  BuildForDevice();
  ASSERT_EQ(Run({5, 10}), 0);
  EXPECT_EQ(runtime_->context.workspace_bytes, 256u + 128);
  slots_ = 3;
}

TEST_F(EmitDeviceHostTest, PersistentVersionsHaveTheBlocksThatRunAtTheSameTime) {
  plan_.buffers.push_back({BufferKind::kRow, DType::kF32, {}});
  slots_ = 5;
  versions()[1].resident_blocks = 3;
  versions()[1].cooperative = false;
  BuildForDevice();
  runtime_->context.workers = 4;
  ASSERT_EQ(Run({5, 10}), 0);
  EXPECT_EQ(launches_[0].grid[0], 12);
  EXPECT_EQ(runtime_->context.workspace_bytes, 256u + 12 * 128);
  launches_.clear();
  ASSERT_EQ(Run({1, 11}), 0);  // there is work for 11
  EXPECT_EQ(launches_[0].grid[0], 11);
  launches_.clear();
  ASSERT_EQ(Run({2, 4}), 0);  // the other version
  EXPECT_EQ(launches_[0].grid[0], 1);
  slots_ = 3;
}

// d0 blocks of 10 clocks, or half of them, of 25: which takes fewer depends on how many turns of all multiprocessors
// they are.
TEST_F(EmitDeviceHostTest, ClocksDecideAmongVersionsThatHaveSome) {
  const SlotExpr d0 = SlotExpr::Slot(0), half = SlotExpr::CeilDiv(d0, 2), workers = SlotExpr::Workers();
  const auto turns = [&](const SlotExpr& tasks) { return SlotExpr::FloorDiv(tasks + workers - 1, workers); };
  versions() = {{.clocks = 10 * turns(d0), .blocks = d0}, {.clocks = 25 * turns(half), .blocks = half}};
  BuildForDevice();
  runtime_->context.workers = 4;
  const auto chosen = [&](int64_t blocks) {
    launches_.clear();
    EXPECT_EQ(Run({1, blocks}), 0);
    return launches_[0].kernel - 5;
  };
  EXPECT_EQ(chosen(4), 0);   // 10 against 25
  EXPECT_EQ(chosen(8), 0);   // 20 against 25
  EXPECT_EQ(chosen(24), 0);  // 60 against 75
  EXPECT_EQ(chosen(22), 0);  // 60 against 75
  versions()[1].clocks = 20 * turns(half);
  BuildForDevice();
  runtime_->context.workers = 4;
  EXPECT_EQ(chosen(8), 0);  // 20 each: the first
  EXPECT_EQ(chosen(9), 0);  // 30 against 40
  versions()[1].clocks = 19 * turns(half);
  BuildForDevice();
  runtime_->context.workers = 4;
  EXPECT_EQ(chosen(8), 1);  // 20 against 19
  EXPECT_EQ(chosen(4), 0);  // 10 against 19
}

// Of the versions 0, 1 and 2 the first two have equal grids, and 0 is taken where 1 does not hold.
TEST_F(EmitDeviceHostTest, TheGridIsThatOfTheVersionTaken) {
  const DeviceLaunch one = versions()[0];
  versions().insert(versions().begin(), one);
  versions()[1].guards[0].number = 4;
  BuildForDevice();
  ASSERT_EQ(Run({2, 3}), 0);
  EXPECT_EQ(launches_[0].kernel, 5);
  EXPECT_THAT(launches_[0].grid, ElementsAre(1, 24, 0));
}

TEST_F(EmitDeviceHostTest, ARefusedLaunchEndsTheRun) {
  BuildForDevice();
  refuse_ = 5;
  EXPECT_EQ(Run({2, 3}), 55);
  refuse_ = -1;
  EXPECT_EQ(launches_.size(), 1u);
}

TEST_F(EmitDeviceHostTest, FaultsAreForTheRuntimeToFindWhenTheDeviceIsDone) {
  plan_.fault_count = 1;
  program_.checks.resize(4);
  program_.launches[0].first_fault_check = program_.launches[1].first_fault_check = 2;
  slots_ = 5;
  BuildForDevice();
  ASSERT_GE(fault_word_, 0);
  runtime_->shape_cache[fault_word_] = 3;  // what a kernel of an earlier run wrote stays
  ASSERT_EQ(Run({2, 3}), 0);
  EXPECT_EQ(runtime_->shape_cache[fault_word_], 3);
  EXPECT_EQ(launches_[0].args[3], AddressOf(&runtime_->shape_cache[fault_word_]));
  EXPECT_EQ(launches_[0].args[4], 2);
  slots_ = 3;
}

}  // namespace
}  // namespace tailor::host

// Kernels of whole graphs, emitted for a GPU and run by the emulator, give what the CPU's kernels of the same plans
// give: every version whose guards hold, at shapes where threads and vectors come out even and where they do not.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/cpu/emit_cpu.h"
#include "codegen/cuda/loops/emit_loops.h"
#include "codegen/cuda/ptx/target.h"
#include "codegen/lower/lower_graph.h"
#include "codegen/plan/attention.h"
#include "codegen/plan/long_tasks.h"
#include "codegen/plan/plan_queries.h"
#include "exec/host_abi.h"
#include "graph/element.h"
#include "graph/text.h"
#include "gtest/gtest.h"
#include "tests/codegen/cpu/poll_counter.h"
#include "tests/codegen/link/ir_image.h"
#include "tests/emulator/simt_emulator.h"
#include "tests/support/every_op.h"

namespace tailor::cuda {
namespace {

using Bytes = std::vector<std::byte>;

bool IsBound(const Buffer& buffer) { return buffer.kind == BufferKind::kInput || buffer.kind == BufferKind::kOutput; }

int64_t ValueOf(const DimSize& dim_size, const std::vector<int64_t>& dims) {
  return dim_size.is_constant() ? dim_size.constant : dims[dim_size.slot];
}

int64_t ElementsOf(const Buffer& buffer, const std::vector<int64_t>& dims) {
  int64_t elements = 1;
  for (const DimSize& dim_size : buffer.dims) elements *= ValueOf(dim_size, dims);
  return elements;
}

// Small numbers: as indices most are in range, and sums of them are exact in any order.
Bytes RandomBytes(DType dtype, int64_t elements, std::mt19937& random) {
  Bytes bytes(elements * SizeOf(dtype));
  for (int64_t i = 0; i < elements; ++i) {
    const auto number = static_cast<double>(random() % 4);
    ElementFromDouble(dtype, IsFloat(dtype) ? number * 0.25 : number, &bytes[i * SizeOf(dtype)]);
  }
  return bytes;
}

double ToleranceOf(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return 1e-12;
    case DType::kF32:
      return 1e-5;
    case DType::kF16:
      return 2e-3;
    default:
      return 2e-2;
  }
}

// A difference between two buffers of `dtype`, or nothing.
std::string Difference(DType dtype, const Bytes& got, const Bytes& want) {
  for (int64_t i = 0; i < static_cast<int64_t>(want.size()) / SizeOf(dtype); ++i) {
    if (IsFloat(dtype)) {
      const double g = ElementToDouble(dtype, &got[i * SizeOf(dtype)]);
      const double w = ElementToDouble(dtype, &want[i * SizeOf(dtype)]);
      if (std::isnan(g) && std::isnan(w)) continue;
      if (g == w || std::abs(g - w) <= ToleranceOf(dtype) * (1 + std::abs(w))) continue;
      return absl::StrCat("element ", i, " is ", g, " instead of ", w);
    }
    const int width = SizeOf(dtype);
    if (std::memcmp(got.data() + i * width, want.data() + i * width, width) == 0) continue;
    return absl::StrCat("element ", i, " differs");
  }
  return "";
}

bool Holds(const Guard& guard, const std::vector<int64_t>& dims) {
  const int64_t value = guard.slot >= 0 ? dims[guard.slot] : *guard.value.Evaluate(dims);
  switch (guard.kind) {
    case Guard::Kind::kValueAtLeast:
      return value >= guard.number;
    case Guard::Kind::kValueAtMost:
      return value <= guard.number;
    case Guard::Kind::kDivides:
      return value % guard.number == 0;
    case Guard::Kind::kEqual:
      return value == (guard.other < 0 ? guard.number : dims[guard.other]);
    case Guard::Kind::kAtMost:
      return value <= guard.number;
    case Guard::Kind::kAtLeast:
      return value >= guard.number;
    default:
      return false;
  }
}

// The kernels of one graph on both machines.
class Kernels {
 public:
  explicit Kernels(const Graph& graph) {
    const CudaTarget gpu = *FindCudaTarget("simt");
    auto lowered = lower::LowerGraph(graph, gpu.traits);
    EXPECT_TRUE(lowered.ok()) << lowered.status();
    for (KernelPlan& plan : lowered->kernels) {
      if (!plan.IsContraction() && !plan.IsAttention()) plans_.push_back(std::move(plan));
    }
    llvm::LLVMContext context;
    auto host = std::make_unique<llvm::Module>("host", context);
    llvm::Module device("device", context);
    const CpuTarget& cpu = HostCpuTarget();
    std::vector<std::string> entries;
    for (size_t i = 0; i < plans_.size(); ++i) {
      const std::string name = absl::StrCat("k", i);
      schedules_.push_back(ScheduleCudaLoops(plans_[i], gpu.traits));
      EXPECT_TRUE(EmitCudaLoops(plans_[i], schedules_[i], name, device).ok());
      cpu_.push_back(cpu::ScheduleOnCpu(plans_[i], cpu.traits));
      EXPECT_TRUE(cpu::EmitOnCpu(plans_[i], cpu_[i], EmitTarget::Of(cpu.traits), name, *host).ok());
      entries.push_back(absl::StrCat(name, "_v", cpu_[i].versions.size() - 1));
    }
    emulator_ = std::make_unique<SimtEmulator>(device);
    std::vector<std::unique_ptr<llvm::MemoryBuffer>> objects;
    objects.push_back(CompileIr(std::move(host)));
    auto image = LinkImage(objects, entries);
    EXPECT_TRUE(image.ok()) << image.status();
    image_ = std::make_unique<CodeImage>(*image);
  }

  // `bytes_off` moves all buffers that far from where vectors would be whole.
  void ExpectEqual(const std::vector<int64_t>& symbols, int bytes_off = 0) {
    for (size_t i = 0; i < plans_.size(); ++i) {
      SCOPED_TRACE(absl::StrCat(plans_[i].name, "\n", plans_[i].Text(), schedules_[i].Text()));
      ExpectEqual(static_cast<int>(i), symbols, bytes_off);
      if (testing::Test::HasFailure()) return;
    }
  }
  int versions_run() const { return versions_run_; }
  int versions_met() const { return versions_met_; }  // in which blocks shared points

 private:
  // Memory of all buffers, with their argument slots.
  struct Arguments {
    std::vector<Bytes> memory;  // by buffer
    std::vector<int64_t> slots;
    Bytes scratch;
    std::vector<int64_t> fault = std::vector<int64_t>(4);
    Bytes launch_scratch;
    uint32_t grid_sync = 0;
  };

  void Fill(const KernelPlan& plan, const std::vector<int64_t>& dims, int64_t scratch_bytes, int64_t slices,
            int bytes_off, Arguments& a) {
    for (size_t b = 0; b < plan.buffers.size(); ++b) {
      if (!IsBound(plan.buffers[b])) continue;
      a.slots.push_back(reinterpret_cast<int64_t>(a.memory[b].data()) + bytes_off);
    }
    a.slots.insert(a.slots.end(), dims.begin(), dims.end());
    if (HasScratch(plan)) {
      a.scratch.resize(scratch_bytes * slices + 64);
      a.slots.push_back(reinterpret_cast<int64_t>(a.scratch.data()) / 64 * 64 + 64);
      a.slots.push_back(scratch_bytes);
    }
    if (plan.fault_count > 0) {
      a.slots.push_back(reinterpret_cast<int64_t>(a.fault.data()));
      a.slots.push_back(100);
    }
  }

  // The last slots of a version whose blocks meet.
  void FillGridSync(const CudaVersion& version, const std::vector<int64_t>& dims, Arguments& a) {
    a.launch_scratch.resize(*version.scratch_bytes.Evaluate(dims) + 64);
    a.slots.push_back(reinterpret_cast<int64_t>(a.launch_scratch.data()) / 64 * 64 + 64);
    a.slots.push_back(reinterpret_cast<int64_t>(&a.grid_sync));
    a.slots.push_back(*version.parts.Evaluate(dims));
  }

  void ExpectEqual(int number, const std::vector<int64_t>& symbols, int bytes_off) {
    const KernelPlan& plan = plans_[number];
    std::vector<int64_t> dims;
    for (const DimSlot& slot : plan.dims) {
      const auto value = slot.value.Evaluate(symbols);
      ASSERT_TRUE(value.has_value());
      dims.push_back(*value);
    }
    std::mt19937 random(static_cast<uint32_t>(number));
    Arguments want{.memory = std::vector<Bytes>(plan.buffers.size())};
    for (size_t b = 0; b < plan.buffers.size(); ++b) {
      if (!IsBound(plan.buffers[b])) continue;
      want.memory[b] = RandomBytes(plan.buffers[b].dtype, ElementsOf(plan.buffers[b], dims), random);
      want.memory[b].insert(want.memory[b].begin(), bytes_off, std::byte{0});
    }
    const std::vector<Bytes> before = want.memory;
    const Schedule& cpu = cpu_[number];
    const int64_t bytes = (*cpu.scratch_bytes.Evaluate(dims) + 63) / 64 * 64;
    Fill(plan, dims, bytes, 1, bytes_off, want);
    const PollCounter run;
    if (PollsOnHost(plan, cpu)) want.slots.push_back(run.slot());
    const auto function = image_->Find<KernelFn>(absl::StrCat("k", number, "_v", cpu.versions.size() - 1));
    function(want.slots.data(), 0, *cpu.tasks.Evaluate(dims), 0);

    for (size_t v = 0; v < schedules_[number].versions.size(); ++v) {
      const CudaVersion& version = schedules_[number].versions[v];
      const std::vector<Guard>& guards = version.version.guards;
      if (!std::all_of(guards.begin(), guards.end(), [&](const Guard& guard) { return Holds(guard, dims); })) continue;
      Arguments got{.memory = before};
      // Few blocks, so that each has several points.
      const int64_t blocks = std::min<int64_t>(3, *version.blocks.Evaluate(dims));
      if (blocks == 0) continue;
      Fill(plan, dims, version.cooperative ? 0 : *version.scratch_bytes.Evaluate(dims), blocks, bytes_off, got);
      if (version.cooperative) FillGridSync(version, dims, got);
      const SimtGrid grid{.blocks = blocks,
                          .threads = version.threads,
                          .shared_bytes = *version.shared_bytes.Evaluate(dims),
                          .cooperative = version.cooperative};
      const std::string name = absl::StrCat("k", number, "_v", v);
      ASSERT_EQ(emulator_->Launch(name, grid, got.slots.data(), 1 + number), "");
      ++versions_run_;
      versions_met_ += version.cooperative;
      for (size_t b = 0; b < plan.buffers.size(); ++b) {
        if (!IsBound(plan.buffers[b])) continue;
        const Bytes g(got.memory[b].begin() + bytes_off, got.memory[b].end());
        const Bytes w(want.memory[b].begin() + bytes_off, want.memory[b].end());
        ASSERT_EQ(Difference(plan.buffers[b].dtype, g, w), "") << name << " buffer " << b;
      }
      // Threads race for the record: which fault it tells of is open, not whether.
      EXPECT_EQ(got.fault[0] != 0, want.fault[0] != 0);
    }
  }

  std::vector<KernelPlan> plans_;
  std::vector<CudaSchedule> schedules_;
  std::vector<Schedule> cpu_;
  std::unique_ptr<SimtEmulator> emulator_;
  std::unique_ptr<CodeImage> image_;
  int versions_run_ = 0, versions_met_ = 0;
};

class EveryOpOnBoth : public testing::TestWithParam<DType> {};

TEST_P(EveryOpOnBoth, GivesTheSame) {
  const bool in_slice = GetParam() == DType::kF32 || GetParam() == DType::kI8;
  if (!in_slice && std::getenv("TAILOR_TEST_ALL") == nullptr) GTEST_SKIP() << "needs TAILOR_TEST_ALL=1";
  Kernels kernels(EveryOp(GetParam()));
  for (const auto& shape : {std::vector<int64_t>{1, 1}, {3, 5}, {4, 16}, {33, 40}}) {
    SCOPED_TRACE(absl::StrCat("M ", shape[0], ", N ", shape[1]));
    kernels.ExpectEqual(shape);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Cuda, EveryOpOnBoth, testing::ValuesIn(kEveryDType),
                         [](const auto& info) { return std::string(NameOf(info.param)); });

struct RowCase {
  const char* name;
  const char* text;
};

constexpr RowCase kRowCases[] = {
    {"Softmax", R"(graph @g(%x: f32[R, C]) {
  %m = reduce_max %x {axes = [1], keep_dims = 1}
  %s = sub %x, %m
  %e = exp %s
  %t = reduce_sum %e {axes = [1], keep_dims = 1}
  %y = div %e, %t
  return %y
})"},
    {"NormOfHalves", R"(graph @g(%x: bf16[R, C], %g: bf16[C]) {
  %mean = reduce_mean %x {axes = [1], keep_dims = 1}
  %c = sub %x, %mean
  %q = mul %c, %c
  %v = reduce_mean %q {axes = [1], keep_dims = 1}
  %y = mul %c, %g
  return %y, %v
})"},
    {"SumsOfRows", R"(graph @g(%x: f64[R, C]) {
  %s = reduce_sum %x {axes = [1]}
  return %s
})"},
    {"SumsOfColumns", R"(graph @g(%x: f32[C, R]) {
  %s = reduce_sum %x {axes = [0]}
  %m = reduce_max %x {axes = [0]}
  %y = add %s, %m
  return %y
})"},
    {"SumOfAll", R"(graph @g(%x: i32[R, C]) {
  %s = reduce_sum %x {axes = [0, 1]}
  return %s
})"},
    {"MiddleSums", R"(graph @g(%x: f32[R, C, 12]) {
  %s = reduce_sum %x {axes = [1]}
  return %s
})"},
    {"ReversedRows", R"(graph @g(%x: f32[R, C]) {
  %m = reduce_max %x {axes = [1], keep_dims = 1}
  %s = sub %x, %m
  %e = exp %s
  %t = reduce_sum %e {axes = [1], keep_dims = 1}
  %d = div %e, %t
  %y = slice %d {starts = [0, C - 1], sizes = [R, C], steps = [1, -1]}
  return %y
})"},
    {"PerhapsBroadcast", R"(graph @g(%x: f32[R, C], %b: f32[D]) {
  %y = add %x, %b
  %e = exp %y
  return %e
})"},
    {"BiasOfBytes", R"(graph @g(%x: u8[R, C], %b: u8[C]) {
  %y = add %x, %b
  return %y
})"},
    {"Transposed", R"(graph @g(%x: f32[R, C], %b: f32[C, R]) {
  %t = transpose %x {permutation = [1, 0]}
  %y = add %t, %b
  return %y
})"},
    {"Rows", R"(graph @g(%t: f32[C, 8], %i: i32[R]) {
  %y = gather %t, %i
  return %y
})"},
};

class RowsOnBoth : public testing::TestWithParam<RowCase> {};

TEST_P(RowsOnBoth, GiveTheSame) {
  const auto graph = ParseGraph(GetParam().text);
  ASSERT_TRUE(graph.ok()) << graph.status();
  Kernels kernels(*graph);
  const bool perhaps = graph->symbols().size() > 2;
  for (const auto& [rows, columns] :
       {std::pair<int64_t, int64_t>{1, 1}, {5, 30}, {37, 32}, {70, 64}, {9, 1000}, {3, 1500}, {2, 2048}, {1, 13000}}) {
    for (int bytes_off : {0, 8}) {
      SCOPED_TRACE(absl::StrCat(rows, " x ", columns, ", ", bytes_off, " bytes off"));
      std::vector<int64_t> symbols = {rows, columns};
      if (std::string(GetParam().name) == "SumsOfColumns") symbols = {columns, rows};
      if (perhaps) symbols.push_back(bytes_off == 0 ? columns : 1);
      kernels.ExpectEqual(symbols, bytes_off);
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(kernels.versions_run(), 0);
  const bool reduces = std::string(GetParam().text).find("reduce") != std::string::npos;
  EXPECT_EQ(kernels.versions_met() > 0, reduces);
}

INSTANTIATE_TEST_SUITE_P(Cuda, RowsOnBoth, testing::ValuesIn(kRowCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tailor::cuda

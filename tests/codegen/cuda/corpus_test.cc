// Every kernel that a corpus of graphs becomes with a GPU's traits assembles for every architecture: all ops with all
// element types, graphs that were once trouble, random ones. A slice of it, all with TAILOR_TEST_ALL=1.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "codegen/cuda/emit_cuda.h"
#include "codegen/cuda/backend/retry_on_spill.h"
#include "codegen/cuda/ptx/assembler.h"
#include "codegen/cuda/ptx/device_images.h"
#include "codegen/jobs/job_pool.h"
#include "codegen/lower/lower_graph.h"
#include "codegen/lower/lowered_program.h"
#include "gmock/gmock.h"
#include "graph/status_macros.h"
#include "graph/text.h"
#include "gtest/gtest.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "tests/support/every_op.h"
#include "tests/support/may_refuse.h"
#include "tests/support/random_graph.h"

namespace tailor::cuda {
namespace {

constexpr int kKernelsPerModule = 40;

bool TestAll() { return std::getenv("TAILOR_TEST_ALL") != nullptr; }

// Distinct plans.
class Corpus {
 public:
  explicit Corpus(const CudaTarget& target) : target_(target) {}
  void Add(const Graph& graph) {
    const auto lowered = lower::LowerGraph(graph, target_.traits);
    ASSERT_TRUE(lowered.ok()) << lowered.status();
    AddPlans(*lowered);
  }
  // Of RandomGraph(seed), which may contradict itself.
  void AddRandom(uint64_t seed) {
    const Graph graph = RandomGraph(seed, {.control = true});
    const auto lowered = lower::LowerGraph(graph, target_.traits);
    if (lowered.ok()) return AddPlans(*lowered);
    EXPECT_TRUE(MayRefuse(graph, lowered.status(), seed)) << seed << ": " << lowered.status();
  }
  std::vector<KernelPlan> Plans() const {
    std::vector<KernelPlan> plans;
    for (const auto& [text, plan] : plans_) plans.push_back(plan);
    return plans;
  }

 private:
  void AddPlans(const lower::LoweredProgram& lowered) {
    for (const KernelPlan& plan : lowered.kernels) {
      ASSERT_FALSE(plan.IsChain()) << "GPUs run no chains";
      plans_.emplace(plan.Text(), plan);
    }
  }

  const CudaTarget& target_;
  std::map<std::string, KernelPlan> plans_;
};

// Whether nothing lightens what spills: a product of 64-bit integers that has no tile but 64 x 64. It is kept, and
// said.
bool IsKept(const KernelPlan& plan, const AssemblerProblem& problem) {
  return problem.spills && plan.IsContraction() && plan.buffers[0].dtype == DType::kI64;
}

// Emits all of `plans` and assembles them. Those with which the assembler finds fault are retried as a compilation
// mends them and made again, until it finds none. Mathematics is that of the CPU's kernels: what the machine
// approximates is not used, but for `approximate`.
void ExpectAssembles(std::vector<KernelPlan> plans, const CudaTarget& target, const std::string& approximate) {
  std::vector<CudaSchedule> schedules;
  for (const KernelPlan& plan : plans) {
    auto schedule = ScheduleOnCuda(plan, target.traits);
    ASSERT_TRUE(schedule.ok()) << schedule.status() << "\n" << plan.Text();
    schedules.push_back(*std::move(schedule));
  }
  for (int turn = 1; !plans.empty(); ++turn) {
    std::vector<std::string> modules((plans.size() + kKernelsPerModule - 1) / kKernelsPerModule);
    const auto emit = [&](int number) -> absl::Status {
      llvm::LLVMContext context;
      auto module = std::make_unique<llvm::Module>(absl::StrCat("kernels", number), context);
      const size_t first = number * kKernelsPerModule, end = std::min(plans.size(), first + kKernelsPerModule);
      for (size_t i = first; i < end; ++i) {
        TAILOR_RETURN_IF_ERROR(EmitOnCuda(plans[i], schedules[i], absl::StrCat("k", i), *module));
      }
      TAILOR_ASSIGN_OR_RETURN(modules[number], CompileDeviceModule(std::move(module), target));
      return absl::OkStatus();
    };
    const absl::Status emitted =
        RunJobs(2, static_cast<int>(modules.size()), emit, [](double) { return absl::OkStatus(); });
    ASSERT_TRUE(emitted.ok()) << target.name << ": " << emitted;
    const auto made = MakeDeviceImages(modules, target);
    ASSERT_TRUE(made.ok()) << target.name << ": " << made.status();
    EXPECT_FALSE(made->images.empty());
    std::map<size_t, VersionFaults> faults;  // by number of the kernel
    for (const AssemblerProblem& problem : made->problems) {
      size_t kernel;
      int version;
      ASSERT_EQ(std::sscanf(problem.kernel.c_str(), "k%zu_v%d", &kernel, &version), 2) << problem.kernel;
      faults[kernel].emplace(version, problem);
    }
    for (const DeviceImages::Image& image : made->images) {
      if (image.kind != DeviceImageKind::kPtx) continue;
      std::string ptx(reinterpret_cast<const char*>(image.bytes.data()), image.bytes.size());
      if (!approximate.empty()) absl::StrReplaceAll({{approximate, ""}}, &ptx);
      for (const char* inexact : {".approx", ".full", ".ftz"})
        EXPECT_THAT(ptx, testing::Not(testing::HasSubstr(inexact)));
    }
    std::vector<KernelPlan> faulty;
    std::vector<CudaSchedule> retried;
    for (const auto& [kernel, of_versions] : faults) {
      std::vector<std::string> dropped;
      std::map<int, std::string> notes;
      const bool changed = RetryOnSpill(of_versions, turn, schedules[kernel], dropped, notes);
      const AssemblerProblem& problem = of_versions.begin()->second;
      EXPECT_TRUE(changed || IsKept(plans[kernel], problem))
          << target.name << ", turn " << turn << ": " << problem.kernel << ": " << problem.Summary() << "\n"
          << plans[kernel].name << "\n"
          << plans[kernel].Text() << schedules[kernel].Text();
      if (!changed) continue;
      faulty.push_back(plans[kernel]);
      retried.push_back(schedules[kernel]);
    }
    plans = std::move(faulty);
    schedules = std::move(retried);
  }
}

// The same of all plans; exponentials of attention are rounded to 16 bits (online_softmax.h).
void ExpectAssembles(std::vector<KernelPlan> plans, const std::vector<CudaTarget>& targets) {
  const auto attention =
      std::partition(plans.begin(), plans.end(), [](const KernelPlan& plan) { return !plan.IsAttention(); });
  for (const CudaTarget& target : targets) {
    ExpectAssembles({plans.begin(), attention}, target, "");
    ExpectAssembles({attention, plans.end()}, target, "ex2.approx.ftz.f32");
  }
}

class CudaCorpus : public testing::Test {
 protected:
  void SetUp() override {
    if (!FindAssembler().ok()) GTEST_SKIP() << FindAssembler().status().message();
  }

  // All that graphs are lowered for have equal traits.
  const std::vector<CudaTarget> targets_ = {*FindCudaTarget("sm_80"), *FindCudaTarget("sm_90"),
                                            *FindCudaTarget("sm_90a")};
};

// Some element types, each on one target in turn, unless all is to be tested.
TEST_F(CudaCorpus, EveryOp) {
  for (size_t turn = 0; turn < targets_.size(); ++turn) {
    Corpus corpus(targets_[turn]);
    for (DType dtype : kEveryDType) {
      const bool in_slice = IsFloat(dtype) || dtype == DType::kBool || dtype == DType::kI8 || dtype == DType::kI32;
      const bool in_turn = in_slice && static_cast<size_t>(dtype) % targets_.size() == turn;
      if (TestAll() || in_turn) corpus.Add(EveryOp(dtype));
    }
    const std::vector<KernelPlan> plans = corpus.Plans();
    EXPECT_GT(plans.size(), 80u);
    ExpectAssembles(plans, {targets_[turn]});
  }
}

// Each on one target a day, unless all is to be tested.
TEST_F(CudaCorpus, GraphsThatWereOnceTrouble) {
  const size_t today = std::time(nullptr) / 86400;
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(TAILOR_REGRESSIONS)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  for (size_t turn = 0; turn < targets_.size(); ++turn) {
    Corpus corpus(targets_[turn]);
    for (size_t i = 0; i < paths.size(); ++i) {
      if (!TestAll() && (i + today) % targets_.size() != turn) continue;
      std::ifstream file(paths[i]);
      const std::string text(std::istreambuf_iterator<char>(file), {});
      const auto graph = ParseGraph(text, SeededConstant);
      ASSERT_TRUE(graph.ok()) << paths[i] << ": " << graph.status();
      corpus.Add(*graph);
    }
    const std::vector<KernelPlan> plans = corpus.Plans();
    EXPECT_GT(plans.size(), paths.size() / targets_.size());
    ExpectAssembles(plans, {targets_[turn]});
  }
}

// Each on one target in turn, unless all is to be tested.
TEST_F(CudaCorpus, RandomGraphs) {
  const uint64_t count = TestAll() ? 500 : 21;
  for (size_t turn = 0; turn < targets_.size(); ++turn) {
    Corpus corpus(targets_[turn]);
    for (uint64_t seed = 0; seed < count; ++seed) {
      if (TestAll() || seed % targets_.size() == turn) corpus.AddRandom(seed);
    }
    const std::vector<KernelPlan> plans = corpus.Plans();
    EXPECT_GT(plans.size(), count / targets_.size());
    ExpectAssembles(plans, {targets_[turn]});
  }
}

}  // namespace
}  // namespace tailor::cuda

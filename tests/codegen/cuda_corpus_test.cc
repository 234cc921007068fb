// Every kernel that a corpus of graphs becomes with a GPU's traits assembles for every architecture: all ops with all
// element types, graphs that were once trouble, random ones. A slice of it, all with TAILOR_TEST_ALL=1.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "codegen/attention/attention.h"
#include "codegen/build_host_program.h"
#include "codegen/cuda/assembler.h"
#include "codegen/cuda/device_images.h"
#include "codegen/cuda/emit_cuda.h"
#include "graph/text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/every_op.h"
#include "tests/support/may_refuse.h"
#include "tests/support/random_graph.h"

namespace tailor {
namespace {

constexpr int kKernelsPerModule = 40;

bool TestAll() { return std::getenv("TAILOR_TEST_ALL") != nullptr; }

// Distinct plans.
class Corpus {
 public:
  explicit Corpus(const CudaTarget& target) : target_(target) {}
  void Add(const Graph& graph) {
    const auto lowered = LowerGraph(graph, target_.traits);
    ASSERT_TRUE(lowered.ok()) << lowered.status();
    AddPlans(*lowered);
  }
  // Of RandomGraph(seed), which may contradict itself.
  void AddRandom(uint64_t seed) {
    const Graph graph = RandomGraph(seed, {.control = true});
    const auto lowered = LowerGraph(graph, target_.traits);
    if (lowered.ok()) return AddPlans(*lowered);
    EXPECT_TRUE(MayRefuse(graph, lowered.status(), seed)) << seed << ": " << lowered.status();
  }
  std::vector<KernelPlan> Plans() const {
    std::vector<KernelPlan> plans;
    for (const auto& [text, plan] : plans_) plans.push_back(plan);
    return plans;
  }

 private:
  void AddPlans(const LoweredProgram& lowered) {
    for (const KernelPlan& plan : lowered.kernels) {
      ASSERT_TRUE(plan.links.empty()) << "GPUs run no chains";
      plans_.emplace(plan.Text(), plan);
    }
  }

  const CudaTarget& target_;
  std::map<std::string, KernelPlan> plans_;
};

// The plan of the kernel "k<i>_v<j>" that `status` names.
std::string PlanNamed(const std::vector<KernelPlan>& plans, const absl::Status& status) {
  const std::string message(status.message());
  const size_t at = message.find("kernel k");
  if (at == std::string::npos) return "";
  const KernelPlan& plan = plans.at(std::stoul(message.substr(at + 8)));
  return absl::StrCat("\n", plan.name, "\n", plan.Text(),
                      ScheduleOnCuda(plan, FindCudaTarget("sm_90")->traits)->Text());
}

// Emits all of `plans` and assembles them, one image a target. Mathematics is that of the CPU's kernels: what the
// machine approximates is not used, but for `approximate`.
void ExpectAssembles(const std::vector<KernelPlan>& plans, const std::vector<CudaTarget>& targets,
                     const std::string& approximate) {
  if (plans.empty()) return;
  const EmitDeviceModule emit = [&](const CudaTarget& target, int number, llvm::Module& module) -> absl::Status {
    const size_t first = number * kKernelsPerModule, end = std::min(plans.size(), first + kKernelsPerModule);
    for (size_t i = first; i < end; ++i) {
      const auto schedule = ScheduleOnCuda(plans[i], target.traits);
      if (!schedule.ok()) return schedule.status();
      const absl::Status status = EmitOnCuda(plans[i], *schedule, absl::StrCat("k", i), module);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  };
  const int modules = static_cast<int>((plans.size() + kKernelsPerModule - 1) / kKernelsPerModule);
  const auto made = MakeDeviceImages(modules, emit, targets, {.threads = 2});
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_GE(made->images.size(), targets.size());
  for (const BuiltDeviceImage& image : made->images) {
    const absl::Status clean = ToStatus(image.problems);
    EXPECT_TRUE(clean.ok()) << image.target << ": " << clean << PlanNamed(plans, clean);
    if (image.kind != DeviceImageKind::kPtx) continue;
    std::string ptx(reinterpret_cast<const char*>(image.bytes.data()), image.bytes.size());
    if (!approximate.empty()) absl::StrReplaceAll({{approximate, ""}}, &ptx);
    for (const char* inexact : {".approx", ".full", ".ftz"})
      EXPECT_THAT(ptx, testing::Not(testing::HasSubstr(inexact)));
  }
}

// The same of all plans; exponentials of attention are rounded to 16 bits (online_rows.h).
void ExpectAssembles(std::vector<KernelPlan> plans, const std::vector<CudaTarget>& targets) {
  const auto attention =
      std::partition(plans.begin(), plans.end(), [](const KernelPlan& plan) { return !IsAttention(plan); });
  ExpectAssembles({plans.begin(), attention}, targets, "");
  ExpectAssembles({attention, plans.end()}, targets, "ex2.approx.f32");
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

TEST_F(CudaCorpus, GraphsThatWereOnceTrouble) {
  Corpus corpus(targets_[0]);
  for (const auto& entry : std::filesystem::directory_iterator(TAILOR_REGRESSIONS)) {
    std::ifstream file(entry.path());
    const std::string text(std::istreambuf_iterator<char>(file), {});
    const auto graph = ParseGraph(text, SeededConstant);
    ASSERT_TRUE(graph.ok()) << entry.path() << ": " << graph.status();
    corpus.Add(*graph);
  }
  ExpectAssembles(corpus.Plans(), targets_);
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
}  // namespace tailor

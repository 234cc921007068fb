#include "exec/executable.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cstring>

#include "tests/exec/sample_tensors.h"
#include "tests/support/sample_program.h"

namespace tailor {
namespace {

Runtime::Options LoggingTo(std::string* log) {
  Runtime::Options options;
  options.log = [](void* user, int32_t, const char* message) {
    *static_cast<std::string*>(user) += message + std::string("\n");
  };
  options.user = log;
  return options;
}

std::string CreateWith(const Program& program, std::string_view target, std::string* log,
                       std::unique_ptr<Executable>* out) {
  const auto runtime = std::make_shared<const Runtime>(LoggingTo(log));
  return Text(Executable::Create(runtime, program, ThisCpu(), target, {}, out));
}

Program TwoVariants() {
  Program program = SampleProgram();
  program.variants.insert(program.variants.begin(), program.variants[0]);
  program.variants[0].target = "future";
  program.variants[0].features = {"sse2", "warp-drive"};
  return program;
}

TEST(Executable, TakesTheBestVariantThatRuns) {
  const Program program = TwoVariants();
  std::string log;
  std::unique_ptr<Executable> executable;
  ASSERT_EQ(CreateWith(program, "", &log, &executable), "OK");
  EXPECT_EQ(executable->variant().target, "x86-64");
  EXPECT_EQ(log,
            "variants not used: future needs warp-drive: this runtime does not know the feature\n"
            "variant x86-64 is used\n");
}

TEST(Executable, MessagesNameTheProgram) {
  Program program = TwoVariants();
  program.display_name = "model.tlr";
  const std::string map = "/tmp/perf-" + std::to_string(getpid()) + ".map";
  ASSERT_EQ(mkdir(map.c_str(), 0700), 0);
  std::string log;
  Runtime::Options options = LoggingTo(&log);
  options.perf_map = true;
  std::unique_ptr<Executable> executable;
  EXPECT_EQ(Text(Executable::Create(std::make_shared<const Runtime>(options), program, ThisCpu(), "", {}, &executable)),
            "OK");
  rmdir(map.c_str());
  EXPECT_EQ(log,
            "model.tlr: variants not used: future needs warp-drive: this runtime does not know the feature\n"
            "model.tlr: variant x86-64 is used\n"
            "model.tlr: cannot write " +
                map + ": Is a directory\n");
}

TEST(Executable, HasTheCostsOfItsMachine) {
  Program program = SampleProgram();
  program.variants[0].machine_costs = {{"GenuineIntel 6", {}}, {"AuthenticAMD 25", {}}};
  CpuId cpu = ThisCpu();
  const auto costs_on = [&](const char(&vendor)[13], uint32_t leaf1_eax) {
    std::memcpy(&cpu.leaf0_ebx, vendor, 4);
    std::memcpy(&cpu.leaf0_edx, vendor + 4, 4);
    std::memcpy(&cpu.leaf0_ecx, vendor + 8, 4);
    cpu.leaf1_eax = leaf1_eax;
    std::unique_ptr<Executable> executable;
    EXPECT_EQ(Text(Executable::Create(std::make_shared<const Runtime>(Runtime::Options()), program, cpu, "", {},
                                      &executable)),
              "OK");
    return &executable->costs();
  };
  const Variant& variant = program.variants[0];
  EXPECT_EQ(costs_on("AuthenticAMD", 0x00a10f11), &variant.machine_costs[1].costs);
  EXPECT_EQ(costs_on("AuthenticAMD", 0x00b40f40), &variant.costs);  // Zen 5
  EXPECT_EQ(costs_on("GenuineIntel", 0x000806f8), &variant.machine_costs[0].costs);
}

TEST(Executable, ListsEveryReasonOfEveryVariant) {
  Program program = TwoVariants();
  program.variants[1].features = {"tail-fins", "sse2", "chrome"};
  program.variants[1].api_size = 1000;
  std::string log;
  std::unique_ptr<Executable> executable;
  EXPECT_EQ(CreateWith(program, "", &log, &executable),
            "9: this machine cannot run the artifact: future needs warp-drive: this runtime does not know the "
            "feature; x86-64 needs tail-fins: this runtime does not know the feature, chrome: this runtime does not "
            "know the feature, it was compiled for a newer runtime library");
  EXPECT_EQ(executable, nullptr);
}

TEST(Executable, TakesTheVariantThatIsNamed) {
  const Program program = TwoVariants();
  std::string log;
  std::unique_ptr<Executable> executable;
  EXPECT_EQ(CreateWith(program, "x86-64", &log, &executable), "OK");
  EXPECT_EQ(CreateWith(program, "future", &log, &executable),
            "9: this machine cannot run the artifact: future needs warp-drive: this runtime does not know the feature");
  EXPECT_EQ(CreateWith(program, "vax", &log, &executable),
            "5: the artifact has no variant \"vax\"; it has future, x86-64");
}

TEST(Executable, PlansWithoutData) {
  const Program program = SampleProgram();
  const auto executable = MakeReady(program);
  const std::vector<Tensor> inputs = {TensorOf(nullptr, 0, DType::kF32, {100, 4}),
                                      TensorOf(nullptr, 0, DType::kF32, {100})};
  std::vector<Tensor> outputs(2);
  uint64_t workspace = 0;
  ASSERT_EQ(Text(executable->Plan(Inputs(inputs), Outputs(outputs), 3, nullptr, &workspace)), "OK");
  EXPECT_EQ(workspace, 448 + 3 * kSampleScratchBytes);
  EXPECT_EQ(outputs[0].rank, 2);
  EXPECT_EQ(outputs[0].dims[0], 100);
  EXPECT_EQ(outputs[0].dims[1], 4);
  EXPECT_EQ(outputs[0].dtype, static_cast<int32_t>(DType::kF32));
  EXPECT_EQ(outputs[1].rank, 1);
  EXPECT_EQ(outputs[1].dims[0], 100);
}

TEST(Executable, PlansFailAsRunsDo) {
  const Program program = SampleProgram();
  const auto executable = MakeReady(program);
  std::vector<Tensor> inputs = {TensorOf(nullptr, 0, DType::kF32, {100, 4}), TensorOf(nullptr, 0, DType::kF32, {7})};
  std::vector<Tensor> outputs(2);
  uint64_t workspace = 77;
  EXPECT_EQ(Text(executable->Plan(Inputs(inputs), Outputs(outputs), 1, nullptr, &workspace)),
            "3: input \"mask\" dim 0 is 7, but N is 100 from input \"x\" dim 0 [masked]");
  inputs[0].rank = 1;
  EXPECT_EQ(Text(executable->Plan(Inputs(inputs), Outputs(outputs), 1, nullptr, &workspace)),
            "3: input \"x\": rank is 1, expected 2");
  outputs.pop_back();
  EXPECT_EQ(Text(executable->Plan(Inputs(inputs), Outputs(outputs), 1, nullptr, &workspace)),
            "3: 1 outputs given, expected 2");
  EXPECT_EQ(workspace, 77u);
  EXPECT_EQ(outputs[0].rank, 0);
}

TEST(Executable, ConstantsWithoutElementsHaveAnAddress) {
  Program program = SampleProgram();
  program.constants.push_back({"nothing", DType::kF32, {0}, ConstantLayout::kRowMajor, {}});
  const auto executable = MakeReady(program);
  EXPECT_EQ(executable->constants()[0], program.constants[0].bytes.data());
  EXPECT_NE(executable->constants()[1], nullptr);
}

}  // namespace
}  // namespace tailor

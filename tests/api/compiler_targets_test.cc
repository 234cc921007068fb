// Compiling for other machines than this one, by option.
#include <cstring>
#include <fstream>
#include <sstream>

#include "tests/api/compiler_fixture.h"

namespace tailor {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

// Features that no one CPU has all of; some is missing here.
constexpr const char* kCandidates[] = {"amx-fp16", "avx512fp16", "avxneconvert", "avxvnniint8", "avx512bf16"};

std::string MissingFeature() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line) && line.rfind("flags", 0) != 0) {
  }
  for (const char* feature : kCandidates) {
    std::string flag = feature;  // the kernel writes avx512_bf16, amx_fp16
    for (size_t at; (at = flag.find('-')) != std::string::npos;) flag[at] = '_';
    if (flag.rfind("avx512", 0) == 0) flag.insert(6, "_");
    if (flag.rfind("avxvnni", 0) == 0) flag = "avx_vnni_int8";
    if (flag.rfind("avxne", 0) == 0) flag = "avx_ne_convert";
    if ((line + " ").find(" " + flag + " ") == std::string::npos) return feature;
  }
  return "";
}

class CompilerTargets : public CompilerTest {
 protected:
  void SetUp() override {
    CompilerTest::SetUp();
    tailor_value y = 0;
    ASSERT_EQ(Text(tailor_graph_exp(graph, x, &y)), "OK");
    ASSERT_EQ(Text(tailor_graph_output(graph, "y", 1, y)), "OK");
  }
  std::string Compile(std::vector<const char*> targets, std::string* description = nullptr) {
    tailor_compile_options options;
    tailor_compile_options_init(&options);
    options.targets = targets.data();
    options.target_count = targets.size();
    tailor_executable* executable = nullptr;
    std::string text = Text(tailor_graph_compile(graph, nullptr, &options, &executable));
    if (executable != nullptr && description != nullptr) {
      const char* json = nullptr;
      EXPECT_EQ(Text(tailor_executable_describe(executable, &json)), "OK");
      *description = json;
    }
    tailor_executable_release(executable);
    return text;
  }
};

TEST_F(CompilerTargets, ArtifactForAnotherMachineIsRefusedWithEveryReason) {
  const std::string missing = MissingFeature();
  ASSERT_NE(missing, "") << "this machine has all of the candidate features";
  const std::string target = "x86-64-v2+" + missing;
  EXPECT_THAT(Compile({target.c_str()}), AllOf(StartsWith("9: "), HasSubstr(target), HasSubstr(missing + ": ")));
}

TEST_F(CompilerTargets, BestVariantThatRunsIsTaken) {
  const std::string missing = MissingFeature();
  ASSERT_NE(missing, "");
  const std::string target = "x86-64-v2+" + missing;
  std::string description;
  EXPECT_EQ(Compile({"x86-64-v2", target.c_str()}, &description), "OK");
  EXPECT_LT(description.find(target), description.find("\"x86-64-v2\""));
}

TEST_F(CompilerTargets, UnknownLevelAndFeatureAreNamed) {
  EXPECT_THAT(Compile({"arm64"}), Invalid("unknown CPU target \"arm64\""));
  EXPECT_THAT(Compile({"x86-64-v3+warp"}), Invalid("unknown feature \"warp\""));
}

}  // namespace
}  // namespace tailor

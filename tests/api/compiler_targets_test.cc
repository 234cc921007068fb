// Compiling for other machines than this one, by option.
#include "tests/api/compiler_fixture.h"

namespace tailor {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

// The compiler knows these features, the runtime knows no CPU that has them: refused wherever the test runs.
constexpr char kElsewhere[] = "x86-64-v2+tbm+xop";

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
  EXPECT_THAT(Compile({kElsewhere}),
              AllOf(StartsWith("9: "), HasSubstr(kElsewhere), HasSubstr("tbm: "), HasSubstr("xop: ")));
}

TEST_F(CompilerTargets, BestVariantThatRunsIsTaken) {
  std::string description;
  EXPECT_EQ(Compile({"x86-64-v2", kElsewhere}, &description), "OK");
  EXPECT_LT(description.find(kElsewhere), description.find("\"x86-64-v2\""));
}

TEST_F(CompilerTargets, UnknownLevelAndFeatureAreNamed) {
  EXPECT_THAT(Compile({"arm64"}), Invalid("unknown CPU target \"arm64\""));
  EXPECT_THAT(Compile({"x86-64-v3+warp"}), Invalid("unknown feature \"warp\""));
}

}  // namespace
}  // namespace tailor

#include "codegen/link/target_machine.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/codegen/link/ir_image.h"

namespace tailor {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(TargetMachine, LevelsContainEachOther) {
  auto v3 = FindCpuTarget("x86-64-v3");
  auto v4 = FindCpuTarget("x86-64-v4");
  ASSERT_TRUE(v3.ok() && v4.ok());
  EXPECT_THAT(v4->features, ::testing::IsSupersetOf(v3->features));
  EXPECT_THAT(v4->features, ::testing::Contains("avx512f"));
  EXPECT_EQ(v4->traits.vector_bytes, 64);
}

TEST(TargetMachine, UnknownNameListsTheKnown) {
  auto target = FindCpuTarget("x86-64-v9");
  ASSERT_FALSE(target.ok());
  EXPECT_EQ(target.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(target.status().message()), AllOf(HasSubstr("x86-64-v9"), HasSubstr("x86-64-v3")));
}

TEST(TargetMachine, AFeatureOfTheLevelIsListedOnce) {
  const auto plain = FindCpuTarget("x86-64-v3"), again = FindCpuTarget("x86-64-v3+avx2+adx+adx");
  ASSERT_TRUE(plain.ok() && again.ok());
  std::vector<std::string> features = plain->features;
  features.push_back("adx");
  EXPECT_EQ(again->features, features);
}

TEST(TargetMachine, EveryLevelCompiles) {
  for (const CpuTarget& target : CpuLevels()) {
    llvm::LLVMContext context;
    EXPECT_NE(CompileIr(ParseIr(context, kScaleIr), target), nullptr) << target.name;
  }
}

}  // namespace
}  // namespace tailor

#include "tests/support/levels.h"

#include "gtest/gtest.h"
#include "tests/codegen/link/ir_image.h"

namespace tailor {
namespace {

// `source` compiled for `compiled_for` and held against `claimed`.
std::string Beyond(const char* compiled_for, const char* claimed, const char* source) {
  llvm::LLVMContext context;
  auto machine = MakeTargetMachine(*FindCpuTarget(compiled_for));
  EXPECT_TRUE(machine.ok());
  auto object = CompileModule(ParseIr(context, source), **machine);
  EXPECT_TRUE(object.ok());
  return InstructionBeyond(**object, *FindCpuTarget(claimed));
}

constexpr char kAddsSixteen[] = R"(
define void @f(ptr %p) {
  %x = load <16 x float>, ptr %p, align 4
  %y = fadd <16 x float> %x, %x
  store <16 x float> %y, ptr %p, align 4
  ret void
})";

TEST(Levels, AnInstructionOfAHigherLevelIsFound) {
  EXPECT_EQ(Beyond("x86-64-v2", "x86-64-v2", kAddsSixteen), "");
  EXPECT_EQ(Beyond("x86-64-v3", "x86-64-v3", kAddsSixteen), "");
  EXPECT_EQ(Beyond("x86-64-v4", "x86-64-v4", kAddsSixteen), "");
  EXPECT_NE(Beyond("x86-64-v3", "x86-64-v2", kAddsSixteen).find("%ymm"), std::string::npos);
  EXPECT_NE(Beyond("x86-64-v4", "x86-64-v3", kAddsSixteen).find("%zmm"), std::string::npos);
}

TEST(Levels, IntegerExtensionsAreFound) {
  constexpr char kClearsLowest[] = R"(
define i64 @f(i64 %x, i64 %n) {
  %below = sub i64 %x, 1
  %cleared = and i64 %x, %below
  %y = shl i64 %cleared, %n
  ret i64 %y
})";
  EXPECT_EQ(Beyond("x86-64-v2", "x86-64-v2", kClearsLowest), "");
  EXPECT_NE(Beyond("x86-64-v3", "x86-64-v2", kClearsLowest), "");
}

TEST(Levels, TheReasonNamesTheFeature) {
  CpuTarget target = *FindCpuTarget("x86-64-v2");
  EXPECT_EQ(WhyNotHere(target), "");
  target.features.push_back("no-such-feature");
  EXPECT_NE(WhyNotHere(target).find("no-such-feature"), std::string::npos);
}

}  // namespace
}  // namespace tailor

#include "exec/replace_costs.h"

#include <gtest/gtest.h>

#include "tests/support/sample_program.h"

namespace tailor {
namespace {

TEST(ReplaceCosts, GivesEveryVariantTheProfile) {
  Program program = SampleProgram();
  program.variants.push_back(program.variants[0]);
  program.variants[0].costs.line_ns = 9;
  program.variants[0].machine_costs = {{"AuthenticAMD 25", {}}};
  EXPECT_TRUE(ReplaceCosts("tile 6x4 1 2 3", &program).ok());
  for (const Variant& variant : program.variants) EXPECT_EQ(variant.costs.Of(6, 4).far_step, 3);
  EXPECT_EQ(program.variants[0].costs.line_ns, 0);
  EXPECT_TRUE(program.variants[0].machine_costs.empty());
}

TEST(ReplaceCosts, NamesTheMistakeAndChangesNothing) {
  Program program = SampleProgram();
  program.variants[0].costs.line_ns = 9;
  const Failure failure = ReplaceCosts("line 1\ntile 6x4 1 2", &program);
  EXPECT_EQ(failure.code, Code::kInvalidArgument);
  EXPECT_EQ(failure.message, "cost profile: line 2: a tile has three costs, none negative");
  EXPECT_EQ(program.variants[0].costs.line_ns, 9);
}

}  // namespace
}  // namespace tailor

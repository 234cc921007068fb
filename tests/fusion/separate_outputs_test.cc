#include "fusion/separate_outputs.h"

#include <gtest/gtest.h>

#include "tests/fusion/fused_text.h"

namespace tailor {
namespace {

TEST(SeparateOutputs, CopiesWhatNoKernelWrites) {
  EXPECT_EQ(TextAfter(SeparateOutputs, R"(
graph @g(%x: f32[N]) {
  %c = constant 2 : f32[]
  %y = mul %x, %c
  return "input" = %x, "first" = %y, "again" = %y, "constant" = %c
})"),
            R"(graph @g(%x: f32[N]) {
  %c = constant 2 : f32[]
  %y = mul %x, %c : f32[N]
  %3 = reshape %x {shape = [N]} : f32[N]
  %4 = reshape %y {shape = [N]} : f32[N]
  %5 = reshape %c {shape = []} : f32[]
  return "input" = %3, "first" = %y, "again" = %4, "constant" = %5
}
)");
}

}  // namespace
}  // namespace tailor

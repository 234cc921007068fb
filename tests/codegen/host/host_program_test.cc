#include "codegen/host/host_program.h"

#include "gtest/gtest.h"

namespace tailor::host {
namespace {

// in0 f32[B, 4*S + 1] -> w0 -> w1 -> out0, with a constant.
struct Fixture {
  Fixture() {
    const DimExpr b = DimExpr::Symbol(*graph.AddSymbol({"B", 1, 8}));
    const DimExpr s = DimExpr::Symbol(*graph.AddSymbol({"S"}));
    const Value x = *graph.AddInput("x", DType::kF32, {b, 4 * s + 1});
    EXPECT_TRUE(graph.AddOutput("y", x).ok());
    using Place = HostBuffer::Place;
    program.symbols = {"B", "S"};
    program.bindings = {{0, 0, 0, 1, 0}, {1, 0, 1, 4, 1}};
    program.checks = {{ShapeCheck::Relation::kAtMost, {}, 8, 0, 0, "too large"},
                      {ShapeCheck::Relation::kEqual, b * s, 12, -1, -1, "product"},
                      {ShapeCheck::Relation::kMultipleOf, s, 3, -1, -1, "multiple"},
                      {ShapeCheck::Relation::kBroadcasts, b, s, -1, -1, "broadcast"}};
    program.shape_check_count = 4;
    program.output_dims = {{b, 384}};
    program.output_numbers = {0};
    program.buffers = {{Place::kInput, 0, DType::kF32, {b, 4 * s + 1}},
                       {Place::kConstant, 2, DType::kF32, {384}},
                       {Place::kWorkspace, 0, DType::kF32, {b, s, 384}, 0, 1},
                       {Place::kOutput, 0, DType::kF32, {b, 384}}};
    program.launches = {{0, "k0_exp", {0, 2}, {b * s}}, {1, "k1_gather", {2, 1, 3}, {b, s}, 4}};
    program.steps = {{false, 0}, {false, 1}};
  }
  Graph graph{"g"};
  HostProgram program;
};

TEST(HostProgram, Text) {
  Fixture f;
  EXPECT_EQ(f.program.Text(), R"(bind B = input 0 dim 0
bind S = (input 0 dim 1 - 1) / 4
check 0: input 0 dim 0 <= 8
check 1: B*S == 12
check 2: S multiple of 3
check 3: B broadcasts with S
output 0 [B, 384]
alloc w0 = 1536*B*S live [0, 1]
launch 0 k0_exp(in0, w0) dims [B*S]
launch 1 k1_gather(w0, c2, out0) dims [B, S] faults from 4
)");
}

}  // namespace
}  // namespace tailor::host

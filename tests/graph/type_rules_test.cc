#include "graph/type_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "graph/text.h"

namespace tailor {
namespace {

using ::testing::HasSubstr;

// The result type of `statement` over arguments such as "%x: f32[B, 4]", or the message without its
// position.
std::string TypeOf(absl::string_view arguments, absl::string_view statement) {
  absl::StatusOr<Graph> graph =
      ParseGraph(absl::StrCat("graph @g(", arguments, ") {\n%y = ", statement, "\nreturn %y\n}"));
  if (graph.ok()) return graph->TypeText(graph->type(graph->outputs()[0].value));
  std::vector<std::string> parts = absl::StrSplit(graph.status().message(), absl::MaxSplits(": ", 1));
  return parts.back();
}

TEST(TypeRules, Elementwise) {
  EXPECT_EQ(TypeOf("%x: f32[B, 4]", "exp %x"), "f32[B, 4]");
  EXPECT_EQ(TypeOf("%x: i32[B]", "neg %x"), "i32[B]");
  EXPECT_EQ(TypeOf("%x: i32[B]", "exp %x"), "exp: operand \"x\" (%x) has type i32, needs f16, bf16, f32 or f64");
  EXPECT_EQ(TypeOf("%x: bool[B]", "abs %x"), "abs: operand \"x\" (%x) has type bool, needs a number");
  EXPECT_EQ(TypeOf("%x: f32[B]", "not %x"), "not: operand \"x\" (%x) has type f32, needs bool or an integer");
  EXPECT_EQ(TypeOf("%x: i32[B]", "floor %x"), "floor: operand \"x\" (%x) has type i32, needs f16, bf16, f32 or f64");
  EXPECT_EQ(TypeOf("%x: u8[B]", "mod %x, %x"), "u8[B]");
  EXPECT_EQ(TypeOf("%x: bool[B]", "shift_left %x, %x"),
            "shift_left: operand \"lhs\" (%x) has type bool, needs an integer");
  EXPECT_EQ(TypeOf("%x: f32[B]", "cast %x {dtype = i8}"), "i8[B]");
  EXPECT_EQ(TypeOf("%x: i64[B], %z: i64[B]", "lt %x, %z"), "bool[B]");
  EXPECT_EQ(TypeOf("%x: f32[B], %z: f16[B]", "add %x, %z"),
            "add: operand \"rhs\" (%z) has type f16, but \"lhs\" (%x) has f32");
}

TEST(TypeRules, Broadcast) {
  EXPECT_EQ(TypeOf("%x: f32[B, 1, 4], %z: f32[S, 1]", "add %x, %z"), "f32[B, S, 4]");
  EXPECT_EQ(TypeOf("%x: f32[B], %z: f32[S]", "add %x, %z"), "f32[bcast(B, S)]");
  EXPECT_EQ(TypeOf("%x: f32[B], %z: f32[8]", "mul %x, %z"), "f32[8]");
  EXPECT_EQ(TypeOf("%x: f32[0], %z: f32[1]", "mul %x, %z"), "f32[0]");
  EXPECT_EQ(TypeOf("%x: f32[], %z: f32[B]", "mul %x, %z"), "f32[B]");
  EXPECT_EQ(TypeOf("%c: bool[B, 1], %x: i8[S], %z: i8[]", "select %c, %x, %z"), "i8[B, S]");
  EXPECT_EQ(TypeOf("%c: f32[], %x: i8[], %z: i8[]", "select %c, %x, %z"),
            "select: operand \"condition\" (%c) has type f32, needs bool");
  EXPECT_EQ(TypeOf("%x: f32[B, 3], %z: f32[2]", "add %x, %z"),
            "add: operand \"rhs\" (%z) has size 2 in dim 0 of [2], which does not broadcast with 3");
}

TEST(TypeRules, Reduce) {
  EXPECT_EQ(TypeOf("%x: f32[B, S, 4]", "reduce_sum %x {axes = [-1, 0]}"), "f32[S]");
  EXPECT_EQ(TypeOf("%x: f32[B, S, 4]", "reduce_max %x {axes = [1], keep_dims = 1}"), "f32[B, 1, 4]");
  EXPECT_EQ(TypeOf("%x: f32[B, S]", "reduce_sum %x {axes = []}"), "f32[B, S]");
  EXPECT_EQ(TypeOf("%x: f32[B, S]", "reduce_sum %x {axes = [1, -1]}"),
            "reduce_sum: attribute \"axes\" names axis 1 twice");
  EXPECT_EQ(TypeOf("%x: f32[B]", "reduce_min %x {axes = [1]}"),
            "reduce_min: attribute \"axes\" has axis 1, but the rank is 1");
  EXPECT_EQ(TypeOf("%x: f32[B]", "reduce_min %x {axes = [0], keep_dims = 2}"),
            "reduce_min: attribute \"keep_dims\" is 2, needs 0 or 1");
  EXPECT_EQ(TypeOf("%x: i32[B]", "reduce_mean %x {axes = [0]}"),
            "reduce_mean: operand \"x\" (%x) has type i32, needs f16, bf16, f32 or f64");
}

TEST(TypeRules, Views) {
  EXPECT_EQ(TypeOf("%x: f32[1, 4]", "broadcast %x {shape = [2, 3, 4]}"), "f32[2, 3, 4]");
  EXPECT_EQ(TypeOf("%x: f32[3, 4]", "broadcast %x {shape = [4]}"),
            "broadcast: operand \"x\" (%x) has rank 2, more than the shape [4]");
  EXPECT_EQ(TypeOf("%x: f32[3]", "broadcast %x {shape = [2, 4]}"),
            "broadcast: operand \"x\" (%x) has size 3 in dim 0, which does not broadcast to 4");
  EXPECT_EQ(TypeOf("%x: f32[B, S, 384]", "reshape %x {shape = [B, S, 12, 32]}"), "f32[B, S, 12, 32]");
  EXPECT_EQ(TypeOf("%x: f32[B, S]", "reshape %x {shape = [B*S]}"), "f32[B*S]");
  EXPECT_EQ(TypeOf("%x: f32[6]", "reshape %x {shape = [4, 2]}"),
            "reshape: operand \"x\" (%x) has 6 elements, but shape [4, 2] has 8");
  EXPECT_EQ(TypeOf("%x: f32[B]", "reshape %x {shape = [-1]}"),
            "reshape: dim size 0 of the result is -1, needs at least 0");
  EXPECT_EQ(TypeOf("%x: f32[0]", "reshape %x {shape = [1, 2, 9223372036854775807, 0]}"),
            "reshape: the dims of the result [1, 2, 9223372036854775807, 0] multiply to more than 2^60");
  EXPECT_EQ(TypeOf("%x: f32[0]", "reshape %x {shape = [1099511627776, 3, 0]}"), "f32[1099511627776, 3, 0]");
  EXPECT_EQ(TypeOf("%x: f32[B, S, 4]", "transpose %x {permutation = [2, 0, 1]}"), "f32[4, B, S]");
  EXPECT_EQ(TypeOf("%x: f32[B, S]", "transpose %x {permutation = [0, 0]}"),
            "transpose: attribute \"permutation\" = [0, 0] is no permutation of the 2 dims of operand \"x\" (%x)");
}

TEST(TypeRules, Slice) {
  EXPECT_EQ(TypeOf("%x: f32[B, S]", "slice %x {starts = [0, 1], sizes = [B, floordiv(S, 2)], steps = [1, 2]}"),
            "f32[B, floordiv(S, 2)]");
  EXPECT_EQ(TypeOf("%x: f32[5]", "slice %x {starts = [4], sizes = [5], steps = [-1]}"), "f32[5]");
  EXPECT_EQ(TypeOf("%x: f32[5]", "slice %x {starts = [5], sizes = [0]}"), "f32[0]");
  EXPECT_EQ(TypeOf("%x: f32[5]", "slice %x {starts = [2], sizes = [3], steps = [2]}"),
            "slice: dim 0 of operand \"x\" (%x) has size 5, but start 2, size 3, step 2 reads index 6");
  EXPECT_EQ(TypeOf("%x: f32[5]", "slice %x {starts = [2], sizes = [4], steps = [-1]}"),
            "slice: dim 0 of operand \"x\" (%x) has size 5, but start 2, size 4, step -1 reads index -1");
  EXPECT_EQ(TypeOf("%x: f32[5]", "slice %x {starts = [0], sizes = [5], steps = [0]}"),
            "slice: attribute \"steps\" is 0 in dim 0");
  EXPECT_EQ(TypeOf("%x: f32[5, 2]", "slice %x {starts = [0], sizes = [5]}"),
            "slice: operand \"x\" (%x) has rank 2, but there are 1 starts, 1 sizes and 0 steps");
}

TEST(TypeRules, ConcatGatherAndIota) {
  EXPECT_EQ(TypeOf("%x: f32[B, 4], %z: f32[S, 4]", "concat %x, %z, %x {axis = 0}"), "f32[2*B + S, 4]");
  EXPECT_EQ(TypeOf("%x: f32[B, 4], %z: f32[B, S]", "concat %x, %z {axis = -1}"), "f32[B, S + 4]");
  EXPECT_EQ(TypeOf("%x: f32[B, 4], %z: f32[B, 5]", "concat %x, %z {axis = 0}"),
            "concat: operand \"xs[1]\" (%z) has size 5 in dim 1, but \"xs[0]\" (%x) has 4");
  EXPECT_EQ(TypeOf("%x: f32[B], %z: f32[B, 5]", "concat %x, %z {axis = 0}"),
            "concat: operand \"xs[1]\" (%z) has rank 2, but \"xs[0]\" (%x) has rank 1");
  EXPECT_EQ(TypeOf("%x: f32[B, 4, 5], %i: i32[S, 2]", "gather %x, %i {axis = 1}"), "f32[B, S, 2, 5]");
  EXPECT_EQ(TypeOf("%x: f32[B, 4], %i: i64[]", "gather %x, %i"), "f32[4]");
  EXPECT_EQ(TypeOf("%x: f32[B], %i: u8[]", "gather %x, %i"),
            "gather: operand \"indices\" (%i) has type u8, needs i32 or i64");
  EXPECT_EQ(TypeOf("%x: f32[], %i: i64[]", "gather %x, %i"), "gather: operand \"x\" (%x) has rank 0, needs at least 1");
  EXPECT_EQ(TypeOf("%x: f32[B]", "iota {shape = [B, 4], axis = -2, dtype = i64}"), "i64[B, 4]");
  EXPECT_EQ(TypeOf("", "iota {shape = [], axis = 0, dtype = i64}"),
            "iota: attribute \"axis\" has axis 0, but the rank is 0");
  EXPECT_EQ(TypeOf("", "iota {shape = [2], axis = 0, dtype = bool}"),
            "iota: attribute \"dtype\" is bool, needs a number");
}

TEST(TypeRules, Pad) {
  const char* xv = "%x: f32[B, 4], %v: f32[], %s: f32[S]";
  EXPECT_EQ(TypeOf(xv, "pad %x, %v {low = [S, 1], high = [2, -2]}"), "f32[B + S + 2, 3]");
  EXPECT_EQ(TypeOf(xv, "pad %x, %v {low = [0, 1], high = [0, 1], interior = [2, 1]}"), "f32[max(0, 3*B - 2), 9]");
  EXPECT_EQ(TypeOf("%x: f32[0], %v: f32[]", "pad %x, %v {low = [1], high = [1], interior = [3]}"), "f32[2]");
  EXPECT_EQ(TypeOf(xv, "pad %x, %v {low = [0], high = [0, 0]}"),
            "pad: operand \"x\" (%x) has rank 2, but there are 1 low, 2 high and 0 interior entries");
  EXPECT_EQ(TypeOf(xv, "pad %x, %v {low = [0, -3], high = [0, -2]}"),
            "pad: dim size 1 of the result is -1, needs at least 0");
  EXPECT_EQ(TypeOf(xv, "pad %x, %v {low = [0, 0], high = [0, 0], interior = [0, -1]}"),
            "pad: attribute \"interior\" is -1 in dim 1, needs at least 0");
  EXPECT_EQ(TypeOf(xv, "pad %x, %x {low = [0, 0], high = [0, 0]}"), "pad: operand \"value\" (%x) has rank 2, needs 0");
  EXPECT_EQ(TypeOf("%x: f32[B], %v: f16[]", "pad %x, %v {low = [0], high = [0]}"),
            "pad: operand \"value\" (%v) has type f16, but \"x\" (%x) has f32");
}

TEST(TypeRules, Window) {
  const char* x = "%x: f32[B, S, 9], %k: f32[K]";
  EXPECT_EQ(TypeOf(x, "window %x {axes = [-1], sizes = [3], strides = [2], dilations = [2]}"), "f32[B, S, 3, 3]");
  EXPECT_EQ(TypeOf(x, "window %x {axes = [1, 2], sizes = [3, K]}"), "f32[B, max(0, S - 2), max(0, -K + 10), 3, K]");
  EXPECT_EQ(TypeOf(x, "window %x {axes = [1], sizes = [1], strides = [2]}"), "f32[B, floordiv(S + 1, 2), 9, 1]");
  EXPECT_EQ(TypeOf(x, "window %x {axes = [2], sizes = [10]}"), "f32[B, S, 0, 10]");
  EXPECT_EQ(TypeOf(x, "window %x {axes = [2, 1], sizes = [1, 1]}"),
            "window: attribute \"axes\" is not in ascending order");
  EXPECT_EQ(TypeOf(x, "window %x {axes = [3], sizes = [1]}"),
            "window: attribute \"axes\" has axis 3, but the rank is 3");
  EXPECT_EQ(TypeOf(x, "window %x {axes = [1], sizes = [1, 2]}"),
            "window: there are 1 axes, but 2 sizes, 0 strides and 0 dilations");
  EXPECT_EQ(TypeOf(x, "window %x {axes = [1], sizes = [2], strides = [0]}"),
            "window: attribute \"strides\" has 0, needs at least 1");
  EXPECT_EQ(TypeOf(x, "window %x {axes = [1], sizes = [2], dilations = [-1]}"),
            "window: attribute \"dilations\" has -1, needs at least 1");
  EXPECT_EQ(TypeOf(x, "window %x {axes = [1], sizes = [-1]}"), "window: attribute \"sizes\" has -1, needs at least 0");
}

TEST(TypeRules, Dot) {
  EXPECT_EQ(TypeOf("%x: f32[B, S, 8], %w: f32[8, 16]", "dot %x, %w"), "f32[B, S, 16]");
  EXPECT_EQ(TypeOf("%x: f16[B, 1, 8, M], %w: f16[S, N, 8]", "dot %x, %w {transpose_lhs = 1, transpose_rhs = 1}"),
            "f16[B, S, M, N]");
  EXPECT_EQ(TypeOf("%x: f32[M, K], %w: f32[L, N]", "dot %x, %w"), "f32[M, N]");
  EXPECT_EQ(TypeOf("%x: f32[B, 8], %w: f32[8]", "dot %x, %w"),
            "dot: operand \"rhs\" (%w) has rank 1, needs at least 2");
  EXPECT_EQ(TypeOf("%x: f32[B, 8], %w: f32[9, 3]", "dot %x, %w"),
            "dot: operand \"rhs\" (%w) contracts over size 9, but \"lhs\" (%x) over 8");
  EXPECT_EQ(TypeOf("%x: f32[2, B, 8], %w: f32[3, 8, 4]", "dot %x, %w"),
            "dot: operand \"rhs\" (%w) has size 3 in dim 0 of [3, 8, 4], which does not broadcast with 2");
  EXPECT_EQ(TypeOf("%x: u32[2, 2], %w: u32[2, 2]", "dot %x, %w"), "u32[2, 2]");
  EXPECT_EQ(TypeOf("%x: i16[2, 2], %w: i16[2, 2]", "dot %x, %w"), "i32[2, 2]");
  EXPECT_EQ(TypeOf("%x: u8[2, 2], %w: i8[2, 2]", "dot %x, %w"), "i32[2, 2]");
  EXPECT_EQ(TypeOf("%x: u8[2, 2], %w: u8[2, 2]", "dot %x, %w"),
            "dot: operand \"rhs\" (%w) has type u8, needs i8, as the lhs is u8");
  EXPECT_EQ(TypeOf("%x: i8[2, 2], %w: i8[2, 2]", "dot %x, %w"),
            "dot: operand \"lhs\" (%x) has type i8, needs a float, i16, u8 or an integer of 32 or 64 bits");
}

TEST(TypeRules, Bitcast) {
  EXPECT_EQ(TypeOf("%x: f32[B, S]", "bitcast %x {dtype = u32}"), "u32[B, S]");
  EXPECT_EQ(TypeOf("%x: u8[B]", "bitcast %x {dtype = bool}"), "bool[B]");
  EXPECT_EQ(TypeOf("%x: f32[B]", "bitcast %x {dtype = f64}"),
            "bitcast: operand \"x\" (%x) has type f32, which is not as wide as f64");
}

TEST(TypeRules, Scatter) {
  auto type_of = [](const char* indices, const char* updates, const char* combiner) {
    return TypeOf(absl::StrCat("%x: f32[B, S, 4], %i: ", indices, ", %u: ", updates),
                  absl::StrCat("scatter %x, %i, %u {combiner = \"", combiner, "\"}"));
  };
  EXPECT_EQ(type_of("i64[N, M, 2]", "f32[N, M, 4]", "set"), "f32[B, S, 4]");
  EXPECT_EQ(type_of("i32[3]", "f32[]", "add"), "f32[B, S, 4]");
  EXPECT_EQ(type_of("i32[N, 0]", "f32[N, B, S, 4]", "max"), "f32[B, S, 4]");
  EXPECT_EQ(type_of("i32[]", "f32[]", "set"), "scatter: operand \"indices\" (%i) has rank 0, needs at least 1");
  EXPECT_EQ(type_of("i32[N]", "f32[]", "set"),
            "scatter: operand \"indices\" (%i) ends in size N, needs a constant up to 3, the rank of \"x\" (%x)");
  EXPECT_EQ(type_of("i32[N, 2]", "f32[N]", "set"), "scatter: operand \"updates\" (%u) has rank 1, needs 2");
  EXPECT_EQ(type_of("i32[N, 2]", "f32[N, 5]", "set"), "scatter: operand \"updates\" (%u) has size 5 in dim 1, needs 4");
  EXPECT_EQ(type_of("u8[N, 2]", "f32[N, 4]", "set"), "scatter: operand \"indices\" (%i) has type u8, needs i32 or i64");
  EXPECT_EQ(type_of("i32[N, 2]", "f64[N, 4]", "set"), "scatter: operand \"updates\" (%u) has type f64, needs f32");
  EXPECT_EQ(type_of("i32[N, 2]", "f32[N, 4]", "sub"),
            "scatter: attribute \"combiner\" is \"sub\", needs set, add, mul, max or min");
  EXPECT_EQ(TypeOf("%x: bool[B], %i: i32[N, 1], %u: bool[N]", "scatter %x, %i, %u {combiner = \"add\"}"),
            "scatter: operand \"x\" (%x) has type bool, needs a number");
}

TEST(TypeRules, Scan) {
  auto type_of = [](const char* x, const std::string& attributes) {
    return TypeOf(absl::StrCat("%x: ", x), absl::StrCat("scan %x {", attributes, "}"));
  };
  EXPECT_EQ(type_of("f32[B, S]", "axis = 1, combiner = \"add\""), "f32[B, S]");
  EXPECT_EQ(type_of("u8[B, S]", "axis = -2, combiner = \"max\", reverse = 1, exclusive = 1"), "u8[B, S]");
  EXPECT_EQ(type_of("f32[B, S]", "axis = 2, combiner = \"add\""),
            "scan: attribute \"axis\" has axis 2, but the rank is 2");
  EXPECT_EQ(type_of("f32[]", "axis = 0, combiner = \"add\""), "scan: attribute \"axis\" has axis 0, but the rank is 0");
  EXPECT_EQ(type_of("f32[B]", "axis = 0, combiner = \"set\""),
            "scan: attribute \"combiner\" is \"set\", needs add, mul, max or min");
  EXPECT_EQ(type_of("bool[B]", "axis = 0, combiner = \"max\""),
            "scan: operand \"x\" (%x) has type bool, needs a number");
  EXPECT_EQ(type_of("f32[B]", "axis = 0, combiner = \"add\", reverse = 2"),
            "scan: attribute \"reverse\" is 2, needs 0 or 1");
  EXPECT_EQ(type_of("f32[B]", "combiner = \"add\""), "scan: attribute \"axis\" is missing");
}

TEST(TypeRules, RankIsBounded) {
  EXPECT_EQ(TypeOf("%x: f32[1,1,1,1,1,1,1,1]", "neg %x"), "f32[1, 1, 1, 1, 1, 1, 1, 1]");
  EXPECT_EQ(TypeOf("%x: f32[1,1,1,1,1,1,1,1], %i: i64[1, 1]", "gather %x, %i"),
            "gather: the result has rank 9, more than 8");
}

TEST(TypeRules, While) {
  const std::string arguments = "%x: f32[B], %n: i64[]";
  const std::string condition = "region(%a: f32[B], %i: i64[]) { %z = constant 0 : i64[]  %c = gt %i, %z return %c }";
  const std::string body = "region(%a: f32[B], %i: i64[]) { %b = neg %a return %b, %i }";
  auto type_of = [&](const std::string& regions) {
    absl::StatusOr<Graph> graph = ParseGraph(
        absl::StrCat("graph @g(", arguments, ") {\n%y, %m = while(%x, %n) {", regions, "}\nreturn %m, %y\n}"));
    if (graph.ok()) return graph->TypeText(graph->node(2).results[0]);
    std::vector<std::string> parts = absl::StrSplit(graph.status().message(), absl::MaxSplits(": ", 1));
    return parts.back();
  };
  EXPECT_EQ(type_of(condition + body), "f32[B]");
  EXPECT_EQ(type_of(condition), "while: has 1 regions, needs 2");
  EXPECT_EQ(type_of(body + body), "while: the condition must return one bool[]");
  EXPECT_EQ(type_of(condition + condition), "while: the body must return the types of the carried values");
  EXPECT_EQ(type_of(condition + "region(%a: f32[B]) { return %a }"),
            "while: the body takes 1 arguments, but 2 values are given");
  EXPECT_EQ(type_of(condition + "region(%a: f32[N, N], %i: i64[]) { return %a, %i }"),
            "while: argument 0 of the body is f32[N, N], but operand \"carried[0]\" (%x) is f32[B]");
}

TEST(TypeRules, WhatARegionMayChangeNeedsASymbol) {
  const std::string loop = R"(while(%x, %n) ATTRIBUTES {
    region(%a: f32[M], %i: i64[]) { %z = constant 0 : i64[]  %c = gt %i, %z return %c }
    region(%a: f32[N], %i: i64[]) { %b = concat %a, %a {axis = 0} return %b, %i } })";
  const auto type_of = [&](const std::string& attributes) {
    const auto graph =
        ParseGraph(absl::StrCat("graph @g(%x: f32[B], %n: i64[]) where B, R {\n%y, %m = ",
                                absl::StrReplaceAll(loop, {{"ATTRIBUTES", attributes}}), "\nreturn %m, %y\n}"));
    if (graph.ok()) return graph->TypeText(graph->node(2).results[0]);
    return std::string(graph.status().message());
  };
  EXPECT_EQ(type_of("{shapes = [R]}"), "f32[R]");
  EXPECT_THAT(type_of("{shapes = [-1]}"), HasSubstr("dim size 0 of result 0 is known only when the op has run"));
  EXPECT_THAT(type_of(""), HasSubstr("dim size 0 of result 0 is known only when the op has run"));
  EXPECT_THAT(type_of("{shapes = [B + 1]}"), HasSubstr("dim size 0 of result 0 is given as B + 1, needs a symbol"));
  EXPECT_THAT(type_of("{shapes = [R, B]}"), HasSubstr("\"shapes\" has 2 entries, but the results have 1 dim sizes"));
}

TEST(TypeRules, If) {
  const auto type_of = [](const std::string& attributes, const std::string& then, const std::string& otherwise) {
    const auto graph = ParseGraph(absl::StrCat("graph @g(%c: bool[], %x: f32[B, S]) where B, S, R {\n%y = if(%c, %x) ",
                                               attributes, " {", then, otherwise, "}\nreturn %y\n}"));
    if (graph.ok()) return graph->TypeText(graph->node(2).results[0]);
    return std::string(graph.status().message());
  };
  const std::string same = "region(%a: f32[N, M]) { return %a }";
  const std::string turned = "region(%a: f32[P, Q]) { %t = transpose %a {permutation = [1, 0]} return %t }";
  EXPECT_EQ(type_of("", same, same), "f32[B, S]");
  EXPECT_EQ(type_of("", turned, turned), "f32[S, B]");
  EXPECT_THAT(type_of("", same, turned), HasSubstr("dim size 0 of result 0 is known only when the op has run"));
  EXPECT_EQ(type_of("{shapes = [R, R]}", same, turned), "f32[R, R]");
  EXPECT_THAT(type_of("", same, "region(%a: f32[N, 1]) { %s = reduce_sum %a {axes = [1]} return %s }"),
              HasSubstr("the branches return different types of result 0: f32 of rank 2 and f32 of rank 1"));
  EXPECT_THAT(type_of("", same, "region(%a: f32[N, 1]) { return %a, \"b\" = %a }"),
              HasSubstr("the then branch returns 1 values, the else branch 2"));
  EXPECT_THAT(type_of("", same, "region() { %k = constant 1 : f32[] return %k }"),
              HasSubstr("the else branch takes 0 arguments, but 1 values are given"));
}

TEST(TypeRules, Bind) {
  const auto type_of = [](const std::string& type, const std::string& dim_size) {
    const auto graph = ParseGraph(absl::StrCat("graph @g(%n: ", type, ") where N {\n%y = bind %n {extent = ", dim_size,
                                               "}\n%i = iota {shape = [N], axis = 0, dtype = i64}\nreturn %i\n}"));
    if (graph.ok()) return graph->TypeText(graph->node(1).results[0]);
    return std::string(graph.status().message());
  };
  EXPECT_EQ(type_of("i64[]", "[N]"), "i64[]");
  EXPECT_THAT(type_of("i32[]", "[N]"), HasSubstr("bind: operand \"count\" (%n) has type i32, needs i64"));
  EXPECT_THAT(type_of("i64[1]", "[N]"), HasSubstr("bind: operand \"count\" (%n) has rank 1, needs 0"));
  EXPECT_THAT(type_of("i64[]", "[N + 1]"), HasSubstr("bind: attribute \"dim size\" is [N + 1], needs one symbol"));
}

}  // namespace
}  // namespace tailor

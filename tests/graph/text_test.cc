#include "graph/text.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "graph/verifier.h"

namespace tailor {
namespace {

std::string Reprinted(absl::string_view text) {
  absl::StatusOr<Graph> graph = ParseGraph(text);
  if (!graph.ok()) return std::string(graph.status().message());
  absl::Status verified = VerifyGraph(*graph);
  return verified.ok() ? graph->ToText() : std::string(verified.message());
}

void ExpectCanonical(const std::string& text) { EXPECT_EQ(Reprinted(text), text); }

// A graph with `header` and one line in the body.
std::string OneLine(absl::string_view header, absl::string_view line) {
  return absl::StrCat("graph @g(", header, ") {\n  ", line, "\n  return %y\n}\n");
}

TEST(Text, CanonicalFormReadsBack) {
  ExpectCanonical(
      R"(graph @mlp(%x: f32[B, S, 768]) where B in [1, 512] multiple_of 8 likely [8, 64], S in [0, 256], M, M == B*S {
  %w = constant @w : f32[3072, 768] hash 0123456789abcdef
  %d = dot %x, %w {transpose_rhs = 1} : f32[B, S, 3072]
  %half = constant 0.5 : f32[]
  %4 = mul %d, %half : f32[B, S, 3072] @d
  return "y" = %4
}
)");
}

TEST(Text, EveryOpReadsBack) {
  std::set<std::string> seen;
  auto check = [&](absl::string_view header, absl::string_view op, absl::string_view rest) {
    ExpectCanonical(OneLine(header, absl::StrCat("%y = ", op, " ", rest)));
    seen.insert(std::string(op));
  };
  for (const OpInfo& info : AllOps()) {
    const bool boolean = info.dtype == DTypeRule::kLogic;
    const absl::string_view dtype = boolean ? "bool" : info.dtype == DTypeRule::kInteger ? "i32" : "f32";
    const std::string x = absl::StrCat("%x: ", dtype, "[B, S]"), z = absl::StrCat(", %z: ", dtype, "[B, S]");
    const absl::string_view result = info.dtype == DTypeRule::kCompare ? "bool" : dtype;
    if (info.attributes.empty() && info.shape == ShapeRule::kSameAs0) {
      check(x, info.text, absl::StrCat("%x : ", result, "[B, S]"));
    } else if (info.operands.size() == 2 && info.shape == ShapeRule::kBroadcast) {
      check(x + z, info.text, absl::StrCat("%x, %z : ", result, "[B, S]"));
    } else if (info.shape == ShapeRule::kReduce) {
      check(x, info.text, absl::StrCat("%x {axes = [1]} : f32[B]"));
    }
  }
  const std::string x = "%x: f32[B, S]";
  check(x, "cast", "%x {dtype = bf16} : bf16[B, S]");
  check("%c: bool[B], " + x, "select", "%c, %x, %x : f32[B, bcast(B, S)]");
  check(x, "broadcast", "%x {shape = [4, B, S]} : f32[4, B, S]");
  check(x, "reshape", "%x {shape = [B*S]} : f32[B*S]");
  check(x, "transpose", "%x {permutation = [1, 0]} : f32[S, B]");
  check(x, "slice", "%x {starts = [0, S - 1], sizes = [B, S], steps = [1, -1]} : f32[B, S]");
  check(x, "slice", "%x {starts = [0, 1], sizes = [B, S - 1]} : f32[B, S - 1]");
  check(x, "concat", "%x, %x, %x {axis = 1} : f32[B, 3*S]");
  check(x + ", %i: i32[N]", "gather", "%x, %i {axis = 1} : f32[B, N]");
  check(x + ", %i: i32[N]", "gather", "%x, %i : f32[N, S]");
  check(x, "bitcast", "%x {dtype = i32} : i32[B, S]");
  check(x + ", %i: i32[N, 1], %u: f32[N, S]", "scatter", "%x, %i, %u {combiner = \"add\"} : f32[B, S]");
  check(x, "scan", "%x {axis = 1, combiner = \"max\"} : f32[B, S]");
  check(x, "scan", "%x {axis = 0, combiner = \"add\", reverse = 1, exclusive = 1} : f32[B, S]");
  check(x, "iota", "{shape = [S, B], axis = 1, dtype = u16} : u16[S, B]");
  check(x + ", %v: f32[]", "pad", "%x, %v {low = [0, 1], high = [S, 0]} : f32[B + S, S + 1]");
  check(x + ", %v: f32[]", "pad",
        "%x, %v {low = [0, 0], high = [-1, 0], interior = [0, 1]} : f32[B - 1, max(0, 2*S - 1)]");
  check(x, "window", "%x {axes = [1], sizes = [1], strides = [2]} : f32[B, floordiv(S + 1, 2), 1]");
  check(x, "window",
        "%x {axes = [0, 1], sizes = [2, S], dilations = [1, 3]} : f32[max(0, B - 1), max(0, -2*S + 3), 2, S]");
  check(x, "dot", "%x, %x {transpose_lhs = 1} : f32[S, S]");
  check(x, "constant", "@w : f32[2, 2] hash 00000000000000ff");
  ExpectCanonical("graph @g() where B {\n  %0 = constant 1 : f32[]\n  %y = input @y : f32[B]\n  return %y\n}\n");
  seen.insert("input");
  ExpectCanonical("graph @g(%n: i64[]) where B {\n  %y = bind %n {extent = [B]} : i64[]\n  return %y\n}\n");
  check(x, "constant", "@\"\" : f32[2, 2] hash 00000000000000ff");
  check(x, "custom",
        "%x {name = \"my.op\", attributes = \"{\\\"k\\\": 1}\", pure = 0, dtypes = \"i64\", ranks = [1], shapes = "
        "[B + S]} : i64[B + S]");
  seen.insert({"bind", "while", "if", "continuation"});  // the last three: the next test
  for (const OpInfo& info : AllOps()) EXPECT_TRUE(seen.count(std::string(info.text))) << info.text;
}

TEST(Text, RegionsReadBack) {
  ExpectCanonical(R"(graph @loop(%d: f32[B], %n: i64[], %go: bool[]) where R {
  %3#0, %3#1 = while(%d, %n) {
    region(%i: f32[B], %c: i64[]) {
      %zero = constant 0 : i64[]
      %3 = gt %c, %zero : bool[]
      return %3
    }
    region(%i: f32[B], %c: i64[]) {
      %2 = add %i, %i : f32[B]
      %one = constant 1 : i64[]
      %4 = sub %c, %one : i64[]
      return %2, %4
    }
  } : f32[B], i64[]
  %4 = if(%go, %3#0) {shapes = [R]} {
    region(%i: f32[N]) where N in [1, 64], M {
      return %i
    }
    region(%i: f32[2*K]) {
      %1 = neg %i : f32[2*K]
      return %1
    }
  } : f32[R]
  continuation %go, %n {extents = [B, 0], counts = [-1, 1]}
  %r#0, %r#1 = while(%3#0, %3#1) {
    region(%i: f32[B], %c: i64[]) {
      %2 = constant false : bool[]
      return "go" = %2
    }
    region(%i: f32[B], %c: i64[]) {
      return %i, %c
    }
  } : f32[B], i64[]
  return "y" = %r#0, "left" = %3#1
}
)");
}

TEST(Text, ResultsOfOneNodeMayHaveNamesOfTheirOwn) {
  absl::StatusOr<Graph> graph = ParseGraph(R"(graph @g(%x: f32[B]) {
    %a = while(%x) { region(%i: f32[B]) { %t = constant true : bool[] return %t }
                     region(%i: f32[B]) { return %i } }
    %b = exp %a
    return %b })");
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->NameOf(graph->node(2).operands[0]), "%a");
}

TEST(Text, ReadsWithoutTypesAndNames) {
  EXPECT_EQ(Reprinted(R"(
graph @g(%x: f32[N, 256]) {  // a comment
  %e = exp %x
  %1 = add %e, %x
  return %e, %1
})"),
            R"(graph @g(%x: f32[N, 256]) {
  %e = exp %x : f32[N, 256]
  %2 = add %e, %x : f32[N, 256]
  return %e, %2
}
)");
}

TEST(Text, NamesAreQuotedRepeatedAndNumeric) {
  ExpectCanonical(R"(graph @"a graph"(%"input.1 é": f32["batch size", "min"]) {
  %1 = exp %"input.1 é" : f32["batch size", "min"]
  %"2" = exp %1 : f32["batch size", "min"]
  %"layer/0" = exp %"2" : f32["batch size", "min"]
  %4 = exp %"layer/0" : f32["batch size", "min"] @"layer/0"
  return "out\n" = %4, "4" = %1
}
)");
}

TEST(Text, SymbolsKeepTheirNumbers) {
  Graph graph("g");
  SymbolId b = *graph.AddSymbol({"B"}), s = *graph.AddSymbol({"S"});
  DimExpr batch = DimExpr::Symbol(b), sequence = DimExpr::Symbol(s);
  Value x = *graph.AddInput("x", DType::kF32, {sequence, batch * sequence});
  ASSERT_TRUE(graph.AssumeEqual(sequence, 2 * batch).ok());
  ASSERT_TRUE(graph.AddOutput("x", x).ok());
  const std::string text = "graph @g(%x: f32[S, B*S]) where B, S, S == 2*B {\n  return %x\n}\n";
  EXPECT_EQ(graph.ToText(), text);
  ExpectCanonical(text);
  ExpectCanonical("graph @g(%x: f32[B, S]) where T, S == 2*B {\n  return %x\n}\n");
  ExpectCanonical("graph @g(%x: f32[B, S]) where S multiple_of 4, T in [2, 9] {\n  return %x\n}\n");
  ExpectCanonical("graph @g(%x: f32[B, S]) where S + 2 >= 3 @\"stem, dim 2\", B >= S {\n  return %x\n}\n");
}

TEST(Text, ConstantsShowSmallValues) {
  ExpectCanonical(R"(graph @g() {
  %0 = constant -0.25 : f64[]
  %1 = constant @eps 1e-12 : f32[]
  %2 = constant [1, -2, 3] : i64[3]
  %3 = constant [] : u8[0]
  %4 = constant [true, false] : bool[2]
  %5 = constant inf : f16[]
  return
}
)");
  EXPECT_EQ(Reprinted("graph @g() { %c = constant 0.50 : f32[] return %c }"),
            "graph @g() {\n  %c = constant 0.5 : f32[]\n  return %c\n}\n");
}

TEST(Text, ConstantsComeFromTheSource) {
  auto bytes = std::make_shared<std::vector<float>>(4, 1.5f);
  ConstantSource source = [&](absl::string_view name, const TensorType& type) {
    EXPECT_EQ(name, "w");
    EXPECT_EQ(type.rank(), 2);
    return ConstantData{bytes, bytes->data(), 16, std::nullopt};
  };
  absl::StatusOr<Graph> graph = ParseGraph("graph @g() { %w = constant @w : f32[2, 2] return %w }", source);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->constant_data(0).data, bytes->data());
  const std::string text = graph->ToText();
  EXPECT_TRUE(ParseGraph(text, source).ok());
  bytes->back() = 2.5f;
  EXPECT_EQ(ParseGraph(text, source).status().message(),
            "line 2, column 8: constant: the bytes of \"w\" do not have the hash that the text gives");
  EXPECT_EQ(ParseGraph("graph @g() { %w = constant @w : f32[2, 3] return %w }", source).status().message(),
            "line 1, column 19: constant: the source gives 16 bytes for \"w\", its type needs 24");
  EXPECT_TRUE(ParseGraph(text, source, ConstantHashes::kIgnored).ok());
  source = [](absl::string_view name, const TensorType&) { return absl::NotFoundError(absl::StrCat("no ", name)); };
  EXPECT_EQ(ParseGraph(text, source).status().message(), "line 2, column 8: constant: no w");
}

TEST(Text, ErrorsSayWhere) {
  const std::string x = "%x: f32[B]";
  EXPECT_EQ(Reprinted("grph"), "line 1, column 1: expected 'graph'");
  EXPECT_EQ(Reprinted("graph @g("), "line 1, column 10: expected %name");
  EXPECT_EQ(Reprinted("graph @g() {"), "line 1, column 13: expected a statement or 'return'");
  EXPECT_EQ(Reprinted("graph @g() { return } x"), "line 1, column 23: expected the end of the text");
  EXPECT_EQ(Reprinted(OneLine(x, "%y = frob %x")), "line 2, column 8: 'frob' is no op");
  EXPECT_EQ(Reprinted(OneLine(x, "%y = \u00e9 %x")), "line 2, column 8: '\u00e9' is no op") << "a whole character";
  EXPECT_EQ(Reprinted(OneLine(x, "%y = \U0001F600\u20ac")), "line 2, column 8: '\U0001F600' is no op");
  EXPECT_EQ(Reprinted(OneLine(x, "%y = exp %z")), "line 2, column 12: %z is not defined");
  EXPECT_EQ(Reprinted(OneLine(x, "%x = exp %x")), "line 2, column 3: %x is defined twice");
  EXPECT_EQ(Reprinted(OneLine(x, "%y = add %x")), "line 2, column 8: add: has 1 operands, needs 2");
  EXPECT_EQ(Reprinted(OneLine(x, "%y = add %x, ")), "line 3, column 3: expected a value");
  EXPECT_EQ(Reprinted(OneLine(x, "%y, %z = exp %x")), "line 2, column 3: exp: has 1 results, but 2 are named");
  EXPECT_EQ(Reprinted(OneLine(x, "%y = exp %x : f32[C]")),
            "line 2, column 21: unknown symbol \"C\"; the where clause can declare it");
  EXPECT_EQ(Reprinted(OneLine(x, "%y = exp %x : f32[2]")),
            "line 2, column 17: the type is f32[2], but exp makes f32[B]");
  EXPECT_EQ(Reprinted(OneLine(x, "%y = exp %x {axis = 1}")), "line 2, column 16: exp: there is no attribute \"axis\"");
  EXPECT_EQ(Reprinted(OneLine(x, "%y = concat %x {axis = 0, axis = 0}")),
            "line 2, column 29: attribute \"axis\" is given twice");
  EXPECT_EQ(Reprinted(OneLine(x, "%y = concat %x {axis = 99999999999999999999}")),
            "line 2, column 26: '99999999999999999999' is no 64-bit integer");
  EXPECT_EQ(Reprinted(OneLine(x, "%y = concat %x")), "line 2, column 8: concat: attribute \"axis\" is missing");
  EXPECT_EQ(Reprinted(OneLine("%x: f32[floordiv(B, 0)]", "%y = exp %x")),
            "line 1, column 18: this dim has no value: a constant divisor is below 1");
  EXPECT_EQ(Reprinted(OneLine(x, "%y = constant 300 : u8[]")), "line 2, column 8: constant: 300 is no u8");
  EXPECT_EQ(Reprinted(OneLine(x, "%y = constant [1] : u8[2]")),
            "line 2, column 8: constant: the value does not have the shape of its type");
  EXPECT_EQ(Reprinted(OneLine(x, "%y = constant @w : f64[1000000000, 1000000000]")),
            "line 2, column 8: constant: is too large for this machine");
  EXPECT_EQ(Reprinted("graph @g(%x: f32[B]) where B in [3, 2] { return }"),
            "line 1, column 40: symbol \"B\": min is 3, above max 2");
  EXPECT_EQ(Reprinted("graph @g() where 2 == 3 { return }"), "line 1, column 18: assume_equal: 2 can never equal 3");
  EXPECT_EQ(Reprinted("graph @g() where 2 >= 3 { return }"), "line 1, column 18: assume_at_least: 2 is not at least 3");
}

// Cuts, repeats and swaps pieces of a valid text: whatever is still accepted must verify, and print
// a form that reads back to itself.
TEST(Text, DamagedTextIsRefusedOrMeansSomething) {
  const std::string text =
      R"(graph @"a b"(%x: f32[B, 4*S], %n: i64[]) where B in [1, 64] likely [8], T, T == floordiv(B, 2) {
  %c = constant [1.5, -inf] : f32[2]
  %w = constant @w : f32[3, 4] hash 00ff00ff00ff00ff
  %4 = reshape %x {shape = [B*S, 4]} : f32[B*S, 4]
  %"two words" = slice %4 {starts = [S - 1, 1], sizes = [B, 2], steps = [1, -1]} : f32[B, 2]
  %6#0, %6#1 = while(%"two words", %n) {
    region(%i: f32[B, 2], %k: i64[]) {
      %2 = constant true : bool[]
      return %2
    }
    region(%i: f32[B, 2], %k: i64[]) {
      return %i, %k
    }
  } : f32[B, 2], i64[]
  %7 = add %6#0, %c : f32[B, 2] @c
  return "y" = %7, %w
}
)";
  ExpectCanonical(text);
  std::mt19937 random(7);
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string damaged = text;
    for (unsigned edits = 1 + random() % 3; edits > 0; --edits) {
      size_t at = random() % damaged.size(), length = 1 + random() % 8;
      std::string piece = damaged.substr(at, length);
      if (random() % 2) damaged.erase(at, length);
      if (random() % 2) damaged.insert(random() % (damaged.size() + 1), piece);
    }
    absl::StatusOr<Graph> graph = ParseGraph(damaged);
    if (!graph.ok()) {
      ASSERT_EQ(graph.status().message().substr(0, 5), "line ") << damaged;
      continue;
    }
    ++accepted;
    ASSERT_EQ(VerifyGraph(*graph), absl::OkStatus()) << damaged;
    ASSERT_EQ(Reprinted(graph->ToText()), graph->ToText()) << damaged;
  }
  EXPECT_GT(accepted, 500);
}

TEST(Text, DeepNestingIsAnError) {
  const std::string deep(100000, '(');
  EXPECT_EQ(Reprinted("graph @g(%x: f32[" + deep + "]) { return }").substr(0, 7), "line 1,");
  std::string regions;
  for (int i = 0; i < 10000; ++i) regions += "%w = while(%x) { region(%x: f32[]) { ";
  EXPECT_EQ(Reprinted("graph @g(%x: f32[]) { " + regions).substr(0, 7), "line 1,");
}

TEST(ParseDim, ReadsWhatDimsPrint) {
  Graph graph;
  ASSERT_TRUE(graph.AddSymbol({"B"}).ok());
  ASSERT_TRUE(graph.AddSymbol({"S"}).ok());
  for (const char* text : {"4*B*S + floordiv(S, 2) + 1", "-B*B + 2*S - 3", "min(B, max(S, 3)) - mod(B + 1, S)",
                           "bcast(B, S)", "-9223372036854775808", "floordiv(B - S, 7)*S"}) {
    absl::StatusOr<DimExpr> dim = ParseDim(text, graph);
    ASSERT_TRUE(dim.ok()) << dim.status();
    absl::StatusOr<DimExpr> again = ParseDim(graph.DimText(*dim), graph);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(*again, *dim) << graph.DimText(*dim);
  }
  EXPECT_EQ(graph.DimText(*ParseDim("-(B - 2)*(3 - 1) + (S)", graph)), "-2*B + S + 4");
  EXPECT_EQ(ParseDim("B S", graph).status().message(), "line 1, column 3: expected the end of the dim");
  EXPECT_EQ(ParseDim("min(B)", graph).status().message(), "line 1, column 6: expected ','");
  EXPECT_EQ(ParseDim("B + 1.5", graph).status().message(), "line 1, column 5: expected a 64-bit integer");
}

TEST(Text, DimsMayBeWrittenWithAllFunctions) {
  const auto graph = ParseGraph(R"(
graph @g(%x: f32[less, S]) {
  %c = iota {shape = [ceildiv(S, 4)], axis = 0, dtype = i32}
  %a = iota {shape = [truncdiv(S - 1, 2) + truncmod(S, 2) + 1], axis = 0, dtype = i32}
  %b = iota {shape = [select(less(S, less), S, equal(S, 3))], axis = 0, dtype = i32}
  return %a, %b
})");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const DimExpr s = DimExpr::Symbol(1), less = DimExpr::Symbol(0);
  EXPECT_EQ(graph->type(graph->outputs()[0].value).shape[0], DimExpr::TruncDiv(s - 1, 2) + DimExpr::Mod(s, 2) + 1);
  EXPECT_EQ(graph->type(graph->outputs()[1].value).shape[0],
            DimExpr::Select(DimExpr::Less(s, less), s, DimExpr::Equal(s, 3)));
}

}  // namespace
}  // namespace tailor

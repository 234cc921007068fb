// Graphs through tailor/compiler.h: handles, symbols, dims, inputs, outputs, texts.
#include "tests/api/compiler_fixture.h"

namespace tailor {
namespace {

using testing::HasSubstr;
using testing::Not;

using CompilerGraph = CompilerTest;

TEST_F(CompilerGraph, TextShowsWhatWasBuilt) {
  tailor_value y = 0;
  ASSERT_EQ(Text(tailor_graph_neg(graph, x, &y)), "OK");
  ASSERT_EQ(Text(tailor_graph_set_name(graph, y, "flipped", SIZE_MAX)), "OK");
  ASSERT_EQ(Text(tailor_graph_output(graph, "y", 1, y)), "OK");
  EXPECT_THAT(GraphText(), HasSubstr("graph @g(%x: f32[B, 8], %ids: i64[B])"));
  EXPECT_THAT(GraphText(), HasSubstr("%flipped = neg %x : f32[B, 8]\n  return \"y\" = %flipped"));
}

TEST_F(CompilerGraph, TextIsReadBack) {
  tailor_value y = 0;
  ASSERT_EQ(Text(tailor_graph_softmax(graph, x, -1, &y)), "OK");
  ASSERT_EQ(Text(tailor_graph_output(graph, "y", 1, y)), "OK");
  const std::string text = GraphText();
  tailor_graph* parsed = nullptr;
  ASSERT_EQ(Text(tailor_graph_parse(text.data(), text.size(), &parsed)), "OK");
  std::swap(graph, parsed);
  EXPECT_EQ(GraphText(), text);
  tailor_graph_release(parsed);
  tailor_graph* none = nullptr;
  EXPECT_THAT(Text(tailor_graph_parse("graph @g() {\n  %y = what %x\n}", SIZE_MAX, &none)), Invalid("line 2, column"));
  EXPECT_THAT(Text(tailor_graph_parse(nullptr, 5, &none)), Invalid("text is null"));
  EXPECT_THAT(Text(tailor_graph_parse(text.data(), text.size(), nullptr)), Invalid("out is null"));
  EXPECT_EQ(none, nullptr);
}

TEST_F(CompilerGraph, ParsingAsksForTheBytesOfConstants) {
  const std::string text = R"(graph @g() {
  %w = constant @w : i16[2, 1] hash 0000000000000001
  %y = neg %w
  return "y" = %y
})";
  tailor_parse_options options;
  tailor_parse_options_init(&options);
  std::string asked;
  options.user = &asked;
  options.constant = [](void* user, const char* name, size_t name_size, int32_t dtype, const int64_t* dims, size_t rank,
                        void* data, size_t size) -> int32_t {
    EXPECT_EQ(std::string(name, name_size), "w");
    EXPECT_EQ(dtype, TAILOR_I16);
    EXPECT_EQ(std::vector<int64_t>(dims, dims + rank), (std::vector<int64_t>{2, 1}));
    EXPECT_EQ(size, 4u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 64, 0u);
    static_cast<int16_t*>(data)[1] = 5;
    return static_cast<std::string*>(user)->empty() ? 0 : 1;
  };
  tailor_graph* parsed = nullptr;
  EXPECT_THAT(Text(tailor_graph_parse_with(text.data(), text.size(), &options, &parsed)),
              Invalid("line 2, column 8: constant: the bytes of \"w\" do not have the hash that the text gives"));
  EXPECT_EQ(parsed, nullptr);
  options.ignore_hashes = 1;
  ASSERT_EQ(Text(tailor_graph_parse_with(text.data(), text.size(), &options, &parsed)), "OK");
  std::swap(graph, parsed);
  EXPECT_THAT(GraphText(), Not(HasSubstr("hash 0000000000000001")));
  tailor_graph_release(parsed);
  parsed = nullptr;
  asked = "refuse";
  EXPECT_THAT(Text(tailor_graph_parse_with(text.data(), text.size(), &options, &parsed)),
              Invalid("line 2, column 8: constant: there are no bytes for \"w\""));
  options.constant = nullptr;
  ASSERT_EQ(Text(tailor_graph_parse_with(text.data(), text.size(), &options, &parsed)), "OK");
  tailor_graph_release(parsed);
}

TEST_F(CompilerGraph, FactsTextNamesSymbols) {
  const char* text = nullptr;
  ASSERT_EQ(Text(tailor_graph_facts_text(graph, &text)), "OK");
  EXPECT_THAT(text, HasSubstr("B"));
}

TEST_F(CompilerGraph, RegionsAreGraphsOfTheirOwn) {
  const auto region = [](const char* text) {
    tailor_graph* parsed = nullptr;
    EXPECT_EQ(Text(tailor_graph_parse(text, SIZE_MAX, &parsed)), "OK");
    return parsed;
  };
  tailor_graph* condition = region("graph @c(%a: f32[N, 8]) { %t = constant false : bool[] return %t }");
  tailor_graph* body = region("graph @b(%a: f32[M, 8]) { %t = neg %a return %t }");
  tailor_value results[2] = {};
  ASSERT_EQ(Text(tailor_graph_while(graph, &x, 1, condition, body, nullptr, 0, results)), "OK");
  tailor_value scalar = 0;
  ASSERT_EQ(Text(tailor_graph_scalar(graph, TAILOR_BOOL, 1, &scalar)), "OK");
  ASSERT_EQ(Text(tailor_graph_if(graph, scalar, results, 1, body, body, nullptr, 0, results + 1, 1)), "OK");
  EXPECT_EQ(tailor_graph_output_count(body), 1u);
  EXPECT_EQ(tailor_graph_output_count(nullptr), 0u);

  EXPECT_THAT(Text(tailor_graph_while(graph, &ids, 1, condition, body, nullptr, 0, results)),
              Invalid("argument 0 of the condition is f32[N, 8], but operand"));
  EXPECT_THAT(Text(tailor_graph_while(graph, &x, 1, condition, nullptr, nullptr, 0, results)),
              Invalid("tailor_graph_while: graph is null"));
  EXPECT_THAT(Text(tailor_graph_while(graph, nullptr, 1, condition, body, nullptr, 0, results)),
              Invalid("values is null"));
  EXPECT_THAT(Text(tailor_graph_if(graph, x, &x, 1, body, body, nullptr, 0, results, 1)), Invalid("needs bool[]"));
  EXPECT_THAT(Text(tailor_graph_if(graph, scalar, &x, 1, body, body, nullptr, 0, results, 2)),
              Invalid("there is room for 2 results, but 1 are made"));
  tailor_dim wrong = 12345;
  EXPECT_THAT(Text(tailor_graph_while(graph, &x, 1, condition, body, &wrong, 1, results)), Invalid("shapes[0] is"));

  // As many dim sizes as all results have together.
  tailor_graph* many =
      region("graph @m(%a: f32[M, 8]) { return \"p\" = %a, \"q\" = %a, \"r\" = %a, \"s\" = %a, \"t\" = %a }");
  tailor_dim eight = 0;
  ASSERT_EQ(Text(tailor_graph_dim(graph, 8, &eight)), "OK");
  const tailor_dim shapes[] = {b, eight, b, eight, b, eight, b, eight, b, eight};
  tailor_value five[5] = {};
  EXPECT_EQ(Text(tailor_graph_if(graph, scalar, &x, 1, many, many, shapes, 10, five, 5)), "OK");
  tailor_graph_release(many);
  tailor_graph_release(condition);
  tailor_graph_release(body);
  EXPECT_THAT(GraphText(), HasSubstr("region(%a: f32[M, 8]) {"));
}

TEST_F(CompilerGraph, NullAndWrongKindGraphsAreRefusedEverywhere) {
  tailor_dim dim = 77;
  tailor_value value = 77;
  const char* text = "untouched";
  for (tailor_graph* bad : {static_cast<tailor_graph*>(nullptr), NoGraph()}) {
    const std::string problem = bad == nullptr ? "graph is null" : "graph is a handle of another kind";
    EXPECT_THAT(Text(tailor_graph_symbol(bad, "S", 1, nullptr, &dim)), Invalid("tailor_graph_symbol: " + problem));
    EXPECT_THAT(Text(tailor_graph_dim(bad, 1, &dim)), Invalid(problem));
    for (auto combine : {tailor_dim_add, tailor_dim_sub, tailor_dim_mul, tailor_dim_floordiv, tailor_dim_mod,
                         tailor_dim_min, tailor_dim_max, tailor_dim_ceildiv, tailor_dim_truncdiv, tailor_dim_truncmod,
                         tailor_dim_less, tailor_dim_equal}) {
      EXPECT_THAT(Text(combine(bad, b, b, &dim)), Invalid(problem));
    }
    EXPECT_THAT(Text(tailor_dim_select(bad, b, b, b, &dim)), Invalid(problem));
    EXPECT_THAT(Text(tailor_graph_assume_equal(bad, b, b)), Invalid(problem));
    EXPECT_THAT(Text(tailor_graph_assume_at_least(bad, b, b, "stem", 4)), Invalid(problem));
    EXPECT_THAT(Text(tailor_graph_input(bad, "z", 1, TAILOR_F32, nullptr, 0, &value)), Invalid(problem));
    EXPECT_THAT(Text(tailor_graph_output(bad, "z", 1, x)), Invalid(problem));
    EXPECT_THAT(Text(tailor_graph_constant(bad, "c", 1, TAILOR_F32, nullptr, 0, "1234", 4, nullptr, nullptr, &value)),
                Invalid(problem));
    EXPECT_THAT(Text(tailor_graph_scalar(bad, TAILOR_F32, 1, &value)), Invalid(problem));
    EXPECT_THAT(Text(tailor_graph_set_name(bad, x, "n", 1)), Invalid(problem));
    EXPECT_THAT(Text(tailor_graph_value_type(bad, x, nullptr, nullptr, nullptr)), Invalid(problem));
    EXPECT_THAT(Text(tailor_graph_text(bad, &text)), Invalid(problem));
    EXPECT_THAT(Text(tailor_dim_text(bad, b, &text)), Invalid(problem));
    EXPECT_THAT(Text(tailor_graph_facts_text(bad, &text)), Invalid(problem));
    EXPECT_THAT(Text(tailor_graph_softmax(bad, x, 0, &value)), Invalid(problem));
    EXPECT_THAT(Text(tailor_graph_attention(bad, x, x, x, 0, 0, &value)), Invalid(problem));
    EXPECT_THAT(Text(tailor_graph_neg(bad, x, &value)), Invalid(problem));
    EXPECT_THAT(Text(tailor_graph_compile(bad, nullptr, nullptr, reinterpret_cast<tailor_executable**>(&value))),
                Invalid(problem));
    tailor_graph_release(bad);
  }
  EXPECT_EQ(dim, 77u);
  EXPECT_EQ(value, 77u);
  EXPECT_STREQ(text, "untouched");
}

TEST_F(CompilerGraph, NullOutParametersAreRefused) {
  EXPECT_THAT(Text(tailor_graph_create("g", 1, nullptr)), Invalid("tailor_graph_create: out is null"));
  EXPECT_THAT(Text(tailor_graph_symbol(graph, "S", 1, nullptr, nullptr)), Invalid("out is null"));
  EXPECT_THAT(Text(tailor_graph_dim(graph, 1, nullptr)), Invalid("out is null"));
  EXPECT_THAT(Text(tailor_dim_add(graph, b, b, nullptr)), Invalid("out is null"));
  EXPECT_THAT(Text(tailor_graph_input(graph, "z", 1, TAILOR_F32, nullptr, 0, nullptr)), Invalid("out is null"));
  EXPECT_THAT(Text(tailor_graph_scalar(graph, TAILOR_F32, 1, nullptr)), Invalid("out is null"));
  EXPECT_THAT(Text(tailor_graph_gelu(graph, x, nullptr)), Invalid("out is null"));
  EXPECT_THAT(Text(tailor_graph_add(graph, x, x, nullptr)), Invalid("add: out is null"));
  EXPECT_THAT(Text(tailor_graph_text(graph, nullptr)), Invalid("text is null"));
  EXPECT_THAT(Text(tailor_graph_compile(graph, nullptr, nullptr, nullptr)), Invalid("out is null"));
}

TEST_F(CompilerGraph, ValuesAndDimsOfOthersAreToldApart) {
  tailor_value y = 0;
  tailor_dim d = 0;
  EXPECT_THAT(Text(tailor_graph_neg(graph, 0, &y)), Invalid("neg: x is 0, which is no value"));
  EXPECT_THAT(Text(tailor_graph_neg(graph, foreign, &y)), Invalid("neg: x is a value of another graph"));
  EXPECT_THAT(Text(tailor_graph_neg(graph, b, &y)), Invalid("neg: x is a dim, not a value"));
  EXPECT_THAT(Text(tailor_graph_neg(graph, x + 1000, &y)), Invalid("neg: x is no value of this graph"));
  EXPECT_THAT(Text(tailor_dim_add(graph, b, 0, &d)), Invalid("tailor_dim_add: rhs is 0, which is no dim"));
  EXPECT_THAT(Text(tailor_dim_add(graph, foreign_dim, b, &d)), Invalid("lhs is a dim of another graph"));
  EXPECT_THAT(Text(tailor_dim_add(graph, b, x, &d)), Invalid("rhs is a value, not a dim"));
  EXPECT_THAT(Text(tailor_dim_add(graph, b, b + 1000, &d)), Invalid("rhs is no dim of this graph"));
  EXPECT_THAT(Text(tailor_graph_assume_equal(graph, b, foreign_dim)), Invalid("rhs is a dim of another graph"));
  EXPECT_THAT(Text(tailor_graph_assume_at_least(graph, foreign_dim, b, "", 0)),
              Invalid("lhs is a dim of another graph"));
  EXPECT_THAT(Text(tailor_graph_output(graph, "y", 1, foreign)), Invalid("value is a value of another graph"));
  EXPECT_THAT(Text(tailor_graph_set_name(graph, foreign, "n", 1)), Invalid("value is a value of another graph"));
  EXPECT_EQ(y, 0u);
  EXPECT_EQ(d, 0u);
}

TEST_F(CompilerGraph, SymbolsAreChecked) {
  tailor_dim out = 0;
  tailor_symbol_options options;
  tailor_symbol_options_init(&options);
  EXPECT_EQ(options.max, INT32_MAX);
  EXPECT_THAT(Text(tailor_graph_symbol(graph, "B", 1, nullptr, &out)), Invalid("\"B\""));
  EXPECT_THAT(Text(tailor_graph_symbol(graph, "", 0, nullptr, &out)), Invalid(""));
  options.min = 5;
  options.max = 4;
  EXPECT_THAT(Text(tailor_graph_symbol(graph, "S", 1, &options, &out)), Invalid("S"));
  options.min = -1;
  EXPECT_THAT(Text(tailor_graph_symbol(graph, "S", 1, &options, &out)), Invalid("S"));
  tailor_symbol_options_init(&options);
  options.multiple_of = 0;
  EXPECT_THAT(Text(tailor_graph_symbol(graph, "S", 1, &options, &out)), Invalid("S"));
  tailor_symbol_options_init(&options);
  options.likely_count = 1;
  EXPECT_THAT(Text(tailor_graph_symbol(graph, "S", 1, &options, &out)), Invalid("likely is null"));
  const int64_t unlikely[] = {8, 12, 1024};
  options = {sizeof(options), 1, 512, 8, unlikely, 2};
  EXPECT_THAT(Text(tailor_graph_symbol(graph, "S", 1, &options, &out)),
              Invalid("symbol \"S\": likely value 12 is no multiple of 8"));
  options = {sizeof(options), 1, 512, 8, unlikely + 2, 1};
  EXPECT_THAT(Text(tailor_graph_symbol(graph, "S", 1, &options, &out)),
              Invalid("symbol \"S\": likely value 1024 is outside [1, 512]"));
  options = {sizeof(options), 9, 15, 8, nullptr, 0};
  EXPECT_THAT(Text(tailor_graph_symbol(graph, "S", 1, &options, &out)),
              Invalid("symbol \"S\": no multiple of 8 lies in [9, 15]"));
  for (const char* clause :
       {"in [9, 15] multiple_of 8", "in [5, 4]", "in [1, 8] likely [9]", "multiple_of 8 likely [12]"}) {
    const std::string text = std::string("graph @g(%x: f32[S]) where S ") + clause + " {\n  return \"x\" = %x\n}";
    tailor_graph* parsed = nullptr;
    EXPECT_THAT(Text(tailor_graph_parse(text.data(), text.size(), &parsed)), Invalid("symbol \"S\": ")) << clause;
  }
  EXPECT_EQ(out, 0u);
  const int64_t likely[] = {8, 64};
  options = {sizeof(options), 1, 512, 8, likely, 2};
  ASSERT_EQ(Text(tailor_graph_symbol(graph, "S", 1, &options, &out)), "OK");
  tailor_value value = 0;
  ASSERT_EQ(Text(tailor_graph_input(graph, "s", 1, TAILOR_BOOL, &out, 1, &value)), "OK");
  EXPECT_THAT(GraphText(), HasSubstr("S in [1, 512] multiple_of 8 likely [8, 64]"));
}

TEST_F(CompilerGraph, OptionStructsOfOtherSizesAreRead) {
  tailor_dim out = 0;
  struct Newer {
    tailor_symbol_options known;
    uint64_t unknown;
  } newer = {};
  tailor_symbol_options_init(&newer.known);
  newer.known.struct_size = sizeof(Newer);
  EXPECT_EQ(Text(tailor_graph_symbol(graph, "S", 1, &newer.known, &out)), "OK");
  newer.unknown = 1;
  EXPECT_THAT(Text(tailor_graph_symbol(graph, "T", 1, &newer.known, &out)), Invalid("does not know"));
  // An older caller's struct ends after `min`.
  tailor_symbol_options older;
  tailor_symbol_options_init(&older);
  older.struct_size = 16;
  older.max = -1;
  EXPECT_EQ(Text(tailor_graph_symbol(graph, "U", 1, &older, &out)), "OK");
  older.struct_size = 0;
  EXPECT_THAT(Text(tailor_graph_symbol(graph, "V", 1, &older, &out)), Invalid("struct_size"));
}

TEST_F(CompilerGraph, DimArithmeticIsCanonical) {
  auto text = [&](tailor_dim dim) {
    const char* out = nullptr;
    EXPECT_EQ(Text(tailor_dim_text(graph, dim, &out)), "OK");
    return std::string(out);
  };
  auto combine = [&](auto function, tailor_dim lhs, tailor_dim rhs) {
    tailor_dim out = 0;
    EXPECT_EQ(Text(function(graph, lhs, rhs, &out)), "OK");
    return out;
  };
  EXPECT_EQ(text(combine(tailor_dim_add, b, eight)), "B + 8");
  EXPECT_EQ(text(combine(tailor_dim_sub, b, b)), "0");
  EXPECT_EQ(text(combine(tailor_dim_mul, b, eight)), "8*B");
  EXPECT_EQ(text(combine(tailor_dim_floordiv, b, eight)), "floordiv(B, 8)");
  EXPECT_EQ(text(combine(tailor_dim_mod, b, eight)), "mod(B, 8)");
  EXPECT_EQ(text(combine(tailor_dim_min, b, eight)), text(combine(tailor_dim_min, eight, b)));
  EXPECT_EQ(combine(tailor_dim_max, b, b), b) << "equal dims have one handle";
  EXPECT_EQ(text(combine(tailor_dim_ceildiv, b, eight)), "floordiv(B + 7, 8)");
  EXPECT_EQ(text(combine(tailor_dim_truncdiv, b, eight)), "floordiv(B, 8)") << "a symbol is not negative";
  EXPECT_EQ(text(combine(tailor_dim_truncmod, b, eight)), "mod(B, 8)");
  EXPECT_EQ(text(combine(tailor_dim_less, b, eight)), "min(max(0, -B + 8), 1)");
  EXPECT_EQ(text(combine(tailor_dim_equal, b, b)), "1");
  tailor_dim selected = 0;
  ASSERT_EQ(Text(tailor_dim_select(graph, combine(tailor_dim_equal, b, b), eight, b, &selected)), "OK");
  EXPECT_EQ(selected, eight);
  EXPECT_THAT(Text(tailor_dim_select(graph, 0, eight, b, &selected)),
              Invalid("tailor_dim_select: condition is 0, which is no dim"));
  tailor_dim zero = combine(tailor_dim_sub, b, b), out = 0;
  EXPECT_THAT(Text(tailor_dim_floordiv(graph, b, zero, &out)),
              Invalid("tailor_dim_floordiv: no valid dim from B and 0: a constant divisor is below 1"));
  EXPECT_EQ(out, 0u);
}

TEST_F(CompilerGraph, DimsThatAreNoDimsSayWhy) {
  auto symbol = [&](const std::string& name) {
    tailor_dim dim = 0;
    EXPECT_EQ(Text(tailor_graph_symbol(graph, name.c_str(), name.size(), nullptr, &dim)), "OK");
    return dim;
  };
  tailor_dim most = 0, out = 0;
  ASSERT_EQ(Text(tailor_graph_dim(graph, INT64_MAX, &most)), "OK");
  EXPECT_THAT(Text(tailor_dim_add(graph, most, eight, &out)),
              Invalid("no valid dim from 9223372036854775807 and 8: a coefficient leaves 64 bits"));
  std::vector<tailor_value> parts;
  for (int i = 0; i < 600; ++i) {
    const std::string name = "S" + std::to_string(i);
    const tailor_dim dim = symbol(name);
    parts.emplace_back();
    ASSERT_EQ(Text(tailor_graph_input(graph, name.c_str(), name.size(), TAILOR_F32, &dim, 1, &parts.back())), "OK");
  }
  tailor_value joined = 0;
  EXPECT_THAT(Text(tailor_graph_concat(graph, parts.data(), parts.size(), 0, &joined)),
              Invalid("concat: dim size 0 of the result has no value: the expression has more than 1024 terms, factors "
                      "and operations"));
}

TEST_F(CompilerGraph, InputsAndOutputsAreChecked) {
  tailor_value out = 0;
  const tailor_dim nine[] = {b, b, b, b, b, b, b, b, b};
  EXPECT_THAT(Text(tailor_graph_input(graph, "x", 1, TAILOR_F32, &b, 1, &out)), Invalid("\"x\""));
  EXPECT_THAT(Text(tailor_graph_input(graph, "z", 1, 0, &b, 1, &out)), Invalid("dtype is 0, no element type"));
  EXPECT_THAT(Text(tailor_graph_input(graph, "z", 1, 268, &b, 1, &out)), Invalid("dtype is 268"));
  EXPECT_THAT(Text(tailor_graph_input(graph, "z", 1, TAILOR_F32, nullptr, 1, &out)), Invalid("dims is null"));
  EXPECT_THAT(Text(tailor_graph_input(graph, "z", 1, TAILOR_F32, nine, 9, &out)), Invalid("9 dims, more than 8"));
  EXPECT_THAT(Text(tailor_graph_input(graph, "z", 1, TAILOR_F32, &foreign_dim, 1, &out)),
              Invalid("dims[0] is a dim of another graph"));
  EXPECT_THAT(Text(tailor_graph_input(graph, nullptr, 3, TAILOR_F32, &b, 1, &out)), Invalid("name is null"));
  EXPECT_THAT(Text(tailor_graph_input(graph, "a\0b", 3, TAILOR_F32, &b, 1, &out)), Invalid("name is no UTF-8"));
  EXPECT_THAT(Text(tailor_graph_input(graph, "\xC0\xAF", 2, TAILOR_F32, &b, 1, &out)), Invalid("name is no UTF-8"));
  EXPECT_THAT(Text(tailor_graph_input(graph, "\xED\xA0\x80", 3, TAILOR_F32, &b, 1, &out)), Invalid("UTF-8"));
  EXPECT_EQ(out, 0u);
  EXPECT_EQ(Text(tailor_graph_input(graph, "gr\xC3\xBC\xC3\x9F", SIZE_MAX, TAILOR_F32, &b, 1, &out)), "OK");
  EXPECT_EQ(Text(tailor_graph_output(graph, "y", 1, x)), "OK");
  EXPECT_THAT(Text(tailor_graph_output(graph, "y", 1, ids)), Invalid("y"));
}

TEST_F(CompilerGraph, NegativeDimSizesAreRefused) {
  tailor_dim minus = 0;
  ASSERT_EQ(Text(tailor_graph_dim(graph, -3, &minus)), "OK");
  tailor_value out = 0;
  EXPECT_THAT(Text(tailor_graph_input(graph, "z", 1, TAILOR_F32, &minus, 1, &out)), Invalid("-3"));
}

TEST_F(CompilerGraph, AFailedCallChangesNothing) {
  const std::string before = GraphText();
  tailor_value out = 0;
  EXPECT_THAT(Text(tailor_graph_add(graph, x, ids, &out)), Not("OK"));
  EXPECT_THAT(Text(tailor_graph_reshape(graph, x, &foreign_dim, 1, &out)), Not("OK"));
  EXPECT_THAT(Text(tailor_graph_input(graph, "x", 1, TAILOR_F32, &b, 1, &out)), Not("OK"));
  EXPECT_EQ(GraphText(), before);
}

}  // namespace
}  // namespace tailor

// What is known of dims, their structure, and dims of other graphs, through tailor/compiler.h.
#include "tests/api/compiler_fixture.h"

namespace tailor {
namespace {

class CompilerDims : public CompilerTest {
 protected:
  using Combine = tailor_status* (*)(tailor_graph*, tailor_dim, tailor_dim, tailor_dim*);

  tailor_dim Combined(Combine function, tailor_dim lhs, tailor_dim rhs) {
    tailor_dim out = 0;
    EXPECT_EQ(Text(function(graph, lhs, rhs, &out)), "OK");
    return out;
  }
  tailor_dim Number(int64_t number) {
    tailor_dim out = 0;
    EXPECT_EQ(Text(tailor_graph_dim(graph, number, &out)), "OK");
    return out;
  }
  tailor_dim Symbol(const std::string& name, int64_t min, int64_t max) {
    tailor_symbol_options options;
    tailor_symbol_options_init(&options);
    options.min = min;
    options.max = max;
    tailor_dim out = 0;
    EXPECT_EQ(Text(tailor_graph_symbol(graph, name.data(), name.size(), &options, &out)), "OK");
    return out;
  }
  std::pair<int64_t, int64_t> Range(tailor_dim dim) {
    std::pair<int64_t, int64_t> range;
    EXPECT_EQ(Text(tailor_dim_range(graph, dim, &range.first, &range.second)), "OK");
    return range;
  }
  int32_t Compare(tailor_dim lhs, tailor_dim rhs, int32_t relation) {
    int32_t result = 7;
    EXPECT_EQ(Text(tailor_dim_compare(graph, lhs, rhs, relation, &result)), "OK");
    return result;
  }
  tailor_dim_info Described(tailor_dim dim) {
    tailor_dim_info info;
    tailor_dim_info_init(&info);
    EXPECT_EQ(Text(tailor_dim_describe(graph, dim, &info)), "OK");
    return info;
  }
};

using Limits = std::pair<int64_t, int64_t>;

TEST_F(CompilerDims, RangesComeFromDeclarationsInputsAndAssumptions) {
  EXPECT_EQ(Range(eight), Limits(8, 8));
  EXPECT_EQ(Range(b), Limits(0, INT32_MAX));
  const tailor_dim s = Symbol("S", 3, 10), one = Number(1);
  EXPECT_EQ(Range(Combined(tailor_dim_mul, s, eight)), Limits(24, 80));
  EXPECT_EQ(Range(Combined(tailor_dim_sub, s, Number(5))), Limits(-2, 5));
  const tailor_dim shorter = Combined(tailor_dim_sub, b, one);
  EXPECT_EQ(Range(shorter).first, -1);
  tailor_value in = 0;
  ASSERT_EQ(Text(tailor_graph_input(graph, "shorter", 7, TAILOR_F32, &shorter, 1, &in)), "OK");
  EXPECT_EQ(Range(shorter).first, 0) << "a dim of an input";
  EXPECT_EQ(Range(b).first, 1);
  ASSERT_EQ(Text(tailor_graph_assume_at_least(graph, b, s, "", 0)), "OK");
  EXPECT_EQ(Range(Combined(tailor_dim_sub, b, s)).first, 0);
}

TEST_F(CompilerDims, ComparisonsAreProvedOrUnknown) {
  const tailor_dim s = Symbol("S", 3, 10), more = Combined(tailor_dim_add, s, Number(1));
  EXPECT_EQ(Compare(s, more, TAILOR_DIM_LESS), 1);
  EXPECT_EQ(Compare(more, s, TAILOR_DIM_LESS), 0);
  EXPECT_EQ(Compare(s, more, TAILOR_DIM_EQUAL), 0);
  EXPECT_EQ(Compare(s, s, TAILOR_DIM_EQUAL), 1);
  EXPECT_EQ(Compare(s, s, TAILOR_DIM_LESS), 0);
  EXPECT_EQ(Compare(s, Number(10), TAILOR_DIM_AT_MOST), 1);
  EXPECT_EQ(Compare(s, Number(2), TAILOR_DIM_AT_MOST), 0);
  EXPECT_EQ(Compare(s, b, TAILOR_DIM_EQUAL), -1);
  ASSERT_EQ(Text(tailor_graph_assume_equal(graph, s, b)), "OK");
  EXPECT_EQ(Compare(s, b, TAILOR_DIM_EQUAL), 1);
  int32_t result = 7;
  EXPECT_THAT(Text(tailor_dim_compare(graph, s, b, 3, &result)), Invalid("relation is 3, which is none"));
  EXPECT_THAT(Text(tailor_dim_compare(graph, s, foreign_dim, 0, &result)), Invalid("rhs is a dim of another graph"));
  EXPECT_EQ(result, 7);
}

TEST_F(CompilerDims, AFailedInputLeavesNoFact) {
  const tailor_dim shorter = Combined(tailor_dim_sub, b, Number(1));
  tailor_value in = 0;
  EXPECT_THAT(Text(tailor_graph_input(graph, "x", 1, TAILOR_F32, &shorter, 1, &in)), Invalid("\"x\""));
  EXPECT_EQ(Range(shorter).first, -1);
}

TEST_F(CompilerDims, StructureIsThatOfTheCanonicalForm) {
  EXPECT_EQ(Described(eight).kind, TAILOR_DIM_CONSTANT);
  EXPECT_EQ(Described(eight).constant, 8);
  const tailor_dim s = Symbol("S", 3, 10);
  const tailor_dim_info symbol = Described(s);
  EXPECT_EQ(symbol.kind, TAILOR_DIM_SYMBOL);
  EXPECT_EQ(std::string(symbol.name), "S");
  EXPECT_EQ(Limits(symbol.min, symbol.max), Limits(3, 10));
  EXPECT_EQ(symbol.multiple_of, 1);
  const Combine functions[] = {tailor_dim_add, tailor_dim_mul, tailor_dim_floordiv,
                               tailor_dim_mod, tailor_dim_min, tailor_dim_max};
  const int32_t kinds[] = {TAILOR_DIM_ADD, TAILOR_DIM_MUL, TAILOR_DIM_FLOORDIV,
                           TAILOR_DIM_MOD, TAILOR_DIM_MIN, TAILOR_DIM_MAX};
  for (size_t i = 0; i < std::size(kinds); ++i) {
    const tailor_dim dim = Combined(functions[i], b, s);
    const tailor_dim_info info = Described(dim);
    EXPECT_EQ(info.kind, kinds[i]);
    EXPECT_EQ(Combined(functions[i], info.lhs, info.rhs), dim) << "operands give the dim again";
  }
  const tailor_dim square = Combined(tailor_dim_mul, Number(3), Combined(tailor_dim_mul, b, b));
  EXPECT_EQ(Described(square).kind, TAILOR_DIM_MUL);
  EXPECT_EQ(Described(Described(square).lhs).constant, 3);
  EXPECT_EQ(Described(Described(square).rhs).lhs, b);
}

TEST_F(CompilerDims, CoefficientsWithoutNegativeAreDescribed) {
  const tailor_dim least = Combined(tailor_dim_mul, b, Number(INT64_MIN)), s = Symbol("S", 0, 10);
  for (const tailor_dim dim : {Combined(tailor_dim_add, least, s), Combined(tailor_dim_add, s, Number(INT64_MIN))}) {
    const tailor_dim_info info = Described(dim);
    EXPECT_EQ(info.kind, TAILOR_DIM_ADD);
    EXPECT_EQ(Combined(tailor_dim_add, info.lhs, info.rhs), dim);
  }
}

TEST_F(CompilerDims, SymbolsAreListed) {
  const tailor_dim s = Symbol("S", 0, 10), dim = Combined(tailor_dim_floordiv, Combined(tailor_dim_add, b, s), eight);
  size_t count = 0;
  ASSERT_EQ(Text(tailor_dim_symbols(graph, dim, nullptr, 0, &count)), "OK");
  ASSERT_EQ(count, 2u);
  tailor_dim symbols[2] = {0, 0};
  ASSERT_EQ(Text(tailor_dim_symbols(graph, dim, symbols, 1, &count)), "OK");
  EXPECT_EQ(symbols[1], 0u);
  ASSERT_EQ(Text(tailor_dim_symbols(graph, dim, symbols, 2, &count)), "OK");
  EXPECT_THAT(symbols, testing::UnorderedElementsAre(b, s));
  EXPECT_THAT(Text(tailor_dim_symbols(graph, dim, nullptr, 2, &count)), Invalid("symbols is null"));
}

TEST_F(CompilerDims, DimsAreRewrittenIntoAnotherGraph) {
  const tailor_dim dim = Combined(tailor_dim_add, Combined(tailor_dim_mul, b, eight), Number(1));
  tailor_dim out = 0, four = 0;
  ASSERT_EQ(Text(tailor_graph_dim(other, 4, &four)), "OK");
  ASSERT_EQ(Text(tailor_dim_rewrite(graph, dim, other, &b, &foreign_dim, 1, &out)), "OK");
  const char* text = nullptr;
  ASSERT_EQ(Text(tailor_dim_text(other, out, &text)), "OK");
  EXPECT_STREQ(text, "8*B + 1");
  ASSERT_EQ(Text(tailor_dim_rewrite(graph, dim, other, &b, &four, 1, &out)), "OK");
  ASSERT_EQ(Text(tailor_dim_text(other, out, &text)), "OK");
  EXPECT_STREQ(text, "33");
  ASSERT_EQ(Text(tailor_dim_rewrite(graph, dim, graph, &b, &eight, 1, &out)), "OK") << "within one graph";
  EXPECT_EQ(Range(out), Limits(65, 65));
  EXPECT_THAT(Text(tailor_dim_rewrite(graph, dim, other, nullptr, nullptr, 0, &out)),
              Invalid("no replacement for the symbol B"));
  EXPECT_THAT(Text(tailor_dim_rewrite(graph, dim, other, &dim, &four, 1, &out)),
              Invalid("symbols[0] is 8*B + 1, which is no symbol"));
  EXPECT_THAT(Text(tailor_dim_rewrite(graph, dim, NoGraph(), &b, &four, 1, &out)), Invalid("graph"));
}

}  // namespace
}  // namespace tailor

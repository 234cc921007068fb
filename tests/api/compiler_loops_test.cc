// Compound operations that append loops: recurrent layers, sorting, selection of elements.
#include <cmath>

#include "tests/api/compiler_fixture.h"

namespace tailor {
namespace {

using testing::HasSubstr;
using testing::Not;

class CompilerLoops : public CompilerTest {
 protected:
  tailor_value Input(const std::string& name, int32_t dtype, std::vector<tailor_dim> dims) {
    tailor_value value = 0;
    EXPECT_EQ(Text(tailor_graph_input(graph, name.data(), name.size(), dtype, dims.data(), dims.size(), &value)), "OK");
    return value;
  }
  tailor_dim Dim(int64_t dim_size) {
    tailor_dim dim = 0;
    EXPECT_EQ(Text(tailor_graph_dim(graph, dim_size, &dim)), "OK");
    return dim;
  }
};

TEST_F(CompilerLoops, RecurrentLayers) {
  tailor_dim t = 0;
  ASSERT_EQ(Text(tailor_graph_symbol(graph, "T", 1, nullptr, &t)), "OK");
  tailor_value steps = Input("steps", TAILOR_F32, {t, b, Dim(3)}), y = 0, h = 0, c = 0;
  tailor_value w = Input("w", TAILOR_F32, {Dim(8), Dim(3)}), r = Input("r", TAILOR_F32, {Dim(8), Dim(2)});
  EXPECT_EQ(Text(tailor_graph_lstm(graph, steps, w, r, nullptr, &y, &h, &c)), "OK");
  EXPECT_EQ(TypeText(y) + ", " + TypeText(h) + ", " + TypeText(c), "12 T B 2, 12 B 2, 12 B 2");
  EXPECT_THAT(GraphText(), Not(HasSubstr("min")));

  const char* names[] = {"relu", "affine", "tanh"};
  const double alphas[] = {0, 0.25, NAN}, betas[] = {0, NAN, NAN};
  tailor_recurrence_options options;
  tailor_recurrence_options_init(&options);
  options.bias = Input("bias", TAILOR_F32, {Dim(8)});
  options.lengths = ids;
  options.clip = 0.125;
  options.reverse = 1;
  options.activations = names;
  options.alphas = alphas;
  options.betas = betas;
  options.activation_count = 3;
  EXPECT_EQ(Text(tailor_graph_lstm(graph, steps, w, r, &options, &y, &h, &c)), "OK");
  for (const char* part : {"= constant 0.125", "= constant 0.25", "%lengths: i64[B, 1]", "lt %t", "= sub %"}) {
    EXPECT_THAT(GraphText(), HasSubstr(part));
  }
  tailor_value gru_w = Input("gru_w", TAILOR_F32, {Dim(6), Dim(3)}),
               gru_r = Input("gru_r", TAILOR_F32, {Dim(6), Dim(2)});
  EXPECT_EQ(Text(tailor_graph_gru(graph, steps, gru_w, gru_r, nullptr, &y, &h)), "OK");
  tailor_value rnn_r = Input("rnn_r", TAILOR_F32, {Dim(8), Dim(8)});
  EXPECT_EQ(Text(tailor_graph_rnn(graph, steps, w, rnn_r, nullptr, &y, &h)), "OK");
  EXPECT_EQ(TypeText(y), "12 T B 8");
}

TEST_F(CompilerLoops, RecurrentLayersRefuseBadOperands) {
  tailor_value y = 0, h = 0, c = 0;
  tailor_value steps = Input("steps", TAILOR_F32, {b, b, Dim(3)});
  tailor_value w = Input("w", TAILOR_F32, {Dim(8), Dim(3)}), r = Input("r", TAILOR_F32, {Dim(8), Dim(2)});
  tailor_recurrence_options options;
  tailor_recurrence_options_init(&options);
  EXPECT_THAT(Text(tailor_graph_lstm(graph, steps, w, w, nullptr, &y, &h, &c)), Invalid("lstm: operand \"w\""));
  EXPECT_THAT(Text(tailor_graph_gru(graph, steps, foreign, r, nullptr, &y, &h)), Invalid("gru: w is a value of"));
  EXPECT_THAT(Text(tailor_graph_lstm(graph, steps, w, r, nullptr, &y, &h, nullptr)), Invalid("c is null"));
  options.initial_h = foreign;
  EXPECT_THAT(Text(tailor_graph_rnn(graph, steps, w, r, &options, &y, &h)),
              Invalid("rnn: options.initial_h is a value of"));
  tailor_recurrence_options_init(&options);
  options.activation_count = 1;
  EXPECT_THAT(Text(tailor_graph_rnn(graph, steps, w, r, &options, &y, &h)), Invalid("options.activations is null"));
  const char* unknown = "tan";
  options.activations = &unknown;
  EXPECT_THAT(Text(tailor_graph_rnn(graph, steps, w, r, &options, &y, &h)), Invalid("no activation function \"tan\""));
  options.struct_size = 3;
  EXPECT_THAT(Text(tailor_graph_rnn(graph, steps, w, r, &options, &y, &h)), Invalid("struct_size"));
  EXPECT_EQ(y + h + c, 0u);
}

TEST_F(CompilerLoops, Sorting) {
  tailor_value values = 0, indices = 0;
  EXPECT_EQ(Text(tailor_graph_sort(graph, x, 0, 1, &values, &indices)), "OK");
  EXPECT_EQ(TypeText(values) + ", " + TypeText(indices), "12 B 8, 5 B 8");
  EXPECT_EQ(Text(tailor_graph_top_k(graph, x, b, -1, 0, &values, &indices)), "OK");
  EXPECT_EQ(TypeText(values) + ", " + TypeText(indices), "12 B B, 5 B B");
  values = indices = 0;
  EXPECT_THAT(Text(tailor_graph_sort(graph, x, 2, 0, &values, &indices)), Invalid("sort: axis 2"));
  EXPECT_THAT(Text(tailor_graph_sort(graph, foreign, 0, 0, &values, &indices)), Invalid("sort: x is a value of"));
  EXPECT_THAT(Text(tailor_graph_top_k(graph, x, foreign_dim, 0, 0, &values, &indices)),
              Invalid("top_k: k is a dim of"));
  EXPECT_THAT(Text(tailor_graph_top_k(graph, x, Dim(9), 1, 0, &values, &indices)), Invalid("top_k: k is 9"));
  EXPECT_THAT(Text(tailor_graph_sort(graph, x, 0, 0, &values, nullptr)), Invalid("indices is null"));
  EXPECT_THAT(Text(tailor_graph_sort(NoGraph(), x, 0, 0, &values, &indices)), Invalid("tailor_graph_sort"));
  EXPECT_EQ(values + indices, 0u);
}

TEST_F(CompilerLoops, Compaction) {
  tailor_value mask = Input("mask", TAILOR_BOOL, {b}), out[4] = {};
  EXPECT_EQ(Text(tailor_graph_compact(graph, x, mask, out)), "OK");
  EXPECT_EQ(TypeText(out[0]), "12 compact0 8");
  EXPECT_EQ(Text(tailor_graph_nonzero(graph, x, out)), "OK");
  EXPECT_EQ(TypeText(out[0]), "5 2 nonzero0");
  EXPECT_EQ(Text(tailor_graph_unique(graph, x, nullptr, 0, out, out + 1, out + 2, out + 3)), "OK");
  EXPECT_EQ(TypeText(out[0]) + ", " + TypeText(out[1]) + ", " + TypeText(out[2]) + ", " + TypeText(out[3]),
            "12 unique0, 5 unique0, 5 8*B, 5 unique0");
  const int64_t axis = -2, wrong = 2;
  EXPECT_EQ(Text(tailor_graph_unique(graph, x, &axis, 1, out, out + 1, out + 2, out + 3)), "OK");
  EXPECT_EQ(TypeText(out[0]) + ", " + TypeText(out[2]), "12 unique1 8, 5 B");
  EXPECT_THAT(Text(tailor_graph_compact(graph, x, ids, out)), Invalid("compact: operand \"mask\" (%ids)"));
  EXPECT_THAT(Text(tailor_graph_nonzero(graph, 0, out)), Invalid("nonzero: x is 0"));
  EXPECT_THAT(Text(tailor_graph_unique(graph, x, &wrong, 1, out, out + 1, out + 2, out + 3)), Invalid("axis 2"));
}

}  // namespace
}  // namespace tailor

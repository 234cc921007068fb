// What tests of tailor/compiler.h share: a graph with two inputs.
#ifndef TAILOR_TESTS_API_COMPILER_FIXTURE_H_
#define TAILOR_TESTS_API_COMPILER_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tailor/compiler.h"
#include "tests/api/status_text.h"

namespace tailor {

inline testing::Matcher<const std::string&> Invalid(const std::string& message) {
  return testing::AllOf(testing::StartsWith("3: "), testing::HasSubstr(message));
}

// graph @g(%x: f32[B, 8], %ids: i64[B]), and another graph for foreign handles.
class CompilerTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(Text(tailor_graph_create("g", 1, &graph)), "OK");
    ASSERT_EQ(Text(tailor_graph_symbol(graph, "B", 1, nullptr, &b)), "OK");
    ASSERT_EQ(Text(tailor_graph_dim(graph, 8, &eight)), "OK");
    const tailor_dim dims[] = {b, eight};
    ASSERT_EQ(Text(tailor_graph_input(graph, "x", 1, TAILOR_F32, dims, 2, &x)), "OK");
    ASSERT_EQ(Text(tailor_graph_input(graph, "ids", 3, TAILOR_I64, dims, 1, &ids)), "OK");
    ASSERT_EQ(Text(tailor_graph_create("other", SIZE_MAX, &other)), "OK");
    ASSERT_EQ(Text(tailor_graph_symbol(other, "B", 1, nullptr, &foreign_dim)), "OK");
    ASSERT_EQ(Text(tailor_graph_input(other, "x", 1, TAILOR_F32, &foreign_dim, 1, &foreign)), "OK");
  }
  void TearDown() override {
    tailor_graph_release(graph);
    tailor_graph_release(other);
  }

  std::string GraphText() {
    const char* text = nullptr;
    EXPECT_EQ(Text(tailor_graph_text(graph, &text)), "OK");
    return text;
  }
  std::string TypeText(tailor_value value) {
    int32_t dtype = 0, rank = 0;
    tailor_dim dims[TAILOR_MAX_RANK];
    EXPECT_EQ(Text(tailor_graph_value_type(graph, value, &dtype, &rank, dims)), "OK");
    std::string out = std::to_string(dtype);
    for (int32_t i = 0; i < rank; ++i) {
      const char* text = nullptr;
      EXPECT_EQ(Text(tailor_dim_text(graph, dims[i], &text)), "OK");
      out += std::string(" ") + text;
    }
    return out;
  }

  // Any handle that is no graph.
  tailor_graph* NoGraph() { return reinterpret_cast<tailor_graph*>(&no_graph_); }

  tailor_graph* graph = nullptr;
  tailor_graph* other = nullptr;
  tailor_dim b = 0, eight = 0, foreign_dim = 0;
  tailor_value x = 0, ids = 0, foreign = 0;

 private:
  uint64_t no_graph_[2] = {0x7461696c6f720004, 0};  // the kind of a session
};

}  // namespace tailor

#endif  // TAILOR_TESTS_API_COMPILER_FIXTURE_H_

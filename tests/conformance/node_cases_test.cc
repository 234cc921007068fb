#include "tests/conformance/node_cases.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>

#include "graph/text.h"

namespace tailor {
namespace {

using testing::HasSubstr;

std::string Bytes(std::initializer_list<float> values) {
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.begin(), bytes.size());
  return bytes;
}

std::string Part(const std::string& head, const std::string& payload) {
  return head + " " + std::to_string(payload.size()) + "\n" + payload + "\n";
}

// y = x + x on x = [10, 20].
std::string SumCase(std::initializer_list<float> wanted) {
  return "case sum 0.001 0.1\n" + Part("graph", "graph @g(%x: f32[N]) {\n  %y = add %x, %x\n  return %y\n}\n") +
         Part("model", "bytes") + Part("fixed axes f32 [2]", Bytes({1, 2})) + Part("input f32 [2]", Bytes({10, 20})) +
         Part("output 0 f32 [2]", Bytes(wanted)) + "end\n";
}

HostTensor Floats(std::initializer_list<float> values) {
  HostTensor tensor{DType::kF32, {static_cast<int64_t>(values.size())}, {}};
  const std::string bytes = Bytes(values);
  const auto* data = reinterpret_cast<const std::byte*>(bytes.data());
  tensor.bytes.assign(data, data + bytes.size());
  return tensor;
}

TEST(NodeCases, AreReadOneAfterTheOther) {
  const auto cases = ReadNodeCases(SumCase({20, 40}) + SumCase({0, 0}));
  ASSERT_TRUE(cases.ok()) << cases.status();
  ASSERT_EQ(cases->size(), 2u);
  const NodeCase& first = (*cases)[0];
  EXPECT_EQ(first.name, "sum");
  EXPECT_EQ(first.rtol, 0.001);
  EXPECT_EQ(first.atol, 0.1);
  EXPECT_EQ(first.model, "bytes");
  EXPECT_EQ(first.fixed.at(0).first, "axes");
  EXPECT_EQ(first.fixed.at(0).second.dims, std::vector<int64_t>{2});
  EXPECT_EQ(first.inputs.at(0).dims, std::vector<int64_t>{2});
  EXPECT_EQ(first.outputs.at(0).first, 0);
}

TEST(NodeCases, WhatIsNoCaseIsRefused) {
  const std::string whole = SumCase({20, 40});
  for (const std::string& bad :
       {std::string("case a 1\n"), std::string("what\n"), whole.substr(0, whole.size() - 6),
        std::string("case a 0 0\ninput f32 [3] 8\n12345678\nend\n"),
        std::string("case a 0 0\ninput f31 [1] 4\n1234\nend\n"), std::string("case a 0 0\ngraph 99\nshort\nend\n")}) {
    EXPECT_EQ(ReadNodeCases(bad).status().code(), absl::StatusCode::kInvalidArgument) << bad;
  }
}

TEST(NodeCases, RunOnADevice) {
  const auto devices = CpuDevices();
  const TestDevice& cpu = *devices.front();
  const auto graph_of = [](const NodeCase& node_case) { return ParseGraph(node_case.graph); };
  const auto run = [&](const std::string& text) { return RunNodeCase(ReadNodeCases(text)->front(), cpu, graph_of); };
  EXPECT_EQ(run(SumCase({20, 40})), "");
  EXPECT_EQ(run(SumCase({20.1F, 40})), "");
  EXPECT_EQ(run(SumCase({20, 41})), "output 0: element 1 is 40, not 41");
  EXPECT_EQ(run("case none 0 0\nend\n").substr(0, 9), "loading: ");
}

TEST(Difference, IsInFloatsBeyondTheTolerance) {
  EXPECT_EQ(Difference(Floats({1, NAN, INFINITY}), Floats({1.05F, NAN, INFINITY}), 0, 0.1), "");
  EXPECT_EQ(Difference(Floats({100}), Floats({101}), 0.02, 0), "");
  EXPECT_THAT(Difference(Floats({100}), Floats({101}), 0.005, 0), HasSubstr("element 0 is 100, not 101"));
  EXPECT_THAT(Difference(Floats({NAN}), Floats({1}), 9, 9), HasSubstr("not 1"));
  EXPECT_EQ(Difference(Floats({1}), Floats({1, 2}), 9, 9), "it is f32[1], not f32[2]");
}

TEST(Difference, IsInIntegersAnyOther) {
  HostTensor one{DType::kI8, {1}, {std::byte{1}}}, two{DType::kI8, {1}, {std::byte{2}}};
  EXPECT_EQ(Difference(one, one, 9, 9), "");
  EXPECT_EQ(Difference(one, two, 9, 9), "element 0 differs");
}

}  // namespace
}  // namespace tailor

// tailor/onnx.hpp on the models that onnx_models.py writes (TAILOR_TEST_MODELS).
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tailor/onnx.hpp"
#include "tests/hosts/cpp_expect.hpp"

namespace {

using tailor::Code;
using tailor::Graph;
using tailor::Result;
using tailor::view;
namespace onnx = tailor::onnx;

std::string Model(const std::string& name) {
  const char* folder = std::getenv("TAILOR_TEST_MODELS");
  return std::string(folder == nullptr ? "" : folder) + "/" + name;
}

std::vector<std::uint8_t> Bytes(const std::string& name) {
  std::ifstream file(Model(name), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What y = x * [1, 2, 3, 4] gives for rows of 2.
void ExpectScales(Graph graph) {
  tailor::CompileOptions options;
  options.targets = {"host"};
  tailor::Session session = graph.compile(options).value().session().value();
  const std::vector<float> x(8, 2.0f);
  EXPECT_EQ(*session.run({view(x, {2, 4})})->copy<float>(0), (std::vector<float>{2, 4, 6, 8, 2, 4, 6, 8}));
}

TEST(CppOnnx, LoadsFilesAndMemory) {
  ExpectScales(onnx::load(Model("scale.onnx")).value());
  ExpectScales(onnx::load_bytes(Bytes("scale.onnx")).value());
  ExpectScales(onnx::load_owned(Bytes("scale.onnx")).value());
  EXPECT_NE(onnx::operators().find("MatMul"), std::string::npos);
}

TEST(CppOnnx, SymbolsDimsAndFixedInputs) {
  onnx::Options options;
  options.symbols["batch"].max = 64;
  const std::vector<std::int64_t> axes = {1};
  options.fixed.emplace("axes", view(axes));
  options.dims.emplace("x_dim1", "2*batch");
  const std::string text = onnx::load(Model("sum.onnx"), options)->text().value();
  EXPECT_NE(text.find("f32[batch, 2*batch]"), std::string::npos) << text;
  EXPECT_NE(text.find("64"), std::string::npos) << text;
  options.dims.clear();
  options.dims.emplace("batch", 4);
  EXPECT_NE(onnx::load(Model("sum.onnx"), options)->text()->find("f32[4, x_dim1]"), std::string::npos);
}

TEST(CppOnnx, WrongModelsAndOptionsAreErrors) {
  EXPECT_EQ(onnx::load(Model("missing.onnx")).error().code(), Code::kNotFound);
  const Result<Graph> wrong = onnx::load(Model("wrong.onnx"));
  ExpectInvalid(wrong, "product");
  EXPECT_EQ(wrong.error().node(), "MatMul node \"product\"");
  std::vector<std::string> needs_fixed;
  onnx::Options options;
  options.needs_fixed = &needs_fixed;
  EXPECT_EQ(onnx::load(Model("sum.onnx"), options).error().code(), Code::kUnimplemented);
  EXPECT_EQ(needs_fixed, std::vector<std::string>{"axes"});
  const std::vector<std::int64_t> axes = {1};
  options.fixed.emplace("axes", view(axes, {2}));
  ExpectInvalid(onnx::load(Model("sum.onnx"), options), "the fixed input \"axes\": it has 1 elements");
  options = {};
  options.symbols["bath"].max = 64;
  ExpectInvalid(onnx::load(Model("sum.onnx"), options),
                "the symbol \"bath\"; symbolic dims of its inputs: \"batch\", \"x_dim1\"");
  options = {};
  options.dims.emplace("bath", 4);
  ExpectInvalid(onnx::load(Model("sum.onnx"), options),
                "no dim \"bath\"; symbolic dims of its inputs: \"batch\", \"x_dim1\"");
  options = {};
  options.fixed.emplace("axis", view(axes));
  ExpectInvalid(onnx::load(Model("sum.onnx"), options), "no input \"axis\"; inputs: \"axes\", \"x\"");
  options = {};
  options.custom_domains = {std::string("a\0b", 3)};
  ExpectInvalid(onnx::load(Model("sum.onnx"), options), "custom_domains has a NUL inside");
  ExpectInvalid(onnx::load_bytes({}), "model");
  ExpectInvalid(onnx::load_owned({1, 2, 3}), "model");
}

}  // namespace

// Writes the texts and artifacts of graphs into the folder that is argument 1, for cpp_same_bytes_test.py, which builds
// the same graphs in Python.
#include <fstream>
#include <string>
#include <vector>

#include "tailor/tailor.hpp"

namespace {

using tailor::Dim;
using tailor::DType;
using tailor::Graph;
using tailor::Value;

Graph Layer() {
  Graph graph("layer");
  tailor::SymbolOptions options;
  options.min = 1;
  options.max = 512;
  const Dim batch = graph.symbol("batch", options), length = graph.symbol("length");
  const Value x = graph.input("x", DType::kF32, {batch, length, 8});
  std::vector<float> weights(64);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i) / 64;
  const Value w = graph.constant("w", weights, {8, 8});
  const Value one = graph.constant("one", std::vector<float>(8, 1.0f), {8});
  const Value q = x.dot(w).named("q");
  const Value mixed = q.attention(x, x, {}, 0.25).layer_norm(one, {}, 1e-5);
  graph.output("y", mixed.gelu() * 2.0 + 1.0);
  tailor::ReduceMaxOptions keep;
  keep.keep_dims = 1;
  graph.output("most", mixed.reduce_max({-1}, keep).reshape({batch * length}));
  return graph;
}

Graph Loop() {
  Graph graph("loop"), condition("condition"), body("body");
  for (Graph* region : {&condition, &body}) {
    const Dim n = region->symbol("N");
    const Value i = region->input("i", DType::kI64, {}), x = region->input("x", DType::kF32, {n});
    if (region == &condition) {
      region->output("more", i.lt(3));
    } else {
      region->output("i", i + 1);
      region->output("x", x * x);
    }
  }
  const Value x = graph.input("x", DType::kF32, {graph.symbol("N")});
  graph.output("y", graph.while_({graph.scalar(DType::kI64, 0), x}, condition, body)[1]);
  return graph;
}

void Write(const std::string& path, const void* data, std::size_t size) {
  std::ofstream(path, std::ios::binary).write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  tailor::CompileOptions options;
  options.targets = {"x86-64-v2"};
  for (const Graph& graph : {Layer(), Loop()}) {
    const std::string text = graph.text().value();
    const std::string stem = std::string(argv[1]) + "/" + text.substr(7, text.find('(') - 7);  // "graph @layer("
    Write(stem + ".txt", text.data(), text.size());
    const std::vector<std::uint8_t> artifact = graph.compile_artifact(options).value();
    Write(stem + ".tlr", artifact.data(), artifact.size());
    tailor::Executable::load_bytes(artifact).value().save(stem + ".saved").value();
  }
}

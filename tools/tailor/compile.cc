#include <fstream>
#include <iostream>
#include <iterator>

#include "tools/handles.h"
#include "tools/tailor/commands.h"
#include "tools/tailor/constants.h"

namespace tailor {
namespace {

void KeepBytes(void* bytes, const void* data, size_t size) {
  static_cast<std::string*>(bytes)->assign(static_cast<const char*>(data), size);
}

// They live as long as `strings`.
std::vector<const char*> CStrings(const std::vector<std::string>& strings) {
  std::vector<const char*> out;
  for (const std::string& string : strings) out.push_back(string.c_str());
  return out;
}

std::string ContentOf(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string content{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!in.is_open()) throw std::runtime_error("cannot read " + path);
  return content;
}

GraphHandle GraphOf(const ModelArguments& model) {
  return IsOnnx(model.path) ? LoadOnnx(model) : ParseWithConstants(ContentOf(model.path), CompileArguments());
}

// The path with .tlr in place of its extension.
std::string ArtifactPath(const std::string& path) {
  const size_t dot = path.rfind('.'), slash = path.rfind('/');
  const bool has = dot != std::string::npos && (slash == std::string::npos || dot > slash + 1);
  return path.substr(0, has ? dot : path.size()) + ".tlr";
}

}  // namespace

void Compile(const CompileArguments& arguments) {
  const GraphHandle graph = IsOnnx(arguments.model.path)
                                ? LoadOnnx(arguments.model)
                                : ParseWithConstants(ContentOf(arguments.model.path), arguments);

  const std::vector<const char*> targets = CStrings(arguments.targets), donated = CStrings(arguments.donated);
  tailor_compile_options options;
  tailor_compile_options_init(&options);
  options.targets = targets.data();
  options.target_count = targets.size();
  options.donated = donated.data();
  options.donated_count = donated.size();
  if (arguments.max_versions > 0) options.max_versions = arguments.max_versions;
  options.offer_products = arguments.offer_products;
  options.allow_tf32 = arguments.allow_tf32;
  options.direct_convolutions = arguments.direct_convolutions;
  options.memory_limit = arguments.memory_limit;
  options.isolated = arguments.isolated;
  std::string bytes;
  Check(tailor_graph_compile_artifact(graph.get(), &options, KeepBytes, &bytes));
  const std::string path = arguments.artifact.empty() ? ArtifactPath(arguments.model.path) : arguments.artifact;
  std::ofstream out(path, std::ios::binary);
  out << bytes;
  out.close();
  if (!out) throw std::runtime_error("cannot write " + path);
}

void PrintText(const ModelArguments& model) {
  const char* text = nullptr;
  const GraphHandle graph = GraphOf(model);
  Check(tailor_graph_text(graph.get(), &text));
  std::cout << text;
}

void PrintFacts(const ModelArguments& model) {
  const char* text = nullptr;
  const GraphHandle graph = GraphOf(model);
  Check(tailor_graph_facts_text(graph.get(), &text));
  std::cout << text;
}

}  // namespace tailor

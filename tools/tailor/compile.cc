#include <fstream>
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

}  // namespace

void CompileText(const CompileArguments& arguments) {
  std::ifstream in(arguments.graph, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!in.is_open()) throw std::runtime_error("cannot read " + arguments.graph);
  const GraphHandle graph = ParseWithConstants(text, arguments);

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
  std::ofstream out(arguments.artifact, std::ios::binary);
  out << bytes;
  out.close();
  if (!out) throw std::runtime_error("cannot write " + arguments.artifact);
}

}  // namespace tailor

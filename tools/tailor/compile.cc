#include <exception>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "tools/handles.h"
#include "tools/tailor/commands.h"
#include "tools/tailor/compilation.h"
#include "tools/tailor/cost_profile_file.h"
#include "tools/tailor/failures.h"
#include "tools/tailor/figures.h"
#include "tools/tailor/files.h"
#include "tools/tailor/keys.h"

namespace tailor {
namespace {

using nlohmann::json;

// Where the artifact is written, and what came of it. No exception crosses the C interface.
struct Destination {
  std::string path;
  size_t bytes = 0;
  std::exception_ptr failure = nullptr;

  static void Write(void* self, const void* data, size_t size) {
    auto& destination = *static_cast<Destination*>(self);
    try {
      InterruptGuard::ThrowIfInterrupted();
      WriteFile(destination.path, {static_cast<const char*>(data), size});
      destination.bytes = size;
    } catch (...) {
      destination.failure = std::current_exception();
    }
  }
};

// They live as long as `strings`.
std::vector<const char*> CStrings(const std::vector<std::string>& strings) {
  std::vector<const char*> out;
  for (const std::string& string : strings) out.push_back(string.c_str());
  return out;
}

// The path with .tlr in place of its extension.
std::string ArtifactPath(const std::string& path) {
  const size_t dot = path.rfind('.'), slash = path.rfind('/');
  const bool has = dot != std::string::npos && (slash == std::string::npos || dot > slash + 1);
  return path.substr(0, has ? dot : path.size()) + ".tlr";
}

void SetOptions(const CompileArguments& arguments, tailor_compile_options* options) {
  if (arguments.max_versions > 0) options->max_versions = arguments.max_versions;
  options->threads = arguments.threads;
  options->offer_products = arguments.offer_products;
  options->allow_tf32 = arguments.allow_tf32;
  options->direct_convolutions = arguments.direct_convolutions;
  options->memory_limit = arguments.memory_limit;
  options->isolated = arguments.isolated;
  options->optimize = arguments.optimize;
  options->denormals = arguments.denormals == "keep"    ? TAILOR_DENORMALS_KEEP
                       : arguments.denormals == "flush" ? TAILOR_DENORMALS_FLUSH
                                                        : TAILOR_DENORMALS_AUTO;
}

// Returns the artifact's size in bytes. Its bytes are written from the library's memory: weights may be large.
size_t CompileTo(const std::string& path, const CompileArguments& arguments) {
  SecretKey key;
  if (!arguments.key.empty()) key = ReadSecretKey(arguments.key);
  const GraphHandle graph = LoadGraph(arguments.model);
  const std::vector<const char*> targets = CStrings(arguments.targets), donated = CStrings(arguments.donated);
  const std::vector<const char*> without = CStrings(arguments.without);
  const CostProfileFile costs(arguments.cost_profile);
  tailor_compile_options options;
  tailor_compile_options_init(&options);
  SetOptions(arguments, &options);
  options.targets = targets.data();
  options.target_count = targets.size();
  options.donated = donated.data();
  options.donated_count = donated.size();
  options.without = without.data();
  options.without_count = without.size();
  costs.SetIn(&options);
  if (!arguments.key.empty()) options.secret_key = key.data();
  Destination destination{path};
  const CompilationProgress progress(arguments.progress, &options);
  InterruptGuard::Check(tailor_graph_compile_artifact(graph.get(), &options, Destination::Write, &destination));
  if (destination.failure) std::rethrow_exception(destination.failure);
  return destination.bytes;
}

// Adds what the artifact at `path` holds.
void Describe(const std::string& path, json* result) {
  std::string text;
  Check(tailor_artifact_describe(
      path.data(), path.size(),
      [](void* user, const char* json, size_t size) { static_cast<std::string*>(user)->assign(json, size); }, &text));
  const json described = json::parse(text);
  (*result)["constant_bytes"] = described["constant_bytes"];
  for (const json& variant : described["variants"]) {
    (*result)["variants"].push_back({{"target", variant["target"]},
                                     {"image_bytes", variant["image_bytes"]},
                                     {"launches", variant["launches"].size()}});
  }
}

void PrintResult(const json& result) {
  std::cout << result["artifact"].get<std::string>() << "  " << ByteText(result["bytes"]);
  if (result.contains("constant_bytes")) std::cout << ", constants " << ByteText(result["constant_bytes"]);
  for (const json& variant : result["variants"]) {
    std::cout << ", " << variant["target"].get<std::string>() << " " << ByteText(variant["image_bytes"]);
  }
  std::cout << (result["signed"].get<bool>() ? ", signed" : "") << "  (" << TimeText(result["seconds"]) << ")\n";
}

int PrintOf(const PrintArguments& arguments, const char* key, tailor_status* (*text_of)(tailor_graph*, const char**)) {
  const char* text = nullptr;
  const GraphHandle graph = LoadGraph(arguments.model);
  Check(text_of(graph.get(), &text));
  if (arguments.json) {
    std::cout << json{{"model", arguments.model.path}, {key, text}}.dump(2) << "\n";
  } else {
    std::cout << text;
  }
  return kExitSuccess;
}

}  // namespace

int Compile(const CompileArguments& arguments) {
  const Stopwatch watch;
  const std::string path = arguments.artifact.empty() ? ArtifactPath(arguments.model.path) : arguments.artifact;
  const size_t bytes = CompileTo(path, arguments);
  json result = {{"artifact", path},
                 {"bytes", bytes},
                 {"signed", !arguments.key.empty()},
                 {"seconds", watch.Seconds()},
                 {"variants", json::array()}};
  if (std::filesystem::is_regular_file(path)) Describe(path, &result);
  if (arguments.json) {
    std::cout << result.dump(2) << "\n";
  } else {
    PrintResult(result);
  }
  return kExitSuccess;
}

int PrintText(const PrintArguments& arguments) { return PrintOf(arguments, "text", tailor_graph_text); }
int PrintFacts(const PrintArguments& arguments) { return PrintOf(arguments, "facts", tailor_graph_facts_text); }

}  // namespace tailor

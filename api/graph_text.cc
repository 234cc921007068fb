// Glue of tailor/compiler.h: canonical texts of graphs (parsed and printed), dims and shape facts.
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "absl/strings/str_cat.h"
#include "api/compiler_arguments.h"
#include "api/compiler_status.h"
#include "api/graph_handle.h"
#include "fusion/facts_text.h"
#include "graph/status_macros.h"
#include "graph/text.h"

namespace {

// Sets `*text` to the result of `make`, kept in the graph until its next text call.
template <typename Make>
tailor_status* GiveText(const char* function, tailor_graph* graph, const char** text, Make make) {
  return tailor::AtBoundary([&]() -> absl::Status {
    TAILOR_RETURN_IF_ERROR(tailor::CheckGraph(function, graph));
    const tailor::Writer<tailor_graph> writer(*graph);
    TAILOR_RETURN_IF_ERROR(tailor::CheckHeld(function, *graph, writer));
    TAILOR_RETURN_IF_ERROR(tailor::CheckPresent(function, "text", text));
    absl::StatusOr<std::string> made = make();
    TAILOR_RETURN_IF_ERROR(made.status());
    graph->text = *std::move(made);
    *text = graph->text.c_str();
    return absl::OkStatus();
  });
}

// The bytes of a constant, written by `options.constant`.
absl::StatusOr<tailor::ConstantData> AskFor(const tailor_parse_options& options, absl::string_view name,
                                            const tailor::TensorType& type) {
  const auto no_memory = [&] {
    return absl::ResourceExhaustedError(absl::StrCat("no memory for the bytes of \"", name, "\""));
  };
  constexpr uint64_t kAlignment = 64;
  std::vector<int64_t> dims;
  for (const tailor::DimExpr& dim : type.shape) dims.push_back(*dim.constant());
  const auto size = static_cast<uint64_t>(*(ElementCount(type.shape) * SizeOf(type.dtype)).constant());
  if (size > PTRDIFF_MAX - kAlignment) return no_memory();
  // calloc touches no page of a large block, so that a rejected constant costs nothing.
  const std::shared_ptr<void> block(std::calloc(size + kAlignment, 1), std::free);
  if (block == nullptr) return no_memory();
  void* bytes = block.get();
  size_t space = size + kAlignment;
  bytes = std::align(kAlignment, size, bytes, space);
  const std::string text(name);
  if (options.constant(options.user, text.c_str(), text.size(), static_cast<int32_t>(type.dtype), dims.data(),
                       dims.size(), bytes, size) != 0) {
    return absl::InvalidArgumentError(absl::StrCat("there are no bytes for \"", name, "\""));
  }
  return tailor::ConstantData{block, bytes, size, std::nullopt};
}

}  // namespace

tailor_status* tailor_graph_parse_with(const char* text, size_t text_size, const tailor_parse_options* options,
                                       tailor_graph** out) {
  return tailor::AtBoundary([&]() -> absl::Status {
    constexpr const char* kFunction = "tailor_graph_parse_with";
    TAILOR_RETURN_IF_ERROR(tailor::CheckPresent(kFunction, "out", out));
    TAILOR_ASSIGN_OR_RETURN(std::string given, tailor::ReadString(kFunction, "text", text, text_size));
    TAILOR_ASSIGN_OR_RETURN(tailor_parse_options read,
                            tailor::OptionsOrDefaults(kFunction, options, tailor_parse_options_init));
    tailor::ConstantSource source;
    if (read.constant != nullptr) {
      source = [&](absl::string_view name, const tailor::TensorType& type) { return AskFor(read, name, type); };
    }
    const auto hashes = read.ignore_hashes != 0 ? tailor::ConstantHashes::kIgnored : tailor::ConstantHashes::kChecked;
    TAILOR_ASSIGN_OR_RETURN(tailor::Graph graph, tailor::ParseGraph(given, source, hashes));
    *out = new tailor_graph(std::move(graph));
    return absl::OkStatus();
  });
}

tailor_status* tailor_graph_parse(const char* text, size_t text_size, tailor_graph** out) {
  return tailor::AtBoundary([&]() -> absl::Status {
    constexpr const char* kFunction = "tailor_graph_parse";
    TAILOR_RETURN_IF_ERROR(tailor::CheckPresent(kFunction, "out", out));
    TAILOR_ASSIGN_OR_RETURN(std::string given, tailor::ReadString(kFunction, "text", text, text_size));
    TAILOR_ASSIGN_OR_RETURN(tailor::Graph graph, tailor::ParseGraph(given));
    *out = new tailor_graph(std::move(graph));
    return absl::OkStatus();
  });
}

tailor_status* tailor_graph_text(tailor_graph* graph, const char** text) {
  return GiveText("tailor_graph_text", graph, text,
                  [&]() -> absl::StatusOr<std::string> { return graph->graph.ToText(); });
}

tailor_status* tailor_dim_text(tailor_graph* graph, tailor_dim dim, const char** text) {
  return GiveText("tailor_dim_text", graph, text, [&]() -> absl::StatusOr<std::string> {
    TAILOR_ASSIGN_OR_RETURN(tailor::DimExpr found, tailor::FindDim(*graph, "tailor_dim_text", "dim", dim));
    return graph->graph.DimText(found);
  });
}

tailor_status* tailor_graph_facts_text(tailor_graph* graph, const char** text) {
  return GiveText("tailor_graph_facts_text", graph, text, [&] { return tailor::FactsText(graph->graph); });
}

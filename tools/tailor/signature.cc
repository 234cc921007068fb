#include "tools/tailor/signature.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "graph/element.h"
#include "graph/text.h"
#include "tools/handles.h"
#include "tools/tailor/failures.h"

namespace tailor {
namespace {

using nlohmann::json;

TensorSpec SpecOf(const json& tensor) {
  return {tensor["name"], DTypeOf(tensor["dtype"].get<std::string>()), tensor["dims"], tensor.contains("donated")};
}

// The value of a dim's text; nullopt if it overflows or divides by zero. Each symbol is looked up in `values`.
std::optional<int64_t> Evaluate(const std::string& text, const SymbolValues& values) {
  std::vector<std::string> names;
  std::vector<int64_t> sizes;
  for (const auto& [name, size] : values) names.push_back(name), sizes.push_back(size);
  const absl::StatusOr<DimExpr> dim = ParseDim(text, [&](absl::string_view name) -> std::optional<SymbolId> {
    const auto found = std::find(names.begin(), names.end(), name);
    return found == names.end() ? std::nullopt : std::optional<SymbolId>(found - names.begin());
  });
  if (!dim.ok()) return std::nullopt;
  return dim->Evaluate(sizes);
}

// Whether `symbol` is in `dim`, a dim's text.
bool Mentions(const std::string& dim, const std::string& symbol) {
  bool found = false;
  // The result is of no interest.
  (void)ParseDim(dim, [&](absl::string_view name) -> std::optional<SymbolId> {
    found |= name == symbol;
    return 0;
  });
  return found;
}

}  // namespace

const SymbolSpec* ModelSignature::Find(const std::string& symbol) const {
  const auto found = std::find_if(symbols.begin(), symbols.end(), [&](const auto& s) { return s.name == symbol; });
  return found == symbols.end() ? nullptr : &*found;
}

const SymbolSpec& ModelSignature::CheckSymbol(const std::string& symbol, const std::string& where) const {
  if (const SymbolSpec* found = Find(symbol)) return *found;
  std::string known;
  for (const SymbolSpec& each : symbols) known += (known.empty() ? "" : ", ") + each.name;
  throw UsageError(where + ": the inputs have no symbol \"" + symbol + "\"; " +
                   (known.empty() ? "all their dims are constant" : "symbols: " + known));
}

ModelSignature SignatureOf(const tailor_executable* executable) {
  const char* text = nullptr;
  Check(tailor_executable_describe(executable, &text));
  const json all = json::parse(text);
  ModelSignature signature;
  for (const json& tensor : all["inputs"]) signature.inputs.push_back(SpecOf(tensor));
  for (const json& tensor : all["outputs"]) signature.outputs.push_back(SpecOf(tensor));
  for (const json& symbol : all["symbols"]) {
    const SymbolSpec spec = {symbol["name"], symbol["min"], symbol["max"], symbol["multiple_of"], symbol["likely"]};
    const bool used = std::any_of(signature.inputs.begin(), signature.inputs.end(), [&](const TensorSpec& input) {
      return std::any_of(input.dims.begin(), input.dims.end(),
                         [&](const auto& dim) { return Mentions(dim, spec.name); });
    });
    if (used) signature.symbols.push_back(spec);
  }
  for (const json& variant : all["variants"]) {
    if (!variant["in_use"]) continue;
    signature.target = variant["target"];
    for (const json& launch : variant["launches"]) signature.launches.push_back({launch["kernel"], launch["versions"]});
  }
  signature.artifact_bytes = all["artifact_bytes"];
  signature.constant_bytes = all["constant_bytes"];
  return signature;
}

void CheckSize(const SymbolSpec& symbol, int64_t value, const std::string& where) {
  if (value < symbol.min || value > symbol.max) {
    throw UsageError(where + ": " + symbol.name + " is " + std::to_string(value) + ", must be in [" +
                     std::to_string(symbol.min) + ", " + std::to_string(symbol.max) + "]");
  }
  if (value % symbol.multiple_of != 0) {
    throw UsageError(where + ": " + symbol.name + " is " + std::to_string(value) + ", must be a multiple of " +
                     std::to_string(symbol.multiple_of));
  }
}

int64_t DefaultSize(const SymbolSpec& symbol) {
  if (!symbol.likely.empty()) return symbol.likely[0];
  const int64_t least = std::max<int64_t>(symbol.min, 1), unit = symbol.multiple_of;
  return std::min((least + unit - 1) / unit * unit, symbol.max);
}

std::vector<int64_t> DimsOf(const TensorSpec& tensor, const SymbolValues& values) {
  std::vector<int64_t> sizes;
  for (const std::string& dim : tensor.dims) {
    const std::optional<int64_t> size = Evaluate(dim, values);
    if (!size || *size < 0) {
      throw UsageError("input \"" + tensor.name + "\": dim " + dim + " is " +
                       (size ? std::to_string(*size) : "not computable") + " for " + Text(values));
    }
    sizes.push_back(*size);
  }
  return sizes;
}

std::string Text(const SymbolValues& values) {
  std::string text;
  for (const auto& [name, value] : values) text += (text.empty() ? "" : ", ") + name + "=" + std::to_string(value);
  return text;
}

}  // namespace tailor

#include "bindings/onnx/operators.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "bindings/frontend/error.h"

namespace tailor::onnx {
namespace {

constexpr std::span<const OperatorRow> (*kFamilies[])() = {
    ElementwiseOperators,
    ActivationOperators,
    QuantizationOperators,
    ShapeOperators,
    FillOperators,
    RandomOperators,
    SliceOperators,
    PadOperators,
    IndexingOperators,
    ScatterOperators,
    MatmulOperators,
    ConvolutionOperators,
    PoolOperators,
    ReductionOperators,
    NormalizationOperators,
    ResamplingOperators,
    SamplingOperators,
    DetectionOperators,
    SuppressionOperators,
    SignalOperators,
    ControlOperators,
    SequenceOperators,
    RecurrentOperators,
    AttentionOperators,
    FlexAttentionOperators,
    AttentionContribOperators,
    GroupQueryOperators,
    TrainingOperators,
    MachineLearningOperators,
    TreeOperators,
    SupportVectorOperators,
    MicrosoftOperators,
    MicrosoftQuantizedOperators,
};

using Key = std::pair<std::string_view, std::string_view>;
using Versions = std::map<int64_t, const OperatorRow*>;

const std::map<Key, Versions>& Table() {
  static const auto* table = [] {
    auto* built = new std::map<Key, Versions>();
    for (auto family : kFamilies) {
      for (const OperatorRow& row : family()) (*built)[{row.domain, row.name}][row.since] = &row;
    }
    return built;
  }();
  return *table;
}

AttributeType TypeNamed(std::string_view name) {
  static constexpr std::pair<std::string_view, AttributeType> kNames[] = {
      {"float", AttributeType::kFloat},         {"int", AttributeType::kInt},
      {"string", AttributeType::kString},       {"tensor", AttributeType::kTensor},
      {"graph", AttributeType::kGraph},         {"floats", AttributeType::kFloats},
      {"ints", AttributeType::kInts},           {"strings", AttributeType::kStrings},
      {"tensors", AttributeType::kTensors},     {"graphs", AttributeType::kGraphs},
      {"sparse", AttributeType::kSparseTensor}, {"type", AttributeType::kTypeProto},
  };
  for (const auto& [known, type] : kNames) {
    if (known == name) return type;
  }
  return AttributeType::kUndefined;
}

// The words of a text, separated by spaces.
std::vector<std::string_view> Words(const char* text) {
  std::vector<std::string_view> words;
  std::string_view rest(text);
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(' '), rest.size());
    if (end > 0) words.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return words;
}

}  // namespace

const OperatorRow* FindOperator(std::string_view domain, std::string_view name, int64_t opset) {
  const auto found = Table().find({domain, name});
  if (found == Table().end()) return nullptr;
  auto after = found->second.upper_bound(opset);
  if (after == found->second.begin()) return nullptr;
  const OperatorRow* row = std::prev(after)->second;
  return row->function == nullptr ? nullptr : row;
}

std::vector<const OperatorRow*> AllOperators() {
  std::vector<const OperatorRow*> rows;
  for (const auto& [key, versions] : Table()) {
    for (const auto& [since, row] : versions) rows.push_back(row);
  }
  return rows;
}

std::vector<AttributeRow> AttributesOf(const OperatorRow& row) {
  std::vector<AttributeRow> attributes;
  for (std::string_view word : Words(row.attributes)) {
    AttributeRow attribute{};
    const size_t colon = word.find(':');
    attribute.name = word.substr(0, colon);
    std::string_view type = word.substr(colon + 1);
    attribute.required = type.ends_with('!');
    if (attribute.required) type.remove_suffix(1);
    const size_t equals = type.find('=');
    if (equals != std::string_view::npos) {
      attribute.has_default = true;
      attribute.default_text = type.substr(equals + 1);
      type = type.substr(0, equals);
    }
    attribute.type = TypeNamed(type);
    attributes.push_back(attribute);
  }
  return attributes;
}

size_t Signature::least() const {
  size_t count = parameters.size();
  while (count > 0 && parameters[count - 1].optional) --count;
  return count;
}

Signature SignatureOf(const char* parameters) {
  Signature out;
  for (std::string_view word : Words(parameters)) {
    const bool optional = word.ends_with('?');
    if (word.ends_with('*')) out.variadic = true;
    if (optional || word.ends_with('*')) word.remove_suffix(1);
    out.parameters.push_back({word, optional});
  }
  return out;
}

}  // namespace tailor::onnx

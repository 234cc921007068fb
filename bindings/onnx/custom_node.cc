#include "bindings/onnx/custom_node.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "bindings/frontend/error.h"

namespace tailor::onnx {
namespace {

using frontend::Tensor;
using frontend::Unsupported;

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof(escaped), "\\u%04x", c);
      out += escaped;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string NumberText(int64_t value) { return std::to_string(value); }

// A model's floats are f32. JSON has no infinities and NaNs: their names are strings.
std::string NumberText(double value) {
  if (std::isnan(value)) return "\"nan\"";
  if (std::isinf(value)) return value < 0 ? "\"-inf\"" : "\"inf\"";
  char text[32];
  const auto end = std::to_chars(text, text + sizeof(text), static_cast<float>(value)).ptr;
  return std::string(text, end);
}

template <typename Items, typename Write>
std::string ListText(const Items& items, Write write) {
  std::string text = "[";
  for (const auto& item : items) text += (text.size() > 1 ? ", " : "") + write(item);
  return text + "]";
}

std::string ValueText(const AttributeProto& attribute) {
  switch (attribute.type) {
    case AttributeType::kFloat:
      return NumberText(attribute.f);
    case AttributeType::kInt:
      return NumberText(attribute.i);
    case AttributeType::kString:
      return Quoted(attribute.s);
    case AttributeType::kFloats:
      return ListText(attribute.floats, [](double value) { return NumberText(value); });
    case AttributeType::kInts:
      return ListText(attribute.ints, [](int64_t value) { return NumberText(value); });
    case AttributeType::kStrings:
      return ListText(attribute.strings, Quoted);
    default:
      Unsupported("its attribute \"" + std::string(attribute.name) +
                  "\" is no number, string or list of these, as a custom operator needs");
  }
}

}  // namespace

std::string AttributesAsJson(const NodeProto& node) {
  if (node.attributes.empty()) return "";
  std::string text = "{";
  for (const AttributeProto& attribute : node.attributes) {
    text += (text.size() > 1 ? ", " : "") + Quoted(attribute.name) + ": " + ValueText(attribute);
  }
  return text + "}";
}

Tensors AppendCustomNode(frontend::Builder& builder, const NodeProto& node, const Tensors& inputs,
                         const std::vector<StatedType>& results) {
  std::vector<tailor_value> operands;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]) Unsupported("its operand " + std::to_string(i) + " is absent: a custom operator has all operands");
    operands.push_back(inputs[i].value());
  }
  std::vector<std::vector<tailor_dim>> dims;
  for (const StatedType& type : results) dims.push_back(builder.dims().Handles(type.shape));
  std::vector<tailor_custom_result> types;
  for (size_t i = 0; i < results.size(); ++i) {
    types.push_back({dims[i].data(), dims[i].size(), static_cast<int32_t>(results[i].dtype), results[i].counted_dim});
  }
  const std::string name = std::string(node.domain) + "::" + std::string(node.op_type);
  const std::string attributes = AttributesAsJson(node);
  tailor_custom_options options;
  tailor_custom_options_init(&options);
  options.attributes = attributes.data();
  options.attributes_size = attributes.size();
  return builder.AppendSeveral(inputs, results.size(), [&](tailor_value* outs) {
    return tailor_graph_custom(builder.graph(), name.data(), name.size(), operands.data(), operands.size(),
                               types.data(), types.size(), &options, outs);
  });
}

}  // namespace tailor::onnx

#include "bindings/onnx/proto.h"

#include <algorithm>
#include <protozero/pbf_reader.hpp>
#include <string>

#include "bindings/frontend/error.h"

namespace tailor::onnx {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

constexpr int kMaxNesting = 64;  // graphs within graphs

// A field of this number and wire type. One with another wire type is skipped like an unknown field.
constexpr uint32_t Varint(uint32_t field) { return protozero::tag_and_type(field, pbf_wire_type::varint); }
constexpr uint32_t Bytes(uint32_t field) { return protozero::tag_and_type(field, pbf_wire_type::length_delimited); }
constexpr uint32_t Fixed32(uint32_t field) { return protozero::tag_and_type(field, pbf_wire_type::fixed32); }
constexpr uint32_t Fixed64(uint32_t field) { return protozero::tag_and_type(field, pbf_wire_type::fixed64); }

std::string_view View(pbf_reader& reader) {
  const auto view = reader.get_view();
  return {view.data(), view.size()};
}

// A repeated number field, packed or not.
template <typename T, typename Packed, typename One>
void Repeated(pbf_reader& reader, std::vector<T>* out, Packed packed, One one) {
  if (reader.wire_type() == pbf_wire_type::length_delimited) {
    for (auto value : packed()) out->push_back(static_cast<T>(value));
  } else {
    out->push_back(static_cast<T>(one()));
  }
}

template <typename T>
void Floats(pbf_reader& reader, std::vector<T>* out) {
  Repeated(
      reader, out, [&] { return reader.get_packed_float(); }, [&] { return reader.get_float(); });
}

template <typename T>
void Ints(pbf_reader& reader, std::vector<T>* out) {
  Repeated(
      reader, out, [&] { return reader.get_packed_int64(); }, [&] { return reader.get_int64(); });
}

// What is wrong with bytes that are no protobuf.
const char* Malformed(const protozero::exception& error) {
  if (dynamic_cast<const protozero::end_of_buffer_exception*>(&error) != nullptr) return "a field is cut off";
  if (dynamic_cast<const protozero::unknown_pbf_wire_type_exception*>(&error) != nullptr) {
    return "a field has an unknown wire type";
  }
  if (dynamic_cast<const protozero::invalid_tag_exception*>(&error) != nullptr) return "a field has an invalid number";
  if (dynamic_cast<const protozero::varint_too_long_exception*>(&error) != nullptr) {
    return "an integer has more than 10 bytes";
  }
  return "the bytes of a list are no whole number of elements";
}

// Calls `parse`; errors name `label()`, unless what they name lies within it.
template <typename Parse, typename Label>
void In(Label label, Parse parse) {
  try {
    parse();
  } catch (const protozero::exception& error) {
    throw frontend::Error(TAILOR_INVALID_ARGUMENT, Malformed(error), label());
  } catch (const frontend::Error& error) {
    throw error.At(label());
  }
}

std::string_view Domain(std::string_view domain) { return domain == "ai.onnx" ? std::string_view() : domain; }

void ParseTensor(pbf_reader reader, TensorProto* out) {
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case Bytes(1):
      case Varint(1):
        Ints(reader, &out->dims);
        break;
      case Varint(2):
        out->data_type = reader.get_int32();
        break;
      case Bytes(4):
      case Fixed32(4):
        Floats(reader, &out->float_data);
        break;
      case Bytes(5):
      case Varint(5):
        Ints(reader, &out->int32_data);
        break;
      case Bytes(6):
        out->string_data.push_back(View(reader));
        break;
      case Bytes(7):
      case Varint(7):
        Ints(reader, &out->int64_data);
        break;
      case Bytes(8):
        out->name = View(reader);
        break;
      case Bytes(9):
        out->raw_data = View(reader);
        out->has_raw_data = true;
        break;
      case Bytes(10):
      case Fixed64(10):
        Repeated(
            reader, &out->double_data, [&] { return reader.get_packed_double(); }, [&] { return reader.get_double(); });
        break;
      case Bytes(11):
      case Varint(11):
        Repeated(
            reader, &out->uint64_data, [&] { return reader.get_packed_uint64(); }, [&] { return reader.get_uint64(); });
        break;
      case Bytes(13): {
        std::pair<std::string_view, std::string_view> entry;
        pbf_reader inner = reader.get_message();
        while (inner.next()) {
          if (inner.tag_and_type() == Bytes(1)) {
            entry.first = View(inner);
          } else if (inner.tag_and_type() == Bytes(2)) {
            entry.second = View(inner);
          } else {
            inner.skip();
          }
        }
        out->external_data.push_back(entry);
        break;
      }
      case Varint(14):
        out->is_external = reader.get_int32() == 1;
        break;
      default:
        reader.skip();
    }
  }
}

std::shared_ptr<const TensorProto> ParseShared(pbf_reader reader) {
  auto out = std::make_shared<TensorProto>();
  ParseTensor(reader, out.get());
  return out;
}

DimProto ParseDim(pbf_reader reader) {
  DimProto out;
  while (reader.next()) {
    if (reader.tag_and_type() == Varint(1)) {
      out.kind = DimProto::Kind::kValue;
      out.value = reader.get_int64();
    } else if (reader.tag_and_type() == Bytes(2)) {
      out.kind = DimProto::Kind::kParam;
      out.param = View(reader);
    } else {
      reader.skip();
    }
  }
  return out;
}

void ParseTensorType(pbf_reader reader, ValueInfo* out) {
  while (reader.next()) {
    if (reader.tag_and_type() == Varint(1)) {
      out->elem_type = reader.get_int32();
    } else if (reader.tag_and_type() == Bytes(2)) {
      out->has_shape = true;
      pbf_reader shape = reader.get_message();
      while (shape.next()) {
        if (shape.tag_and_type() == Bytes(1)) {
          out->dims.push_back(ParseDim(shape.get_message()));
        } else {
          shape.skip();
        }
      }
    } else {
      reader.skip();
    }
  }
}

void ParseType(pbf_reader reader, ValueInfo* out) {
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case Bytes(1):
        out->kind = ValueInfo::Kind::kTensor;
        ParseTensorType(reader.get_message(), out);
        break;
      case Bytes(4):
        out->kind = ValueInfo::Kind::kSequence;
        reader.skip();
        break;
      case Bytes(5):
        out->kind = ValueInfo::Kind::kMap;
        reader.skip();
        break;
      case Bytes(7):
        out->kind = ValueInfo::Kind::kOpaque;
        reader.skip();
        break;
      case Bytes(8):
        out->kind = ValueInfo::Kind::kSparseTensor;
        reader.skip();
        break;
      case Bytes(9):
        out->kind = ValueInfo::Kind::kOptional;
        reader.skip();
        break;
      default:
        reader.skip();
    }
  }
}

// `kind`: "input", "output" or "value".
ValueInfo ParseValueInfo(pbf_reader reader, const char* kind) {
  ValueInfo out;
  const auto label = [&] { return std::string(kind) + " \"" + std::string(out.name) + "\""; };
  In(label, [&] {
    while (reader.next()) {
      if (reader.tag_and_type() == Bytes(1)) {
        out.name = View(reader);
      } else if (reader.tag_and_type() == Bytes(2)) {
        ParseType(reader.get_message(), &out);
      } else {
        reader.skip();
      }
    }
  });
  return out;
}

TensorProto ParseInitializer(pbf_reader reader) {
  TensorProto out;
  In([&] { return "initializer \"" + std::string(out.name) + "\""; }, [&] { ParseTensor(reader, &out); });
  return out;
}

std::shared_ptr<const GraphProto> ParseGraph(pbf_reader reader, int depth);

AttributeProto ParseAttribute(pbf_reader reader, int depth) {
  AttributeProto out;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case Bytes(1):
        out.name = View(reader);
        break;
      case Fixed32(2):
        out.f = static_cast<double>(reader.get_float());
        break;
      case Varint(3):
        out.i = reader.get_int64();
        break;
      case Bytes(4):
        out.s = View(reader);
        break;
      case Bytes(5):
        out.t = ParseShared(reader.get_message());
        break;
      case Bytes(6):
        out.g = ParseGraph(reader.get_message(), depth + 1);
        break;
      case Bytes(7):
      case Fixed32(7):
        Floats(reader, &out.floats);
        break;
      case Bytes(8):
      case Varint(8):
        Ints(reader, &out.ints);
        break;
      case Bytes(9):
        out.strings.push_back(View(reader));
        break;
      case Bytes(10):
        out.tensors.push_back(ParseShared(reader.get_message()));
        break;
      case Bytes(11):
        out.graphs.push_back(ParseGraph(reader.get_message(), depth + 1));
        break;
      case Varint(20):
        out.type = static_cast<AttributeType>(reader.get_int32());
        break;
      case Bytes(21):
        out.reference = View(reader);
        break;
      default:
        reader.skip();
    }
  }
  return out;
}

void ParseNodeFields(pbf_reader reader, int depth, NodeProto* out) {
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case Bytes(1):
        out->inputs.push_back(View(reader));
        break;
      case Bytes(2):
        out->outputs.push_back(View(reader));
        break;
      case Bytes(3):
        out->name = View(reader);
        break;
      case Bytes(4):
        out->op_type = View(reader);
        break;
      case Bytes(5):
        out->attributes.push_back(ParseAttribute(reader.get_message(), depth));
        break;
      case Bytes(7):
        out->domain = Domain(View(reader));
        break;
      default:
        reader.skip();
    }
  }
}

// The `index`-th node of a graph or function.
NodeProto ParseNode(pbf_reader reader, int depth, size_t index) {
  NodeProto out;
  const auto label = [&] {
    const bool nameless = out.op_type.empty() && out.name.empty() && out.outputs.empty();
    return nameless ? "node " + std::to_string(index) : out.Label();
  };
  In(label, [&] { ParseNodeFields(reader, depth, &out); });
  return out;
}

std::shared_ptr<const GraphProto> ParseGraph(pbf_reader reader, int depth) {
  if (depth > kMaxNesting) frontend::Fail("graphs nest deeper than " + std::to_string(kMaxNesting));
  auto out = std::make_shared<GraphProto>();
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case Bytes(1):
        out->nodes.push_back(ParseNode(reader.get_message(), depth, out->nodes.size()));
        break;
      case Bytes(2):
        out->name = View(reader);
        break;
      case Bytes(5):
        out->initializers.push_back(ParseInitializer(reader.get_message()));
        break;
      case Bytes(11):
        out->inputs.push_back(ParseValueInfo(reader.get_message(), "input"));
        break;
      case Bytes(12):
        out->outputs.push_back(ParseValueInfo(reader.get_message(), "output"));
        break;
      case Bytes(13):
        out->value_infos.push_back(View(reader));
        break;
      case Bytes(15):
        out->has_sparse_initializers = true;
        reader.skip();
        break;
      default:
        reader.skip();
    }
  }
  Measure(out.get());
  return out;
}

void ParseOpset(pbf_reader reader, Opsets* out) {
  std::string_view domain;
  int64_t version = 0;
  while (reader.next()) {
    if (reader.tag_and_type() == Bytes(1)) {
      domain = Domain(View(reader));
    } else if (reader.tag_and_type() == Varint(2)) {
      version = reader.get_int64();
    } else {
      reader.skip();
    }
  }
  (*out)[domain] = version;
}

FunctionProto ParseFunction(pbf_reader reader) {
  FunctionProto out;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case Bytes(1):
        out.name = View(reader);
        break;
      case Bytes(4):
        out.inputs.push_back(View(reader));
        break;
      case Bytes(5):
        out.outputs.push_back(View(reader));
        break;
      case Bytes(7):
        out.nodes.push_back(ParseNode(reader.get_message(), 0, out.nodes.size()));
        break;
      case Bytes(9):
        ParseOpset(reader.get_message(), &out.opsets);
        break;
      case Bytes(10):
        out.domain = Domain(View(reader));
        break;
      case Bytes(11):
        out.defaults.push_back(ParseAttribute(reader.get_message(), 0));
        break;
      default:
        reader.skip();
    }
  }
  return out;
}

}  // namespace

const AttributeProto* NodeProto::Find(std::string_view attribute) const {
  for (const AttributeProto& candidate : attributes) {
    if (candidate.name == attribute) return &candidate;
  }
  return nullptr;
}

ValueInfo ParseValueInfo(std::string_view bytes) {
  return ParseValueInfo(pbf_reader(bytes.data(), bytes.size()), "value");
}

std::string NodeProto::Label() const {
  std::string_view shown = name;
  for (size_t i = 0; shown.empty() && i < outputs.size(); ++i) shown = outputs[i];
  return std::string(op_type) + (op_type.empty() ? "node \"" : " node \"") + std::string(shown) + "\"";
}

void Measure(GraphProto* graph) {
  graph->levels = 1;
  graph->size = 0;
  const auto add = [&](const GraphProto& inner) {
    graph->levels = std::max(graph->levels, 1 + inner.levels);
    graph->size += inner.size;
  };
  for (const NodeProto& node : graph->nodes) {
    ++graph->size;
    for (const AttributeProto& attribute : node.attributes) {
      if (attribute.g != nullptr) add(*attribute.g);
      for (const auto& inner : attribute.graphs) add(*inner);
    }
    if (graph->size > kMaxNodes) frontend::Unsupported("more than " + std::to_string(kMaxNodes) + " nodes");
  }
  if (graph->levels > kMaxNesting) frontend::Fail("graphs nest deeper than " + std::to_string(kMaxNesting));
}

int64_t OpsetOf(const Opsets& opsets, std::string_view domain) {
  const auto found = opsets.find(domain);
  return found == opsets.end() ? 0 : found->second;
}

Opsets OpsetsIn(const FunctionProto& function, const Opsets& caller) {
  Opsets opsets = function.opsets;
  opsets.insert(caller.begin(), caller.end());
  return opsets;
}

ModelProto ParseModel(std::string_view bytes) {
  ModelProto out;
  try {
    pbf_reader reader(bytes.data(), bytes.size());
    while (reader.next()) {
      switch (reader.tag_and_type()) {
        case Bytes(7):
          out.graph = ParseGraph(reader.get_message(), 0);
          break;
        case Bytes(8):
          ParseOpset(reader.get_message(), &out.opsets);
          break;
        case Bytes(25):
          out.functions.push_back(ParseFunction(reader.get_message()));
          break;
        default:
          reader.skip();
      }
    }
  } catch (const protozero::exception& error) {
    frontend::Fail(std::string("not an ONNX model: ") + Malformed(error));
  }
  if (out.graph == nullptr) frontend::Fail("not an ONNX model: it has no graph");
  return out;
}

}  // namespace tailor::onnx

#include "tests/onnx/mutated_model.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>
#include <utility>

namespace tailor {
namespace {

using protozero::pbf_wire_type;
using Random = std::mt19937_64;

size_t Pick(Random& random, size_t count) { return static_cast<size_t>(random() % count); }

// The messages of onnx.proto that hold messages, by field.
enum class Kind {
  kModel,
  kGraph,
  kNode,
  kAttribute,
  kTensor,
  kValueInfo,
  kType,
  kTensorType,
  kShape,
  kDim,
  kOpset,
  kFunction,
  kBytes
};
const std::map<std::pair<Kind, uint32_t>, Kind> kMessages = {
    {{Kind::kModel, 7}, Kind::kGraph},         {{Kind::kModel, 8}, Kind::kOpset},
    {{Kind::kModel, 25}, Kind::kFunction},     {{Kind::kGraph, 1}, Kind::kNode},
    {{Kind::kGraph, 5}, Kind::kTensor},        {{Kind::kGraph, 11}, Kind::kValueInfo},
    {{Kind::kGraph, 12}, Kind::kValueInfo},    {{Kind::kNode, 5}, Kind::kAttribute},
    {{Kind::kAttribute, 5}, Kind::kTensor},    {{Kind::kAttribute, 6}, Kind::kGraph},
    {{Kind::kValueInfo, 2}, Kind::kType},      {{Kind::kType, 1}, Kind::kTensorType},
    {{Kind::kTensorType, 2}, Kind::kShape},    {{Kind::kShape, 1}, Kind::kDim},
    {{Kind::kFunction, 7}, Kind::kNode},       {{Kind::kFunction, 9}, Kind::kOpset},
    {{Kind::kFunction, 11}, Kind::kAttribute},
};

struct Field;
struct Message {
  Kind kind;
  std::vector<Field> fields;
};
struct Field {
  uint32_t tag = 0;
  pbf_wire_type type = pbf_wire_type::varint;
  uint64_t number = 0;  // of varints and fixed sizes
  std::string bytes;
  std::shared_ptr<Message> message;
};

Message Parsed(Kind kind, const std::string& bytes) {
  Message out{kind, {}};
  protozero::pbf_reader reader(bytes);
  while (reader.next()) {
    Field field;
    field.tag = reader.tag();
    field.type = reader.wire_type();
    switch (field.type) {
      case pbf_wire_type::varint:
        field.number = reader.get_uint64();
        break;
      case pbf_wire_type::fixed64:
        field.number = reader.get_fixed64();
        break;
      case pbf_wire_type::fixed32:
        field.number = reader.get_fixed32();
        break;
      default: {
        field.bytes = reader.get_string();
        const auto inner = kMessages.find({kind, field.tag});
        if (inner != kMessages.end()) {
          field.message = std::make_shared<Message>(Parsed(inner->second, field.bytes));
          field.bytes.clear();
        }
      }
    }
    out.fields.push_back(std::move(field));
  }
  return out;
}

std::string Bytes(const Message& message) {
  std::string out;
  protozero::pbf_writer writer(out);
  for (const Field& field : message.fields) {
    switch (field.type) {
      case pbf_wire_type::varint:
        writer.add_uint64(field.tag, field.number);
        break;
      case pbf_wire_type::fixed64:
        writer.add_fixed64(field.tag, field.number);
        break;
      case pbf_wire_type::fixed32:
        writer.add_fixed32(field.tag, static_cast<uint32_t>(field.number));
        break;
      default:
        writer.add_bytes(field.tag, field.message != nullptr ? Bytes(*field.message) : field.bytes);
    }
  }
  return out;
}

// All messages with fields, the outermost first.
void Collect(Message& message, std::vector<Message*>* out) {
  if (!message.fields.empty()) out->push_back(&message);
  for (Field& field : message.fields) {
    if (field.message != nullptr) Collect(*field.message, out);
  }
}

void ChangeValue(Field& field, const Message& around, Random& random) {
  static constexpr uint64_t kNumbers[] = {0,
                                          1,
                                          2,
                                          3,
                                          7,
                                          16,
                                          1000,
                                          uint64_t{1} << 31,
                                          uint64_t{1} << 62,
                                          INT64_MAX,
                                          static_cast<uint64_t>(-1),
                                          static_cast<uint64_t>(-2),
                                          uint64_t{1} << 63};
  if (field.type != pbf_wire_type::length_delimited) {
    field.number = random() % 2 == 0 ? kNumbers[Pick(random, std::size(kNumbers))] : field.number + random() % 5 - 2;
  } else if (field.message == nullptr) {
    const Field& other = around.fields[Pick(random, around.fields.size())];  // another name beside it
    if (random() % 3 != 0 && other.message == nullptr && other.type == field.type) {
      field.bytes = other.bytes;
    } else if (!field.bytes.empty() && random() % 2 == 0) {
      field.bytes[Pick(random, field.bytes.size())] = static_cast<char>(random());
    } else {
      field.bytes.resize(Pick(random, 2 * field.bytes.size() + 2));
    }
  }
}

// The fields of all messages of `kind` with one of `tags`.
std::vector<Field*> FieldsOf(const std::vector<Message*>& messages, Kind kind, std::initializer_list<uint32_t> tags) {
  std::vector<Field*> out;
  for (Message* message : messages) {
    if (message->kind != kind) continue;
    for (Field& field : message->fields) {
      if (std::find(tags.begin(), tags.end(), field.tag) != tags.end() && field.message == nullptr)
        out.push_back(&field);
    }
  }
  return out;
}

// Replaces one of `fields` by one of `others`.
void Replace(const std::vector<Field*>& fields, const std::vector<Field*>& others, Random& random) {
  if (fields.empty() || others.empty()) return;
  fields[Pick(random, fields.size())]->bytes = others[Pick(random, others.size())]->bytes;
}

// Another value of the model as an operand of a node.
void Rewire(const std::vector<Message*>& messages, Random& random) {
  std::vector<Field*> names = FieldsOf(messages, Kind::kNode, {1, 2});
  for (Field* name : FieldsOf(messages, Kind::kValueInfo, {1})) names.push_back(name);
  for (Field* name : FieldsOf(messages, Kind::kTensor, {8})) names.push_back(name);
  Replace(FieldsOf(messages, Kind::kNode, {1}), names, random);
}

void EditStructure(Message& model, Message& donor, Random& random) {
  std::vector<Message*> messages, gifts;
  Collect(model, &messages);
  Collect(donor, &gifts);
  if (messages.empty()) return;
  Message& message = *messages[Pick(random, messages.size())];
  const size_t at = Pick(random, message.fields.size());
  switch (random() % 8) {
    case 0:
      message.fields.erase(message.fields.begin() + static_cast<std::ptrdiff_t>(at));
      break;
    case 1:
      message.fields.push_back(message.fields[at]);
      break;
    case 2:
      std::swap(message.fields[at], message.fields[Pick(random, message.fields.size())]);
      break;
    case 3: {  // a field of the same kind of message elsewhere
      const Message& gift = *gifts[Pick(random, gifts.size())];
      if (gift.kind == message.kind) message.fields[at] = gift.fields[Pick(random, gift.fields.size())];
      break;
    }
    case 4:
      Rewire(messages, random);
      break;
    case 5:  // the operator of another model's node
      Replace(FieldsOf(messages, Kind::kNode, {4}), FieldsOf(gifts, Kind::kNode, {4}), random);
      break;
    default:
      ChangeValue(message.fields[at], message, random);
  }
}

void EditBytes(std::string& bytes, Random& random) {
  if (bytes.empty()) return;
  const size_t at = Pick(random, bytes.size());
  switch (random() % 4) {
    case 0:
      bytes.resize(at);
      break;
    case 1:
      bytes.erase(at, 1 + Pick(random, 8));
      break;
    case 2:
      bytes.insert(at, 1 + Pick(random, 8), static_cast<char>(random()));
      break;
    default:
      bytes[at] = static_cast<char>(random());
  }
}

}  // namespace

std::string MutatedModel(const std::vector<std::string>& seeds, Random& random) {
  std::string bytes = seeds[Pick(random, seeds.size())];
  const uint64_t edits = 1 + random() % 3;
  if (random() % 8 == 0) {
    for (uint64_t i = 0; i < edits; ++i) EditBytes(bytes, random);
    return bytes;
  }
  Message model = Parsed(Kind::kModel, bytes), donor = Parsed(Kind::kModel, seeds[Pick(random, seeds.size())]);
  for (uint64_t i = 0; i < edits; ++i) EditStructure(model, donor, random);
  return Bytes(model);
}

}  // namespace tailor

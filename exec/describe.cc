#include "exec/describe.h"

#include <cstdio>
#include <set>
#include <string>
#include <string_view>

namespace tailor {
namespace {

// Writes JSON and inserts commas. Strings are UTF-8, as the validator ensures.
class JsonWriter {
 public:
  void BeginObject() { Open('{'); }
  void EndObject() { Close('}'); }
  void BeginArray() { Open('['); }
  void EndArray() { Close(']'); }
  void Key(std::string_view key) {
    String(key);
    text_ += ": ";
    first_ = true;
  }
  void String(std::string_view value) {
    Comma();
    text_ += '"';
    for (char c : value) Escape(c);
    text_ += '"';
  }
  void Number(int64_t value) {
    Comma();
    text_ += std::to_string(value);
  }
  void Bool(bool value) {
    Comma();
    text_ += value ? "true" : "false";
  }

  void Field(std::string_view key, std::string_view value) { Key(key), String(value); }
  void Field(std::string_view key, int64_t value) { Key(key), Number(value); }
  template <typename List, typename Write>
  void Array(std::string_view key, const List& list, Write write) {
    Key(key);
    BeginArray();
    for (const auto& item : list) write(item);
    EndArray();
  }

  std::string Take() { return std::move(text_); }

 private:
  void Comma() {
    if (!first_) text_ += ", ";
    first_ = false;
  }
  void Open(char bracket) {
    Comma();
    text_ += bracket;
    first_ = true;
  }
  void Close(char bracket) {
    text_ += bracket;
    first_ = false;
  }
  void Escape(char c) {
    if (c == '"' || c == '\\') {
      text_ += '\\';
      text_ += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\u%04x", c);
      text_ += escape;
    } else {
      text_ += c;
    }
  }

  std::string text_;
  bool first_ = true;
};

void WriteSymbol(const ProgramSymbol& symbol, JsonWriter* json) {
  json->BeginObject();
  json->Field("name", symbol.name);
  json->Field("min", symbol.min);
  json->Field("max", symbol.max);
  json->Field("multiple_of", symbol.multiple_of);
  json->Array("likely", symbol.likely, [&](int64_t value) { json->Number(value); });
  json->EndObject();
}

void WriteTensor(const Program& program, const ProgramTensor& tensor, JsonWriter* json) {
  json->BeginObject();
  json->Field("name", tensor.name);
  json->Field("dtype", NameOf(tensor.dtype));
  json->Array("dims", tensor.dims, [&](const ProgramDim& dim) { json->String(dim.text); });
  if (tensor.donated) json->Key("donated"), json->Bool(true);
  if (tensor.memory_of >= 0) json->Field("memory_of", program.inputs[tensor.memory_of].name);
  json->EndObject();
}

void WriteCheck(const ProgramCheck& check, JsonWriter* json) {
  json->BeginObject();
  json->Field("message", check.message);
  json->Field("node", check.node);
  json->EndObject();
}

const char* LayoutName(ConstantLayout layout) {
  switch (layout) {
    case ConstantLayout::kRowMajor:
      return "row_major";
    case ConstantLayout::kPanels16:
      return "panels16";
    case ConstantLayout::kWordPanels16:
      return "word_panels16";
    case ConstantLayout::kWinogradPanels16:
      return "winograd_panels16";
  }
  return "?";
}

void WriteConstant(const ProgramConstant& constant, JsonWriter* json) {
  json->BeginObject();
  json->Field("name", constant.name);
  json->Field("dtype", NameOf(constant.dtype));
  json->Array("dims", constant.dims, [&](int64_t dim_size) { json->Number(dim_size); });
  json->Field("layout", LayoutName(constant.layout));
  json->Field("bytes", static_cast<int64_t>(constant.bytes.size()));
  json->EndObject();
}

void WriteLaunch(const Variant& variant, const ProgramLaunch& launch, JsonWriter* json) {
  json->BeginObject();
  json->Field("kernel", launch.kernel);
  json->Array("versions", launch.versions, [&](const std::string& guard) { json->String(guard); });
  if (!launch.dropped.empty())
    json->Array("dropped", launch.dropped, [&](const std::string& text) { json->String(text); });
  if (!variant.kernel_bytes.empty()) {
    json->Field("code", launch.code);
    json->Field("code_bytes", static_cast<int64_t>(variant.kernel_bytes[launch.code]));
  }
  json->EndObject();
}

const char* KindName(DeviceImageKind kind) {
  switch (kind) {
    case DeviceImageKind::kCubin:
      return "cubin";
    case DeviceImageKind::kPtx:
      return "ptx";
    case DeviceImageKind::kIr:
      return "ir";
  }
  return "?";
}

void WriteDeviceImage(const DeviceImage& image, JsonWriter* json) {
  json->BeginObject();
  json->Field("target", image.target);
  json->Field("kind", KindName(image.kind));
  json->Field("bytes", static_cast<int64_t>(image.bytes.size()));
  json->EndObject();
}

void WriteDeviceKernel(const DeviceKernel& kernel, JsonWriter* json) {
  json->BeginObject();
  json->Field("symbol", kernel.symbol);
  json->Field("threads", kernel.threads);
  json->Field("parameters", kernel.parameters);
  json->EndObject();
}

void WriteVariant(const Program& program, const Variant& variant, bool in_use, JsonWriter* json) {
  json->BeginObject();
  json->Field("target", variant.target);
  json->Key("in_use");
  json->Bool(in_use);
  json->Array("features", variant.features, [&](const std::string& feature) { json->String(feature); });
  json->Field("image_bytes", static_cast<int64_t>(variant.image.size()));
  json->Field("shape_cache_slots", static_cast<int64_t>(variant.shape_cache_slots));
  json->Field("growable_blocks", static_cast<int64_t>(variant.growable_blocks));
  if (!variant.device_images.empty()) {
    json->Key("reads_back");
    json->Bool(variant.reads_back);
    if (!variant.outputs_to_copy.empty()) {
      json->Array("outputs_to_copy", variant.outputs_to_copy,
                  [&](int32_t o) { json->String(program.outputs[o].name); });
    }
    json->Array("device_images", variant.device_images, [&](const DeviceImage& i) { WriteDeviceImage(i, json); });
    json->Array("device_kernels", variant.device_kernels, [&](const DeviceKernel& k) { WriteDeviceKernel(k, json); });
  }
  if (!variant.custom_calls.empty()) {
    std::set<std::string> names;
    for (const ProgramCustomCall& call : variant.custom_calls) names.insert(call.name);
    json->Array("custom_operators", names, [&](const std::string& name) { json->String(name); });
  }
  json->Array("launches", variant.launches, [&](const ProgramLaunch& launch) { WriteLaunch(variant, launch, json); });
  json->EndObject();
}

void WriteVisits(const PassVisits& entry, JsonWriter* json) {
  json->BeginObject();
  json->Field("pass", entry.pass);
  json->Field("visits", static_cast<int64_t>(entry.visits));
  json->EndObject();
}

void WriteProvenance(const Provenance& from, JsonWriter* json) {
  char hash[20];
  std::snprintf(hash, sizeof(hash), "%016llx", static_cast<unsigned long long>(from.graph_hash));
  json->Key("provenance");
  json->BeginObject();
  json->Field("tailor_version", from.tailor_version);
  json->Field("llvm_version", from.llvm_version);
  json->Field("graph_name", from.graph_name);
  json->Field("graph_hash", hash);
  json->Field("options", from.options);
  json->EndObject();
}

int64_t ConstantBytes(const Program& program) {
  int64_t bytes = 0;
  for (const ProgramConstant& constant : program.constants) bytes += static_cast<int64_t>(constant.bytes.size());
  return bytes;
}

}  // namespace

std::string DescribeAsJson(const Program& program, const Variant* in_use, uint64_t artifact_bytes,
                           const std::string& constants_hash) {
  JsonWriter json;
  json.BeginObject();
  json.Array("symbols", program.symbols, [&](const ProgramSymbol& symbol) { WriteSymbol(symbol, &json); });
  json.Array("inputs", program.inputs, [&](const ProgramTensor& tensor) { WriteTensor(program, tensor, &json); });
  json.Array("outputs", program.outputs, [&](const ProgramTensor& tensor) { WriteTensor(program, tensor, &json); });
  json.Array("facts", program.facts, [&](const std::string& fact) { json.String(fact); });
  json.Array("visits", program.visits, [&](const PassVisits& entry) { WriteVisits(entry, &json); });
  json.Array("checks", program.checks, [&](const ProgramCheck& check) { WriteCheck(check, &json); });
  json.Array("constants", program.constants, [&](const ProgramConstant& c) { WriteConstant(c, &json); });
  json.Array("variants", program.variants, [&](const Variant& v) { WriteVariant(program, v, &v == in_use, &json); });
  WriteProvenance(program.provenance, &json);
  json.Field("artifact_bytes", static_cast<int64_t>(artifact_bytes));
  json.Field("constant_bytes", ConstantBytes(program));
  json.Field("constants_hash", constants_hash);
  json.Key("flush_denormals");
  json.Bool(program.flush_denormals);
  json.EndObject();
  return json.Take();
}

}  // namespace tailor

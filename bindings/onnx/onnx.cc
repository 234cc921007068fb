// The C functions of tailor/onnx.h.
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "bindings/frontend/builder.h"
#include "bindings/frontend/error.h"
#include "bindings/onnx/files.h"
#include "bindings/onnx/graph_importer.h"
#include "bindings/onnx/operators_text.h"
#include "tailor/onnx.h"

namespace tailor::onnx {
namespace {

using frontend::Array;
using frontend::Fail;

std::string TextOf(const char* text, size_t size, const char* what) {
  if (text == nullptr && size > 0) Fail(std::string(what) + " is NULL");
  if (text == nullptr) return "";
  std::string out = size == SIZE_MAX ? std::string(text) : std::string(text, size);
  if (out.find('\0') != std::string::npos) Fail(std::string(what) + " holds a NUL");
  return out;
}

tailor_onnx_options Taken(const tailor_onnx_options* given) {
  tailor_onnx_options options;
  tailor_onnx_options_init(&options);
  if (given == nullptr) return options;
  if (given->struct_size < sizeof(uint64_t) || given->struct_size > 4096) {
    Fail("options has a wrong struct_size: use its _init function");
  }
  std::memcpy(&options, given, std::min(given->struct_size, uint64_t{sizeof(options)}));
  return options;
}

Array FixedArray(const std::string& name, const tailor_tensor& tensor) {
  if (!IsValid(static_cast<DType>(tensor.dtype)) || tensor.rank < 0 || tensor.rank > TAILOR_MAX_RANK) {
    Fail("options.fixed \"" + name + "\" has no valid dtype and rank");
  }
  if (tensor.strides != nullptr || tensor.device != 0) {
    Fail("options.fixed \"" + name + "\" is not dense in host memory");
  }
  Array array = Array::New(static_cast<DType>(tensor.dtype), {tensor.dims, tensor.dims + tensor.rank});
  if (tensor.data_bytes < array.bytes() || (tensor.data == nullptr && array.bytes() > 0)) {
    Fail("options.fixed \"" + name + "\" has " + std::to_string(tensor.data_bytes) + " bytes, not " +
         std::to_string(array.bytes()));
  }
  if (array.bytes() > 0) std::memcpy(array.fill<char>(), tensor.data, array.bytes());
  return array;
}

ImportOptions OptionsOf(const tailor_onnx_options& given) {
  ImportOptions options;
  for (size_t i = 0; i < given.symbol_count; ++i) {
    const tailor_onnx_symbol& symbol = given.symbols[i];
    frontend::SymbolRange range{symbol.min, symbol.max, symbol.multiple_of, {}};
    range.likely.assign(symbol.likely, symbol.likely + symbol.likely_count);
    options.symbols[TextOf(symbol.name, symbol.name_size, "options.symbols")] = std::move(range);
  }
  for (size_t i = 0; i < given.dim_count; ++i) {
    const tailor_onnx_dim& dim = given.dims[i];
    options.dims[TextOf(dim.name, dim.name_size, "options.dims")] = TextOf(dim.text, dim.text_size, "options.dims");
  }
  for (size_t i = 0; i < given.fixed_count; ++i) {
    const std::string name = TextOf(given.fixed[i].name, given.fixed[i].name_size, "options.fixed");
    options.fixed[name] = FixedArray(name, given.fixed[i].tensor);
  }
  return options;
}

tailor_graph* Import(const MappedFile& file, const tailor_onnx_options& given, std::optional<std::string> directory) {
  const ImportOptions options = OptionsOf(given);
  const ModelProto proto = ParseModel(file.bytes);
  ModelImport model{proto, options, TensorData(file.owner, std::move(directory)), {}};
  for (const FunctionProto& function : proto.functions) model.functions[{function.domain, function.name}] = &function;
  CheckOperators(model);
  const std::string name(proto.graph->name);
  frontend::Builder builder(name.empty() ? "main" : name);
  GraphImporter(model, builder).ImportModel();
  return builder.Release();
}

// Runs `body`, which gives the graph, and reports inputs that would avoid a failure.
template <typename Body>
tailor_status* AtBoundary(const tailor_onnx_options* options, tailor_graph** out, Body body) noexcept {
  try {
    if (out == nullptr) Fail("out is NULL");
    const tailor_onnx_options taken = Taken(options);
    try {
      *out = body(taken);
    } catch (const frontend::Error& error) {
      if (taken.needs_fixed != nullptr) {
        for (const std::string& input : error.inputs()) taken.needs_fixed(taken.user, input.data(), input.size());
      }
      throw;
    }
    return nullptr;
  } catch (...) {
    return frontend::CurrentStatus();
  }
}

}  // namespace
}  // namespace tailor::onnx

tailor_status* tailor_onnx_load(const char* path, size_t path_size, const tailor_onnx_options* options,
                                tailor_graph** out) {
  return tailor::onnx::AtBoundary(options, out, [&](const tailor_onnx_options& taken) {
    const std::string name = tailor::onnx::TextOf(path, path_size, "path");
    const size_t slash = name.rfind('/');
    const std::string directory = slash == std::string::npos ? "." : name.substr(0, slash + 1);
    return tailor::onnx::Import(tailor::onnx::MapFile(name, "the model \"" + name + "\""), taken, directory);
  });
}

tailor_status* tailor_onnx_load_memory(const void* data, size_t size, void (*released)(void* user), void* user,
                                       const tailor_onnx_options* options, tailor_graph** out) {
  using tailor::onnx::MappedFile;
  return tailor::onnx::AtBoundary(options, out, [&](const tailor_onnx_options& taken) {
    MappedFile file;
    if (released != nullptr) {
      file.owner = std::shared_ptr<const void>(data, [released, user](const void*) { released(user); });
    }
    if (data == nullptr && size > 0) tailor::frontend::Fail("data is NULL");
    if (released == nullptr) {
      const tailor::frontend::Array copy =
          tailor::frontend::Array::New(tailor::DType::kU8, {static_cast<int64_t>(size)});
      if (size > 0) std::memcpy(const_cast<void*>(copy.data()), data, size);
      file.owner = copy.owner();
      data = copy.data();
    }
    file.bytes = {static_cast<const char*>(data), size};
    std::optional<std::string> directory;
    if (taken.directory != nullptr) {
      directory = tailor::onnx::TextOf(taken.directory, taken.directory_size, "options.directory");
    }
    return tailor::onnx::Import(file, taken, std::move(directory));
  });
}

const char* tailor_onnx_operators(void) {
  try {
    static const std::string text = tailor::onnx::OperatorsText();
    return text.c_str();
  } catch (...) {
    return "";
  }
}

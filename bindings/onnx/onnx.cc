// The C functions of tailor/onnx.h.
#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
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
  const size_t known = std::min(static_cast<size_t>(given->struct_size), sizeof(options));
  const char* bytes = reinterpret_cast<const char*>(given);
  if (std::any_of(bytes + known, bytes + given->struct_size, [](char byte) { return byte != 0; })) {
    Fail("options sets a field that this library does not know");
  }
  std::memcpy(&options, given, known);
  return options;
}

Array FixedArray(const std::string& name, const tailor_tensor& tensor) {
  if (!IsValid(static_cast<DType>(tensor.dtype)) || tensor.rank < 0 || tensor.rank > TAILOR_MAX_RANK) {
    Fail("options.fixed \"" + name + "\" has no valid dtype and rank");
  }
  if (tensor.strides != nullptr || tensor.device != 0) {
    Fail("options.fixed \"" + name + "\" is not dense in host memory");
  }
  const auto dtype = static_cast<DType>(tensor.dtype);
  const std::vector<int64_t> shape(tensor.dims, tensor.dims + tensor.rank);
  const size_t bytes = static_cast<size_t>(frontend::CountOf(shape)) * static_cast<size_t>(SizeOf(dtype));
  const size_t given = tensor.data == nullptr ? 0 : tensor.data_bytes;
  if (given < bytes) {
    Fail("options.fixed \"" + name + "\" has " + std::to_string(given) + " bytes, not " + std::to_string(bytes));
  }
  Array array = Array::New(dtype, shape);
  if (bytes > 0) std::memcpy(array.fill<char>(), tensor.data, bytes);
  array.NormalizeBools();
  return array;
}

void CheckPresent(const void* list, size_t count, const char* what) {
  if (list == nullptr && count > 0) Fail(std::string(what) + " is NULL");
}

ImportOptions OptionsOf(const tailor_onnx_options& given) {
  ImportOptions options;
  CheckPresent(given.symbols, given.symbol_count, "options.symbols");
  CheckPresent(given.dims, given.dim_count, "options.dims");
  CheckPresent(given.fixed, given.fixed_count, "options.fixed");
  CheckPresent(given.custom_domains, given.custom_domain_count, "options.custom_domains");
  for (size_t i = 0; i < given.custom_domain_count; ++i) {
    const std::string domain = TextOf(given.custom_domains[i], SIZE_MAX, "options.custom_domains");
    if (domain.empty() || domain == "ai.onnx") Fail("options.custom_domains has the default domain");
    options.custom_domains.insert(domain);
  }
  for (size_t i = 0; i < given.symbol_count; ++i) {
    const tailor_onnx_symbol& symbol = given.symbols[i];
    CheckPresent(symbol.likely, symbol.likely_count, "likely of options.symbols");
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

// One import of a model; a second one begins anew.
class Attempt {
 public:
  Attempt(const ModelProto& proto, const ImportOptions& options, TensorData data, OpenSqueezes open_squeezes)
      : model_{proto, options, std::move(data), {}},
        builder_(proto.graph->name.empty() ? "main" : std::string(proto.graph->name)),
        importer_(model_, builder_) {
    model_.open_squeezes = open_squeezes;
    for (const FunctionProto& function : proto.functions) {
      model_.functions[{function.domain, function.name}] = &function;
    }
  }

  void Import() {
    CheckOperators(model_);
    importer_.ImportModel();
  }
  bool refused_squeeze() const { return model_.refused_squeeze; }
  bool has_stated_ranks() const { return importer_.HasStatedRanks(); }
  tailor_graph* Release() { return builder_.Release(); }

 private:
  ModelImport model_;
  frontend::Builder builder_;
  GraphImporter importer_;
};

// A model in which a Squeeze without axes is open is imported in both ways. The one that gives the ranks which the
// model states for its outputs is taken, if only one does.
tailor_graph* Import(const MappedFile& file, const tailor_onnx_options& given,
                     const std::optional<std::string>& directory) {
  const ImportOptions options = OptionsOf(given);
  const ModelProto proto = ParseModel(file.bytes);
  const auto attempt = [&](OpenSqueezes way) {
    return std::make_unique<Attempt>(proto, options, TensorData(file, directory), way);
  };
  std::exception_ptr refused;
  {
    const std::unique_ptr<Attempt> first = attempt(OpenSqueezes::kRefuse);
    try {
      first->Import();
      return first->Release();
    } catch (const frontend::Error&) {
      if (!first->refused_squeeze()) throw;
      refused = std::current_exception();
    }
  }
  std::unique_ptr<Attempt> fitting;
  for (const OpenSqueezes way : {OpenSqueezes::kKeep, OpenSqueezes::kDrop}) {
    std::unique_ptr<Attempt> one = attempt(way);
    try {
      one->Import();
    } catch (const frontend::Error&) {
      continue;
    }
    if (!one->has_stated_ranks()) continue;
    if (fitting != nullptr) std::rethrow_exception(refused);
    fitting = std::move(one);
  }
  if (fitting == nullptr) std::rethrow_exception(refused);
  return fitting->Release();
}

// Imports the model that `file` gives, and reports inputs that would avoid a failure. `directory`: of external data.
template <typename File>
void Load(const tailor_onnx_options* options, tailor_graph** out, std::optional<std::string> directory, File file) {
  if (out == nullptr) Fail("out is NULL");
  const tailor_onnx_options taken = Taken(options);
  if (!directory && taken.directory != nullptr) {
    directory = TextOf(taken.directory, taken.directory_size, "options.directory");
  }
  try {
    *out = Import(file(), taken, directory);
  } catch (const frontend::Error& error) {
    if (taken.needs_fixed != nullptr) {
      for (const std::string& input : error.inputs()) taken.needs_fixed(taken.user, input.data(), input.size());
    }
    throw;
  }
}

MappedFile CopyOf(const void* data, size_t size) {
  Array copy = Array::New(DType::kU8, {static_cast<int64_t>(size)});
  if (size > 0) std::memcpy(copy.fill<char>(), data, size);
  return {copy.owner(), {copy.as<char>(), size}};
}

template <typename Body>
tailor_status* AtBoundary(Body body) noexcept {
  try {
    body();
    return nullptr;
  } catch (...) {
    return frontend::CurrentStatus();
  }
}

}  // namespace
}  // namespace tailor::onnx

using tailor::onnx::MappedFile;

tailor_status* tailor_onnx_load(const char* path, size_t path_size, const tailor_onnx_options* options,
                                tailor_graph** out) {
  return tailor::onnx::AtBoundary([&] {
    const std::string name = tailor::onnx::TextOf(path, path_size, "path");
    const size_t slash = name.rfind('/');
    const std::string directory = slash == std::string::npos ? "." : name.substr(0, slash + 1);
    tailor::onnx::Load(options, out, directory,
                       [&] { return tailor::onnx::MapFile(name, "the model \"" + name + "\""); });
  });
}

tailor_status* tailor_onnx_load_memory(const void* data, size_t size, void (*released)(void* user), void* user,
                                       const tailor_onnx_options* options, tailor_graph** out) {
  return tailor::onnx::AtBoundary([&] {
    std::shared_ptr<const void> owner;  // first, so that every failure releases the bytes
    if (released != nullptr) owner.reset(data, [released, user](const void*) { released(user); });
    if (data == nullptr && size > 0) tailor::frontend::Fail("data is NULL");
    tailor::onnx::Load(options, out, std::nullopt, [&]() -> MappedFile {
      if (released == nullptr) return tailor::onnx::CopyOf(data, size);
      return {owner, {static_cast<const char*>(data), size}};
    });
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

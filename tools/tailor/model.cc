#include "tools/tailor/model.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>

#include "tailor/onnx.h"
#include "tools/tailor/constants.h"
#include "tools/tailor/failures.h"
#include "tools/tailor/files.h"
#include "tools/tailor/tensor_file.h"

namespace tailor {
namespace {

// The number that `text` is; throws for others.
int64_t NumberOf(const std::string& text, const std::string& argument) {
  int64_t number;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && stop == text.data() + text.size()) return number;
  throw UsageError("--dim \"" + argument + "\": \"" + text + "\" is no number");
}

// --dim arguments as options; these point to the strings here.
class DimOptions {
 public:
  explicit DimOptions(const std::vector<std::string>& arguments) {
    for (const std::string& argument : arguments) Add(argument);
    for (const auto& [name, text] : texts_) dims_.push_back({name.data(), name.size(), text.data(), text.size()});
    for (const auto& [name, range] : ranges_) {
      symbols_.push_back({name.data(), name.size(), range.first, range.second, 1, nullptr, 0});
    }
  }
  DimOptions(const DimOptions&) = delete;

  void Set(tailor_onnx_options* options) const {
    options->dims = dims_.data();
    options->dim_count = dims_.size();
    options->symbols = symbols_.data();
    options->symbol_count = symbols_.size();
  }

 private:
  void Add(const std::string& argument) {
    const size_t equals = argument.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == argument.size()) {
      throw UsageError("--dim \"" + argument + "\" is neither NAME=N, NAME=MIN..MAX nor NAME=EXPRESSION");
    }
    const std::string name = argument.substr(0, equals), size = argument.substr(equals + 1);
    const size_t dots = size.find("..");
    if (dots == std::string::npos) {
      texts_.emplace_back(name, size);
    } else {
      ranges_.push_back({name, {NumberOf(size.substr(0, dots), argument), NumberOf(size.substr(dots + 2), argument)}});
    }
  }

  std::vector<std::pair<std::string, std::string>> texts_;
  std::vector<std::pair<std::string, std::pair<int64_t, int64_t>>> ranges_;
  std::vector<tailor_onnx_dim> dims_;
  std::vector<tailor_onnx_symbol> symbols_;
};

tailor_onnx_fixed FixedOf(NamedTensor& tensor) {
  tailor_onnx_fixed fixed{tensor.name.data(), tensor.name.size(), {}};
  tailor_tensor_init(&fixed.tensor);
  fixed.tensor.data = tensor.bytes.data();
  fixed.tensor.data_bytes = tensor.bytes.size();
  fixed.tensor.dtype = static_cast<int32_t>(tensor.dtype);
  fixed.tensor.rank = static_cast<int32_t>(tensor.dims.size());
  if (tensor.dims.size() > TAILOR_MAX_RANK) throw UsageError(tensor.name + " has more than 8 dims");
  std::copy(tensor.dims.begin(), tensor.dims.end(), fixed.tensor.dims);
  return fixed;
}

GraphHandle LoadOnnx(const ModelArguments& arguments) {
  std::vector<NamedTensor> tensors;
  for (const std::string& argument : arguments.fixed) tensors.push_back(ParseTensor(argument));
  std::vector<tailor_onnx_fixed> fixed;
  for (NamedTensor& tensor : tensors) fixed.push_back(FixedOf(tensor));
  tailor_onnx_options options;
  tailor_onnx_options_init(&options);
  const DimOptions dims(arguments.dims);
  dims.Set(&options);
  options.fixed = fixed.data();
  options.fixed_count = fixed.size();
  std::vector<const char*> domains;
  for (const std::string& domain : arguments.custom_domains) domains.push_back(domain.c_str());
  options.custom_domains = domains.data();
  options.custom_domain_count = domains.size();
  tailor_graph* graph = nullptr;
  const StatusHandle status(tailor_onnx_load(arguments.path.data(), arguments.path.size(), &options, &graph));
  // The message names the node.
  if (status)
    throw StatusError(tailor_status_code(status.get()), arguments.path + ": " + tailor_status_message(status.get()));
  return GraphHandle(graph);
}

}  // namespace

bool IsOnnx(const std::string& path) { return path.ends_with(".onnx") && path.size() > 5; }

GraphHandle LoadGraph(const ModelArguments& arguments) {
  return IsOnnx(arguments.path) ? LoadOnnx(arguments) : ParseWithConstants(ReadFile(arguments.path), arguments);
}

}  // namespace tailor

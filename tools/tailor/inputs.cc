#include "tools/tailor/inputs.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>

#include "graph/element.h"
#include "tools/tailor/failures.h"

namespace tailor {
namespace {

constexpr double kExactIntegers = 0x1p53;  // doubles hold all integers up to it

double ParseNumber(const std::string& text, const std::string& argument) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(number)) {
    throw UsageError("--range " + argument + ": \"" + text + "\" is no number");
  }
  return number;
}

// "0:30521".
ValueRange ParseRange(const std::string& text, const std::string& argument) {
  const size_t colon = text.find(':');
  if (colon == std::string::npos) throw UsageError("--range " + argument + ": expected LOW:HIGH or NAME=LOW:HIGH");
  const ValueRange range = {ParseNumber(text.substr(0, colon), argument),
                            ParseNumber(text.substr(colon + 1), argument)};
  if (range.low > range.high) throw UsageError("--range " + argument + ": " + text + " is empty");
  return range;
}

bool Holds(DType dtype, double value) {
  if (IsFloat(dtype)) return true;
  int64_t element = 0;
  ElementFromDouble(dtype, value, &element);
  return std::fabs(value) <= kExactIntegers && ElementToDouble(dtype, &element) == value;
}

void CheckRange(const TensorSpec& input, ValueRange range, const std::string& argument) {
  for (const double bound : {range.low, range.high}) {
    if (!Holds(input.dtype, bound)) {
      throw UsageError("--range " + argument + ": input \"" + input.name + "\" is " + NameOf(input.dtype) +
                       ", which cannot hold " + DoubleText(bound));
    }
  }
}

size_t ByteCount(const TensorSpec& input, const std::vector<int64_t>& dims) {
  int64_t bytes = SizeOf(input.dtype);
  for (const int64_t dim : dims) {
    if (__builtin_mul_overflow(bytes, dim, &bytes) || bytes > int64_t{1} << 40) {
      throw UsageError("input \"" + input.name + "\" would have more than 1 TiB: " + TypeText(input.dtype, dims));
    }
  }
  return static_cast<size_t>(bytes);
}

}  // namespace

InputChoices::InputChoices(const InputArguments& arguments, const ModelSignature& signature)
    : dims_(ParseDimChoices(arguments.dims)), seed_(arguments.seed) {
  for (const TensorSpec& input : signature.inputs)
    choices_.push_back({input, nullptr, DefaultRange(input.dtype), false});
  ReadTensors(arguments);
  ReadRanges(arguments);
}

InputChoices::Choice& InputChoices::Find(const std::string& name, const std::string& where) {
  const auto found =
      std::find_if(choices_.begin(), choices_.end(), [&](auto& choice) { return choice.spec.name == name; });
  if (found != choices_.end()) return *found;
  std::string names;
  for (const Choice& choice : choices_) names += (names.empty() ? "" : ", ") + choice.spec.name;
  throw UsageError(where + ": there is no input \"" + name + "\"" + (names.empty() ? "" : "; inputs: " + names));
}

void InputChoices::ReadTensors(const InputArguments& arguments) {
  std::vector<std::string> all = arguments.tensors;
  all.insert(all.end(), arguments.more.begin(), arguments.more.end());
  for (NamedTensor& tensor : ParseTensors(all)) {
    const std::string name = tensor.name;
    Choice& choice = Find(name, "--input");
    const auto [at, added] = given_.emplace(name, std::move(tensor));
    if (!added) throw UsageError("--input: " + name + " is given twice");
    choice.given = &at->second;
    if (at->second.dims.size() != choice.spec.dims.size() || at->second.dtype != choice.spec.dtype) {
      std::string dims;
      for (const std::string& dim : choice.spec.dims) dims += (dims.empty() ? "" : ", ") + dim;
      throw UsageError("--input: " + name + " is " + at->second.type() + ", must be " + NameOf(choice.spec.dtype) +
                       "[" + dims + "]");
    }
  }
}

void InputChoices::ReadRanges(const InputArguments& arguments) {
  for (const std::string& argument : arguments.ranges) {
    const size_t equals = argument.rfind('=');
    const bool named = equals != std::string::npos;
    const ValueRange range = ParseRange(named ? argument.substr(equals + 1) : argument, argument);
    Choice* only = named ? &Find(argument.substr(0, equals), "--range " + argument) : nullptr;
    for (Choice& choice : choices_) {
      if (only != nullptr ? &choice != only : choice.range_given || choice.spec.dtype == DType::kBool) continue;
      CheckRange(choice.spec, range, argument);
      choice.range = range;
      choice.range_given = named;
    }
  }
}

std::vector<DimChoice> InputChoices::Dims() const {
  std::vector<DimChoice> dims = dims_;
  for (const Choice& choice : choices_) {
    for (size_t i = 0; choice.given != nullptr && i < choice.spec.dims.size(); ++i) {
      const std::string& symbol = choice.spec.dims[i];
      const bool is_symbol = symbol.find_first_of("+-*( ") == std::string::npos && !std::isdigit(symbol[0]);
      if (!is_symbol) continue;
      const int64_t size = choice.given->dims[i];
      const auto found = std::find_if(dims.begin(), dims.end(), [&](auto& other) { return other.symbol == symbol; });
      if (found == dims.end()) {
        dims.push_back({symbol, {{size, size}}, "input \"" + choice.spec.name + "\""});
      } else if (found->sizes.size() != 1 || found->sizes[0].low != size || found->sizes[0].high != size) {
        throw UsageError("input \"" + choice.spec.name + "\" has " + symbol + "=" + std::to_string(size) + ", but " +
                         found->where + " says otherwise");
      }
    }
  }
  return dims;
}

std::string InputChoices::IntegersByDefault() const {
  std::string names;
  for (const Choice& choice : choices_) {
    const bool by_default = choice.given == nullptr && IsInteger(choice.spec.dtype) && !choice.range_given;
    if (by_default) names += (names.empty() ? "" : ", ") + choice.spec.name;
  }
  return names;
}

std::vector<tailor_tensor> InputChoices::TensorsAt(const SymbolValues& shape) const {
  std::vector<tailor_tensor> tensors;
  for (const Choice& choice : choices_) {
    const std::vector<int64_t> dims = choice.given != nullptr ? choice.given->dims : DimsOf(choice.spec, shape);
    tailor_tensor& tensor = tensors.emplace_back();
    tailor_tensor_init(&tensor);
    tensor.data_bytes = ByteCount(choice.spec, dims);
    tensor.dtype = static_cast<int32_t>(choice.spec.dtype);
    tensor.rank = static_cast<int32_t>(dims.size());
    std::copy(dims.begin(), dims.end(), tensor.dims);
  }
  return tensors;
}

InputBuffers::InputBuffers(const InputChoices& choices, const std::vector<SymbolValues>& shapes)
    : choices_(choices), buffers_(choices.choices_.size()) {
  std::vector<size_t> most(buffers_.size());
  for (const SymbolValues& shape : shapes) {
    const std::vector<tailor_tensor> tensors = choices.TensorsAt(shape);
    for (size_t i = 0; i < most.size(); ++i) most[i] = std::max<size_t>(most[i], tensors[i].data_bytes);
  }
  for (size_t i = 0; i < most.size(); ++i) {
    const InputChoices::Choice& choice = choices.choices_[i];
    if (choice.given != nullptr) {
      buffers_[i] = choice.given->bytes;
      continue;
    }
    buffers_[i].resize(most[i]);
    FillRandom(choices.seed_, choice.spec.name, choice.spec.dtype, choice.range, buffers_[i]);
  }
}

std::vector<tailor_tensor> InputBuffers::At(const SymbolValues& shape) {
  std::vector<tailor_tensor> tensors = choices_.TensorsAt(shape);
  for (size_t i = 0; i < tensors.size(); ++i) tensors[i].data = buffers_[i].data();
  return tensors;
}

}  // namespace tailor

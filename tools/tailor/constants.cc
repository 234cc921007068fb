#include "tools/tailor/constants.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <vector>

#include "graph/element.h"
#include "tools/tailor/npz_file.h"

namespace tailor {
namespace {

constexpr size_t kNamed = 16;  // constants that a message names at most

std::string TypeText(DType dtype, const std::vector<int64_t>& dims) {
  std::string text;
  for (const int64_t dim : dims) text += (text.empty() ? "" : ", ") + std::to_string(dim);
  return NameOf(dtype) + ("[" + text + "]");
}

// splitmix64: the same numbers on every machine.
uint64_t NextRandom(uint64_t* state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// Floats uniform in [-1, 1), others 0 or 1. They depend only on seed and name, not on other constants.
void FillRandom(uint64_t seed, const std::string& name, DType dtype, size_t size, char* data) {
  uint64_t state = seed;
  for (const char c : name) state = NextRandom(&state) ^ static_cast<uint8_t>(c);
  for (size_t at = 0; at < size; at += SizeOf(dtype)) {
    const uint64_t bits = NextRandom(&state);
    const double value =
        IsFloat(dtype) ? static_cast<double>(bits >> 43) * 0x1p-20 - 1 : static_cast<double>(bits >> 63);
    ElementFromDouble(dtype, value, data + at);
  }
}

class Constants {
 public:
  explicit Constants(const CompileArguments& arguments) : arguments_(arguments) {
    if (!arguments.constants.empty()) file_ = std::make_unique<NpzFile>(arguments.constants);
  }

  // As tailor_parse_options.constant wants it; `self` keeps what went wrong.
  static int32_t Give(void* self, const char* name, size_t name_size, int32_t dtype, const int64_t* dims, size_t rank,
                      void* data, size_t size) noexcept {
    auto* constants = static_cast<Constants*>(self);
    try {
      constants->Fill({name, name_size}, static_cast<DType>(dtype), {dims, dims + rank}, static_cast<char*>(data),
                      size);
      return 0;
    } catch (...) {
      constants->failure_ = std::current_exception();
      return 1;
    }
  }

  void RethrowFailure() const {
    if (failure_) std::rethrow_exception(failure_);
  }

  void CheckComplete() const {
    if (missing_.empty()) return;
    std::string names;
    for (size_t i = 0; i < std::min(missing_.size(), kNamed); ++i) names += (i == 0 ? "" : ", ") + missing_[i];
    if (missing_.size() > kNamed) names += " and " + std::to_string(missing_.size() - kNamed) + " more";
    if (file_) throw std::runtime_error(arguments_.constants + " has no array for constants: " + names);
    throw std::runtime_error(arguments_.model.path + " does not hold the bytes of constants: " + names +
                             "; give them by --constants FILE.npz, or draw them by --random-constants SEED");
  }

 private:
  void Fill(const std::string& name, DType dtype, const std::vector<int64_t>& dims, char* data, size_t size) {
    if (arguments_.constants_seed) return FillRandom(*arguments_.constants_seed, name, dtype, size, data);
    if (!file_ || !file_->Has(name)) {
      if (std::find(missing_.begin(), missing_.end(), name) == missing_.end()) missing_.push_back(name);
      return;
    }
    const NamedTensor tensor = file_->Read(name);
    if (tensor.dtype != dtype || tensor.dims != dims) {
      throw std::runtime_error("constant " + name + " is " + TypeText(dtype, dims) + " in " + arguments_.model.path +
                               ", but " + TypeText(tensor.dtype, tensor.dims) + " in " + arguments_.constants);
    }
    if (size > 0) std::memcpy(data, tensor.bytes.data(), size);
  }

  const CompileArguments& arguments_;
  std::unique_ptr<NpzFile> file_;
  std::vector<std::string> missing_;
  std::exception_ptr failure_;
};

}  // namespace

GraphHandle ParseWithConstants(const std::string& text, const CompileArguments& arguments) {
  Constants constants(arguments);
  tailor_parse_options options;
  tailor_parse_options_init(&options);
  options.constant = Constants::Give;
  options.user = &constants;
  // Bytes that are missing are zeros until the whole text has been read, so that all of them are named.
  options.ignore_hashes = arguments.constants.empty();
  tailor_graph* parsed = nullptr;
  tailor_status* status = tailor_graph_parse_with(text.data(), text.size(), &options, &parsed);
  GraphHandle graph(parsed);
  try {
    constants.RethrowFailure();
    constants.CheckComplete();
  } catch (...) {
    tailor_status_release(status);
    throw;
  }
  Check(status);
  return graph;
}

}  // namespace tailor

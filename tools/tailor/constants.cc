#include "tools/tailor/constants.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <vector>

#include "tools/tailor/failures.h"
#include "tools/tailor/npz_file.h"
#include "tools/tailor/random_tensor.h"

namespace tailor {
namespace {

constexpr size_t kNamed = 16;  // constants that a message names at most

class Constants {
 public:
  explicit Constants(const ModelArguments& arguments) : arguments_(arguments) {
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
    if (file_) throw UsageError(arguments_.constants + " has no array for constants: " + names);
    throw UsageError(arguments_.path + " does not hold the bytes of constants: " + names +
                     "; give them by --constants FILE.npz, or draw them by --random-constants SEED");
  }

 private:
  void Fill(const std::string& name, DType dtype, const std::vector<int64_t>& dims, char* data, size_t size) {
    if (arguments_.constants_seed)
      return FillRandom(*arguments_.constants_seed, name, dtype, DefaultRange(dtype), {data, size});
    if (!file_ || !file_->Has(name)) {
      if (std::find(missing_.begin(), missing_.end(), name) == missing_.end()) missing_.push_back(name);
      return;
    }
    const NamedTensor tensor = file_->Read(name);
    if (tensor.dtype != dtype || tensor.dims != dims) {
      throw UsageError("constant " + name + " is " + TypeText(dtype, dims) + " in " + arguments_.path + ", but " +
                       tensor.type() + " in " + arguments_.constants);
    }
    if (size > 0) std::memcpy(data, tensor.bytes.data(), size);
  }

  const ModelArguments& arguments_;
  std::unique_ptr<NpzFile> file_;
  std::vector<std::string> missing_;
  std::exception_ptr failure_;
};

}  // namespace

GraphHandle ParseWithConstants(const std::string& text, const ModelArguments& arguments) {
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
  Check(status, arguments.path + ": ");
  return graph;
}

}  // namespace tailor

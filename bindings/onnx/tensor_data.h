// The constants of a model as arrays.
#ifndef TAILOR_BINDINGS_ONNX_TENSOR_DATA_H_
#define TAILOR_BINDINGS_ONNX_TENSOR_DATA_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "bindings/frontend/array.h"
#include "bindings/onnx/files.h"
#include "bindings/onnx/proto.h"

namespace tailor::onnx {

// Arrays share the memory of the model and of its external files where it is aligned to the elements.
class TensorData {
 public:
  // `model`: the bytes of the model's protos. `directory`: external data lies below it; none if nullopt.
  TensorData(MappedFile model, std::optional<std::string> directory)
      : model_(std::move(model)), directory_(std::move(directory)) {}

  // The elements; of narrow types as they travel (frontend/narrow.h). Fails for wrong sizes, unsupported types, and
  // external data outside of the directory.
  frontend::Array ArrayOf(const TensorProto& proto);

 private:
  frontend::Array OfBytes(DType dtype, std::vector<int64_t> shape, const MappedFile& part) const;
  frontend::Array OfFields(const TensorProto& proto, DType dtype) const;
  frontend::Array OfNarrow(const TensorProto& proto);
  MappedFile External(const TensorProto& proto, size_t size);
  const MappedFile& File(std::string_view location);

  MappedFile model_;
  std::optional<std::string> directory_;
  std::map<std::string, MappedFile, std::less<>> files_;
};

}  // namespace tailor::onnx

#endif  // TAILOR_BINDINGS_ONNX_TENSOR_DATA_H_

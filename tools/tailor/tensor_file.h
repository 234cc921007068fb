// Tensors of the command line: `name=2x3xf32=1,2,3,4,5,6`, `name=2x3xf32` (zeros), `name=@file.npy`, `name=@file.npz`
// (the file's array of that name), `name=@file.npz:array`, or `name=2x3xf32=@file`: the elements' bytes, little endian.
#ifndef TAILOR_TOOLS_TAILOR_TENSOR_FILE_H_
#define TAILOR_TOOLS_TAILOR_TENSOR_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "graph/dtype.h"

namespace tailor {

struct NamedTensor {
  std::string name;
  DType dtype = DType::kInvalid;
  std::vector<int64_t> dims;
  std::vector<char> bytes;  // dense row-major

  int64_t count() const;
  std::string type() const;  // "f32[2, 3]"
};

std::string TypeText(DType dtype, const std::vector<int64_t>& dims);

// Each throws UsageError or FileError.

NamedTensor ParseTensor(const std::string& argument);
// Tensors of `name=...` arguments, and of `@file.npz`: all arrays of the file.
std::vector<NamedTensor> ParseTensors(const std::vector<std::string>& arguments);
// `file` is the content of a .npy file; messages name it `path`.
NamedTensor ParseNpy(const std::string& file, const std::string& path);
void WriteNpy(const std::string& path, const NamedTensor& tensor);

// "2x3xf32=1,2,3,4,5,6"; after `limit` elements follows "...".
std::string TensorText(const NamedTensor& tensor, int64_t limit);

}  // namespace tailor

#endif  // TAILOR_TOOLS_TAILOR_TENSOR_FILE_H_

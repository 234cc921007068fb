// Graphs of the command line: an ONNX model, or a graph's text.
#ifndef TAILOR_TOOLS_TAILOR_MODEL_H_
#define TAILOR_TOOLS_TAILOR_MODEL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/handles.h"

namespace tailor {

struct ModelArguments {
  std::string path;               // an ONNX model if it ends in .onnx, else a graph's text
  std::vector<std::string> dims;  // of an ONNX model: name=N, name=MIN..MAX or name=EXPRESSION
  // Of an ONNX model, name=@file.npy or name=2xi64=1,2: inputs that always have this value.
  std::vector<std::string> fixed;
  std::vector<std::string> custom_domains;  // of an ONNX model: whose nodes are custom operators
  std::string constants;                    // .npz file of the bytes that a graph's text leaves out; empty: none
  std::optional<uint64_t> constants_seed;   // seed of random values for them
};

bool IsOnnx(const std::string& path);
// The graph of a model. Throws UsageError, FileError or StatusError.
GraphHandle LoadGraph(const ModelArguments& arguments);

}  // namespace tailor

#endif  // TAILOR_TOOLS_TAILOR_MODEL_H_

// Graphs of the command line: an ONNX model, or a graph's text.
#ifndef TAILOR_TOOLS_TAILOR_MODEL_H_
#define TAILOR_TOOLS_TAILOR_MODEL_H_

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
};

bool IsOnnx(const std::string& path);
// The graph of an ONNX model. Throws std::runtime_error with a message for the user.
GraphHandle LoadOnnx(const ModelArguments& arguments);

}  // namespace tailor

#endif  // TAILOR_TOOLS_TAILOR_MODEL_H_

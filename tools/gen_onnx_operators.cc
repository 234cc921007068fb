// Writes docs/onnx-operators.md from the operator table of libtailor_onnx.so.
#include "tailor/onnx.h"
#include "tools/generated_files.h"

int main(int argc, char** argv) {
  return tailor::WriteGenerated(argc, argv,
                                {{"docs/onnx-operators.md", [] { return std::string(tailor_onnx_operators()); }}});
}

// Compiles an ONNX model, runs it on f32 ones of dims [2, 4], and saves it: compile_onnx model.onnx model.tlr
#include <cstdio>
#include <vector>

#include "tailor/onnx.hpp"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    tailor::Graph graph = tailor::onnx::load(argv[1]).value();
    tailor::Executable executable = graph.compile().value();  // once, for all shapes
    executable.save(argv[2]).value();
    tailor::Session session = executable.session().value();
    const std::vector<float> ones(8, 1.0f);
    tailor::Outputs outputs = session.run({tailor::view(ones, {2, 4})}).value();
    for (float y : *outputs.get<float>(0)) std::printf("%g ", y);
  } catch (const tailor::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

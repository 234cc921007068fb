// Prints the inputs and outputs of an artifact, and runs it with every symbol N and inputs of ones: run_artifact FILE N
//
// Links libtailor_runtime alone.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tailor/runtime.hpp"

namespace {

void print(const char* kind, const tailor::TensorInfo& info) {
  std::printf("%s %s %s[", kind, info.name.c_str(), name_of(info.dtype).c_str());
  for (std::size_t i = 0; i < info.dims.size(); ++i) std::printf("%s%s", i > 0 ? ", " : "", info.dims[i].c_str());
  std::printf("]\n");
}

tailor::Result<void> run(const std::string& path, std::int64_t size) {
  tailor::Result<tailor::Executable> executable = tailor::Executable::load(path);
  if (!executable) return executable.error();
  std::vector<tailor::Tensor> inputs;
  std::vector<tailor::Shape> shapes;
  for (const tailor::TensorInfo& info : *executable->inputs()) {
    print("input ", info);
    std::vector<std::int64_t> dims = info.extents;
    for (std::int64_t& dim : dims) dim = dim < 0 ? size : dim;
    shapes.emplace_back(dims);
    tailor::Result<tailor::Tensor> input = tailor::Tensor::zeros(info.dtype, dims);
    if (!input) return input.error();
    if (auto elements = input->elements<float>()) {
      for (float& element : *elements) element = 1;
    }
    inputs.push_back(*std::move(input));
  }
  for (const tailor::TensorInfo& info : *executable->outputs()) print("output", info);

  tailor::Result<tailor::Plan> plan = executable->plan(shapes);
  if (!plan) return plan.error();
  std::printf("workspace %llu bytes\n", static_cast<unsigned long long>(plan->workspace_bytes));

  tailor::Session session = executable->session().value();
  const std::vector<tailor::ConstTensorView> views(inputs.begin(), inputs.end());
  tailor::Result<tailor::Outputs> outputs = session.run(views);
  if (!outputs) return outputs.error();
  tailor::Result<tailor::Span<const float>> first = outputs->get<float>(0);
  if (!first) return first.error();
  std::printf("first output %s:", outputs->shape(0)->text().c_str());
  for (float element : *first) std::printf(" %g", element);
  std::printf("\n");
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: run_artifact FILE N\n");
    return 2;
  }
  tailor::Result<void> done = run(argv[1], std::atoll(argv[2]));
  if (!done) std::fprintf(stderr, "run_artifact: %s\n", done.error().what());
  return done ? 0 : 1;
}

// Builds a graph, compiles it once for every batch, and runs it at two batches.
#include <cstdio>
#include <vector>

#include "tailor/tailor.hpp"

int main() {
  tailor::Graph graph("scale");
  tailor::Dim batch = graph.symbol("batch");
  tailor::Value x = graph.input("x", tailor::DType::kF32, {batch, 4});
  graph.output("y", (x * 2.0f).softmax(-1));

  tailor::Result<tailor::Executable> executable = graph.compile();  // once, for every batch
  if (!executable) {
    std::fprintf(stderr, "%s\n", executable.error().what());
    return 1;
  }
  tailor::Session session = executable->session().value();
  for (int rows : {1, 2}) {
    std::vector<float> rows_of_x = {0, 1, 2, 3, 1, 1, 1, 1};
    rows_of_x.resize(4 * rows);
    tailor::Outputs outputs = session.run({tailor::view(rows_of_x, {rows, 4})}).value();
    std::printf("%s:", outputs.shape(0)->text().c_str());
    for (float y : *outputs.get<float>("y")) std::printf(" %.3f", y);
    std::printf("\n");
  }
}

// tailor-measure: a cost profile of the machine it runs on, from a kernel pack. It links no compiler.
//
//   tailor-measure kernels.pack -o machine.profile
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "tools/tune/measure_kernels.h"

int main(int argc, char** argv) {
  CLI::App app("Measures what tiles of matmuls cost on this machine", "tailor-measure");
  std::string path;
  tailor::tune::ProfileArguments profile;
  app.add_option("pack", path, "what `tailor tune pack` wrote")->required();
  app.add_option("-o,--output", profile.output, "where to write the profile");
  app.add_option("--keep", profile.keep, "keep this many micro-kernels, by rank; default: all");
  app.add_option("--passes", profile.passes, "passes over all micro-kernels; more of them reduce noise");

  CLI11_PARSE(app, argc, argv);
  try {
    std::ifstream in(path, std::ios::binary);
    if (!in.is_open()) throw std::runtime_error("cannot read " + path);
    const std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    tailor::tune::ProfileKernels(tailor::tune::ParseKernelPack(bytes), profile);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "tailor-measure: %s\n", failure.what());
    return 1;
  }
  return 0;
}

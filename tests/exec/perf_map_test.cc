#include "exec/perf_map.h"

#include <gtest/gtest.h>

#include "tests/support/sample_program.h"

namespace tailor {
namespace {

TEST(PerfMap, ListsTheFunctionsOfAnImage) {
  Program program = SampleProgram();
  program.provenance.graph_name = "g";
  Variant& variant = program.variants[0];
  const std::vector<std::byte> image(0x300);
  variant.image = image;
  variant.launches = {{"k0_exp", {}, {}, 0}, {"k1_softmax", {}, {}, 1}, {"k1_again", {}, {}, 1}};
  variant.code_symbols = {{0, 1, 0},
                          {0x40, 1, 2},
                          {0x100, 0, -1},
                          {0x200, CodeSymbol::kHostProgram, -1},
                          {0x280, CodeSymbol::kMicroKernel, -1},
                          {0x2c0, CodeSymbol::kRowsOfChains, -1}};
  EXPECT_EQ(PerfMapLines(program, variant, 0x1000),
            "1000 40 g: k1_softmax v0\n"
            "1040 c0 g: k1_softmax v2\n"
            "1100 100 g: k0_exp\n"
            "1200 80 g: host program\n"
            "1280 40 g: micro-kernel\n"
            "12c0 40 g: rows of chains\n");
}

TEST(PerfMap, LeavesOutWhatTheImageDoesNotHave) {
  Program program = SampleProgram();
  Variant& variant = program.variants[0];
  const std::vector<std::byte> image(0x100);
  variant.image = image;
  variant.code_symbols = {{0x80, 0, 0}, {0x40, 7, 0}, {UINT64_MAX, 0, 0}};
  EXPECT_EQ(PerfMapLines(program, variant, 0), "");
}

}  // namespace
}  // namespace tailor

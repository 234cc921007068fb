#include "exec/describe.h"

#include <gtest/gtest.h>

#include "tests/support/sample_program.h"

namespace tailor {
namespace {

TEST(Describe, WritesTheWholeProgram) {
  Program program = SampleProgram();
  program.variants[0].image = program.variants[0].image.first(64);
  EXPECT_EQ(
      DescribeAsJson(program, &program.variants[0], 1000, "0f2a"),
      R"({"symbols": [{"name": "N", "min": 0, "max": 1048576, "multiple_of": 1, "likely": [16]}], )"
      R"("inputs": [{"name": "x", "dtype": "f32", "dims": ["N", "4"]}, )"
      R"({"name": "mask", "dtype": "f32", "dims": ["N"]}], )"
      R"("outputs": [{"name": "y", "dtype": "f32", "dims": ["N", "4"]}, )"
      R"({"name": "total", "dtype": "f32", "dims": ["N"]}], )"
      R"("facts": ["N in [0, 1048576]"], "visits": [{"pass": "analyse facts", "visits": 12}, )"
      R"({"pass": "fuse stitch", "visits": 7}], )"
      R"("checks": [{"message": "input \"x\" dim 1 is {lhs}, expected 4", "node": "scaled"}, )"
      R"({"message": "input \"mask\" dim 0 is {lhs}, but N is {rhs} from input \"x\" dim 0", "node": "masked"}, )"
      R"({"message": "N is {lhs}, above its largest value 1048576", "node": ""}], )"
      R"("constants": [{"name": "scale", "dtype": "f32", "dims": [4], "layout": "row_major", "bytes": 16}], )"
      R"("variants": [{"target": "x86-64", "in_use": true, "features": ["sse2"], "image_bytes": 64, )"
      R"("shape_cache_slots": 2, "growable_blocks": 1, "launches": [{"kernel": "sum_rows", "versions": ["always"], )"
      R"("code": 0, "code_bytes": 96}, {"kernel": "negate", "versions": ["always"], )"
      R"j("dropped": ["d0 >= 2 (more than 1 version)"], "code": 1, "code_bytes": 64}]}], )j"
      R"("provenance": {"tailor_version": "0.1.0", "llvm_version": "none", "graph_name": "sample", )"
      R"("graph_hash": "000000000000002a", "options": "targets=x86-64"}, )"
      R"("artifact_bytes": 1000, "constant_bytes": 16, "constants_hash": "0f2a", "flush_denormals": false})");
}

TEST(Describe, NamesEveryLayout) {
  const auto described = [](ConstantLayout layout) {
    Program program = SampleProgram();
    program.constants[0].layout = layout;
    const std::string json = DescribeAsJson(program, &program.variants[0], 0, "");
    const std::string key = R"("layout": ")";
    const size_t begin = json.find(key) + key.size();
    return json.substr(begin, json.find('"', begin) - begin);
  };
  EXPECT_EQ(described(ConstantLayout::kRowMajor), "row_major");
  EXPECT_EQ(described(ConstantLayout::kPanels16), "panels16");
  EXPECT_EQ(described(ConstantLayout::kWordPanels16), "word_panels16");
  EXPECT_EQ(described(ConstantLayout::kWinogradPanels16), "winograd_panels16");
}

TEST(Describe, SaysWhichMemoryAnOutputTakes) {
  Program program = SampleProgram();
  program.inputs[0].donated = true;
  program.outputs[0].memory_of = 0;
  const std::string json = DescribeAsJson(program, &program.variants[0], 0, "");
  EXPECT_NE(json.find(R"({"name": "x", "dtype": "f32", "dims": ["N", "4"], "donated": true})"), std::string::npos);
  EXPECT_NE(json.find(R"({"name": "y", "dtype": "f32", "dims": ["N", "4"], "memory_of": "x"})"), std::string::npos);
}

TEST(Describe, ListsWhatADeviceRuns) {
  Program program = SampleProgram();
  program.variants = {SampleDeviceVariant()};
  const std::string json = DescribeAsJson(program, &program.variants[0], 0, "");
  EXPECT_NE(
      json.find(R"("device_images": [{"target": "sm_90", "kind": "cubin", "bytes": 71}, )"
                R"({"target": "sm_80", "kind": "ptx", "bytes": 13}, {"target": "simt", "kind": "ir", "bytes": 4}], )"
                R"("device_kernels": [{"symbol": "k0_v0", "threads": 256, "parameters": 5}, )"
                R"({"symbol": "k1_v0", "threads": 32, "parameters": 0}], )"),
      std::string::npos)
      << json;
}

TEST(Describe, EscapesText) {
  Program program = SampleProgram();
  program.facts = {"a\\b\n\x01\"ü"};
  const std::string json = DescribeAsJson(program, &program.variants[0], 0, "");
  EXPECT_NE(json.find(R"("facts": ["a\\b\u000a\u0001\"ü"])"), std::string::npos) << json;
}

}  // namespace
}  // namespace tailor

// tailor-gpu: what is tested and measured on a GPU, in one program that holds Tailor and LLVM, so that it runs where
// there is nothing but a driver.
//
//   tailor-gpu version             whether the program starts
//   tailor-gpu device              what the first GPU is, as JSON, or why there is none
//   tailor-gpu test [GTEST FLAGS]  the tests of devices, every op, random graphs
//   tailor-gpu cases FILE [I/N]    cases of the ONNX suite, every N-th from the I-th on
//   tailor-gpu measure NAME...     each in turn (tests/gpu/measure/measurement.h), a line of JSON for each
//
// Tests and cases take the first GPU, or what TAILOR_TEST_DEVICE names (tests/support/device.h).
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tailor/runtime.h"
#include "tests/gpu/device_report.h"
#include "tests/gpu/measure/measurement.h"
#include "tests/gpu/run_cases.h"

namespace tailor {
namespace {

// What gzip made the file of; "" where it cannot be read.
std::string Unzipped(const char* path) {
  std::string bytes;
  gzFile file = gzopen(path, "rb");
  char buffer[1 << 16];
  for (int n; file != nullptr && (n = gzread(file, buffer, sizeof buffer)) > 0;) bytes.append(buffer, n);
  if (file != nullptr) gzclose(file);
  return bytes;
}

int Cases(const char* path, const char* slice) {
  const std::string bytes = Unzipped(path);
  auto read = ReadNodeCases(bytes);
  size_t first = 0, step = 1;
  if (!read.ok() || bytes.empty() || std::sscanf(slice, "%zu/%zu", &first, &step) != 2 || step == 0) {
    std::fprintf(stderr, "%s: %s\n", path, read.ok() ? "no cases" : std::string(read.status().message()).c_str());
    return 1;
  }
  std::vector<NodeCase> chosen;
  for (size_t i = first; i < read->size(); i += step) chosen.push_back(std::move((*read)[i]));
  const auto devices = DevicesUnderTest();
  int failed = 0;
  RunCases(chosen, *devices.front(), [&](size_t number, const std::string& reason) {
    if (reason.empty()) return;
    ++failed;
    std::printf("failed %s: %s\n", chosen[number].name.c_str(), reason.c_str());
  });
  std::printf("%d passed, %d failed\n", static_cast<int>(chosen.size()) - failed, failed);
  return failed != 0;
}

int MeasureAll(int count, char** names) {
  for (int i = 0; i < count; ++i) {
    std::printf("%s\n", bench::Measure(names[i]).c_str());
    std::fflush(stdout);
  }
  return 0;
}

int Test(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

int Main(int argc, char** argv) {
  const char* verb = argc > 1 ? argv[1] : "";
  setenv("TAILOR_TEST_DEVICE", "cuda", /*overwrite=*/0);
  if (std::strcmp(verb, "test") == 0) return Test(argc - 1, argv + 1);
  if (std::strcmp(verb, "measure") == 0) return MeasureAll(argc - 2, argv + 2);
  if (std::strcmp(verb, "cases") == 0 && argc > 2) return Cases(argv[2], argc > 3 ? argv[3] : "0/1");
  if (std::strcmp(verb, "version") == 0) return std::printf("%s\n%s\n", tailor_version(), tailor_cpu_features()) < 0;
  if (std::strcmp(verb, "device") == 0) {
    std::printf("%s\n", DeviceReport().c_str());
    return 0;
  }
  std::fprintf(stderr, "tailor-gpu version | device | test [GTEST FLAGS] | cases FILE [I/N] | measure NAME...\n");
  return 2;
}

}  // namespace
}  // namespace tailor

int main(int argc, char** argv) { return tailor::Main(argc, argv); }

// Mutated models through the loader: each gives a graph, or an error that says what is wrong.
//
// Models: the .onnx files of at most 200 kB below TAILOR_MODELS (separated by ":"), TAILOR_MUTATIONS of them (default
// 2000), from the seed TAILOR_MUTATION_SEED (default: the day). Accepted ones are written to TAILOR_ACCEPTED, if set.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "tailor/onnx.h"
#include "tests/onnx/mutated_model.h"

namespace tailor {
namespace {

constexpr uintmax_t kLargestModel = 200'000;

std::string Environment(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  std::istringstream folders(Environment("TAILOR_MODELS", TAILOR_TEST_MODELS));
  std::string folder;
  while (std::getline(folders, folder, ':')) {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (entry.path().extension() == ".onnx" && entry.file_size() <= kLargestModel) paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
    for (const auto& path : paths) {
      std::ifstream in(path, std::ios::binary);
      seeds.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    }
  }
  return seeds;
}

// Whether the loader accepts the model; failures have a code and a message.
bool Accepts(const std::string& model) {
  tailor_graph* graph = nullptr;
  tailor_status* status = tailor_onnx_load_memory(model.data(), model.size(), nullptr, nullptr, nullptr, &graph);
  if (status == nullptr) {
    tailor_graph_release(graph);
    return true;
  }
  const int32_t code = tailor_status_code(status);
  EXPECT_TRUE(code == TAILOR_INVALID_ARGUMENT || code == TAILOR_UNIMPLEMENTED || code == TAILOR_RESOURCE_EXHAUSTED)
      << code << ": " << tailor_status_message(status);
  EXPECT_STRNE(tailor_status_message(status), "");
  tailor_status_release(status);
  return false;
}

TEST(MutatedModels, AreGraphsOrErrors) {
  const std::vector<std::string> seeds = Seeds();
  ASSERT_FALSE(seeds.empty()) << "no model below " << Environment("TAILOR_MODELS", TAILOR_TEST_MODELS);
  const auto day = std::chrono::duration_cast<std::chrono::hours>(std::chrono::system_clock::now().time_since_epoch());
  const std::string seed = Environment("TAILOR_MUTATION_SEED", std::to_string(day.count() / 24));
  const std::string accepted_folder = Environment("TAILOR_ACCEPTED", "");
  const int count = std::stoi(Environment("TAILOR_MUTATIONS", "2000"));
  std::mt19937_64 random(std::stoull(seed));
  int accepted = 0;
  for (int i = 0; i < count; ++i) {
    const std::string model = MutatedModel(seeds, random);
    SCOPED_TRACE("mutation " + std::to_string(i) + " of seed " + seed);
    if (const char* last = std::getenv("TAILOR_LAST_MODEL")) std::ofstream(last, std::ios::binary) << model;
    if (!Accepts(model)) continue;
    ++accepted;
    if (accepted_folder.empty()) continue;
    std::ofstream(accepted_folder + "/" + std::to_string(i) + ".onnx", std::ios::binary) << model;
  }
  std::printf("%d of %d mutations of %zu models accepted, seed %s\n", accepted, count, seeds.size(), seed.c_str());
  EXPECT_GT(accepted, count / 100) << "mutations that are always refused test little";
}

}  // namespace
}  // namespace tailor

// Mutated models through the loader: each gives a graph, or an error that says what is wrong.
//
// Models: the .onnx files of at most 200 kB below TAILOR_MODELS (separated by ":"), TAILOR_MUTATIONS of them (default
// 2000), from the seed TAILOR_MUTATION_SEED (default: the day). Accepted ones are written to the folder
// TAILOR_ACCEPTED, and a line for each refused one to the file TAILOR_REFUSED, if set. TAILOR_LAST_MODEL: a file that
// holds each model while it is loaded, for models that end the process.
#include <gtest/gtest.h>

#include <algorithm>
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
#include "tools/handles.h"

namespace tailor {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uintmax_t kLargestModel = 200'000;
constexpr double kMostSeconds = 10;  // to load one; with sanitizers on a busy machine

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

// Whether a message that names no node, input, output or initializer is about the model as a whole.
bool IsOfModel(const std::string& message) {
  static constexpr const char* kBeginnings[] = {"not an ONNX model: ",
                                                "no node computes the output ",
                                                "opset ",
                                                "the model's graph has no output",
                                                "graphs nest deeper than ",
                                                "tailor_graph_create: name ",
                                                "sparse initializers "};
  return std::any_of(std::begin(kBeginnings), std::end(kBeginnings),
                     [&](const char* beginning) { return message.starts_with(beginning); });
}

std::string OneLine(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// The loader's status for the model; a graph is released. Failures have a code and a message, which starts with the
// node.
StatusHandle Loaded(const std::string& model) {
  tailor_graph* graph = nullptr;
  StatusHandle status(tailor_onnx_load_memory(model.data(), model.size(), nullptr, nullptr, nullptr, &graph));
  if (status == nullptr) {
    tailor_graph_release(graph);
    return status;
  }
  const int32_t code = tailor_status_code(status.get());
  const std::string message = tailor_status_message(status.get()), node = tailor_status_node(status.get());
  EXPECT_TRUE(code == TAILOR_INVALID_ARGUMENT || code == TAILOR_UNIMPLEMENTED || code == TAILOR_RESOURCE_EXHAUSTED)
      << code << ": " << message;
  if (node.empty()) {
    EXPECT_TRUE(IsOfModel(message)) << message;
  } else {
    EXPECT_EQ(message.substr(0, node.size() + 2), node + ": ");
    EXPECT_GT(message.size(), node.size() + 2);
  }
  return status;
}

TEST(MutatedModels, AreGraphsOrErrors) {
  const std::vector<std::string> seeds = Seeds();
  ASSERT_FALSE(seeds.empty()) << "no model below " << Environment("TAILOR_MODELS", TAILOR_TEST_MODELS);
  const auto day = std::chrono::duration_cast<std::chrono::hours>(std::chrono::system_clock::now().time_since_epoch());
  const std::string seed = Environment("TAILOR_MUTATION_SEED", std::to_string(day.count() / 24));
  const std::string accepted_folder = Environment("TAILOR_ACCEPTED", "");
  const int count = std::stoi(Environment("TAILOR_MUTATIONS", "2000"));
  std::ofstream refused(Environment("TAILOR_REFUSED", ""));  // "" opens none
  std::mt19937_64 random(std::stoull(seed));
  int accepted = 0;
  for (int i = 0; i < count; ++i) {
    const std::string model = MutatedModel(seeds, random);
    SCOPED_TRACE("mutation " + std::to_string(i) + " of seed " + seed);
    if (const char* last = std::getenv("TAILOR_LAST_MODEL")) std::ofstream(last, std::ios::binary) << model;
    const Clock::time_point start = Clock::now();
    const StatusHandle status = Loaded(model);
    EXPECT_LT(std::chrono::duration<double>(Clock::now() - start).count(), kMostSeconds);
    if (status != nullptr) {
      refused << i << '\t' << tailor_status_code(status.get()) << '\t' << OneLine(tailor_status_node(status.get()))
              << '\t' << OneLine(tailor_status_message(status.get())) << '\n';
      continue;
    }
    ++accepted;
    if (accepted_folder.empty()) continue;
    std::ofstream(accepted_folder + "/" + std::to_string(i) + ".onnx", std::ios::binary) << model;
  }
  std::printf("%d of %d mutations of %zu models accepted, seed %s\n", accepted, count, seeds.size(), seed.c_str());
  EXPECT_GT(accepted, count / 100) << "mutations that are always refused test little";
}

}  // namespace
}  // namespace tailor

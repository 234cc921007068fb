// The verbs of the command line tool. Each prints to stdout, and throws std::runtime_error with a message for the user.
#ifndef TAILOR_TOOLS_TAILOR_COMMANDS_H_
#define TAILOR_TOOLS_TAILOR_COMMANDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/tailor/model.h"

namespace tailor {

struct InspectArguments {
  std::string artifact;
  bool json = false;
};

struct RunArguments {
  std::string artifact;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  uint64_t threads = 1;
  std::string provider;         // provider_library.h, or "cublaslt"; empty: none
  std::string provider_choice;  // file; empty: all matmuls
  std::string device = "cpu";   // or "cuda", "cuda:1"
};

struct CompileArguments {
  ModelArguments model;
  std::string artifact;  // empty: the model's path with .tlr
  std::vector<std::string> targets;
  std::vector<std::string> donated;
  std::string constants;                   // .npz file of the bytes that a graph's text leaves out; empty: none
  std::optional<uint64_t> constants_seed;  // seed of random values for them
  uint64_t max_versions = 0;               // 0: the default
  bool offer_products = false;
  bool allow_tf32 = false;
  bool direct_convolutions = false;
  uint64_t memory_limit = 0;  // bytes; 0: none
  bool isolated = false;
};

struct TuneArguments {
  std::vector<std::string> arguments;
};

void Inspect(const InspectArguments& arguments);
void Run(const RunArguments& arguments);
// Prints the devices that executables can run on, and why there is no GPU.
void Devices();
void Compile(const CompileArguments& arguments);
// Prints the text of a model's graph, or the facts about its dims.
void PrintText(const ModelArguments& model);
void PrintFacts(const ModelArguments& model);
// Replaces the process by tailor-tune, which lies beside the tool: it compiles in ways that the C API does not offer.
void Tune(const TuneArguments& arguments);

}  // namespace tailor

#endif  // TAILOR_TOOLS_TAILOR_COMMANDS_H_

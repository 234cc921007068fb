// The commands of the command line tool and their arguments. A command prints its result to stdout, as one JSON object
// where `json` is set, and returns the exit code. It throws UsageError, FileError, StatusError or InterruptedError
// (failures.h).
#ifndef TAILOR_TOOLS_TAILOR_COMMANDS_H_
#define TAILOR_TOOLS_TAILOR_COMMANDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/tailor/inputs.h"
#include "tools/tailor/loaded_model.h"
#include "tools/tailor/model.h"

namespace tailor {

struct InspectArguments {
  std::string artifact;
  bool json = false;
};

struct RunArguments {
  LoadArguments load;
  InputArguments input;
  std::vector<std::string> outputs;   // name=@file.npy
  std::vector<std::string> expected;  // name=..., as inputs
  double rtol = 1e-4, atol = 1e-5;
  uint64_t threads = 1;
  int64_t values = -1;  // elements of each output to print; negative: statistics
  std::string trace;    // file; empty: none
  bool json = false;
};

struct BenchArguments {
  LoadArguments load;
  InputArguments input;
  std::string compared;      // a second model; empty: none
  uint64_t random_dims = 0;  // shapes to draw; 0: every combination of the lists
  double seconds = 3;        // of timed runs, per model
  uint64_t warmup = 1;       // untimed runs of each shape
  uint64_t callers = 1;
  uint64_t threads = 1;  // per caller
  std::string items;     // symbol that counts the items of a run; empty: the first dim of the first input
  std::string trace;     // file; empty: none
  uint64_t traced = 20;  // shapes to trace, at most
  bool json = false;
};

struct CompileArguments {
  ModelArguments model;
  std::string artifact;  // empty: the model's path with .tlr
  std::vector<std::string> targets;
  std::vector<std::string> donated, without;
  uint64_t max_versions = 0;  // 0: the default
  uint64_t threads = 0;       // 0: tailor_usable_cpus()
  bool offer_products = false;
  bool allow_tf32 = false;
  bool direct_convolutions = false;
  uint64_t memory_limit = 0;  // bytes; 0: none
  bool isolated = false;
  int64_t optimize = 1;
  std::string cost_profile;  // file; empty: the built-in profiles
  std::string denormals = "auto";
  std::string key;  // file of the secret key to sign with; empty: unsigned
  bool progress = false;
  bool json = false;
};

struct PrintArguments {
  ModelArguments model;
  bool json = false;
};

struct DevicesArguments {
  bool json = false;
};

struct KeygenArguments {
  std::string path = "tailor.key";  // the public key has .pub in place of the extension
  bool force = false;
  bool json = false;
};

struct SignArguments {
  std::string artifact;
  std::string key;
  std::string output;  // empty: `artifact` itself
  bool json = false;
};

struct VerifyArguments {
  std::string artifact;
  std::string public_key;  // file or 64 hex digits; empty: hashes alone
  bool json = false;
};

int Inspect(const InspectArguments& arguments);
int Run(const RunArguments& arguments);
int Bench(const BenchArguments& arguments);
int Devices(const DevicesArguments& arguments);
int Compile(const CompileArguments& arguments);
// The text of a model's graph, or the facts about its dims.
int PrintText(const PrintArguments& arguments);
int PrintFacts(const PrintArguments& arguments);
int Keygen(const KeygenArguments& arguments);
int Sign(const SignArguments& arguments);
int Verify(const VerifyArguments& arguments);
// Replaces the process by tailor-tune, which lies beside the tool: it compiles in ways that the C API does not offer.
int Tune(const std::vector<std::string>& arguments);

}  // namespace tailor

#endif  // TAILOR_TOOLS_TAILOR_COMMANDS_H_

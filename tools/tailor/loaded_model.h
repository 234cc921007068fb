// An executable of the command line: an artifact, or a model that is compiled in memory.
#ifndef TAILOR_TOOLS_TAILOR_LOADED_MODEL_H_
#define TAILOR_TOOLS_TAILOR_LOADED_MODEL_H_

#include <string>

#include "tools/handles.h"
#include "tools/tailor/model.h"
#include "tools/tailor/signature.h"

namespace tailor {

struct LoadArguments {
  ModelArguments model;         // or an artifact
  std::string device = "cpu";   // or "cuda", "cuda:1"
  std::string target;           // variant of an artifact, or target to compile for; empty: the best here
  std::string provider;         // provider_library.h, or "cublaslt"; empty: none
  std::string provider_choice;  // file; empty: all matmuls
  std::string cost_profile;     // file, of this machine; empty: the artifact's, or the built-in ones
  std::string public_key;       // of artifacts: file or hex digits; empty: not verified
};

struct LoadedModel {
  std::string path;
  ExecutableHandle executable;
  ModelSignature signature;
  bool compiled = false;  // in memory
  double seconds = 0;     // of loading, compilation included
};

RuntimeHandle MakeRuntime(const LoadArguments& arguments);

// Loads arguments.model.path with `runtime`. Shows the progress of a compilation on a terminal.
LoadedModel LoadModel(const LoadArguments& arguments, const tailor_runtime* runtime);

}  // namespace tailor

#endif  // TAILOR_TOOLS_TAILOR_LOADED_MODEL_H_

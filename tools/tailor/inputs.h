// Inputs of runs: tensors that the command line gives, and random ones.
#ifndef TAILOR_TOOLS_TAILOR_INPUTS_H_
#define TAILOR_TOOLS_TAILOR_INPUTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tools/tailor/dim_choices.h"
#include "tools/tailor/random_tensor.h"
#include "tools/tailor/signature.h"
#include "tools/tailor/tensor_file.h"

namespace tailor {

struct InputArguments {
  std::vector<std::string> tensors;  // tensor_file.h; inputs without one are random
  std::vector<std::string> more;     // further ones
  std::vector<std::string> dims;     // dim_choices.h
  std::vector<std::string> ranges;   // LOW:HIGH or NAME=LOW:HIGH of random inputs
  uint64_t seed = 0;
};

// What to draw or take for each input, in signature order. Immutable.
class InputChoices {
 public:
  // UsageError for an unknown or repeated name, or a range that the input's dtype cannot hold.
  InputChoices(const InputArguments& arguments, const ModelSignature& signature);

  // The --dims of the arguments, and the sizes that given tensors have. UsageError where they contradict.
  std::vector<DimChoice> Dims() const;
  // The random inputs of integers whose range is the default, for messages: "ids, mask".
  std::string IntegersByDefault() const;
  // The inputs at `shape`, without data.
  std::vector<tailor_tensor> TensorsAt(const SymbolValues& shape) const;

 private:
  friend class InputBuffers;

  struct Choice {
    TensorSpec spec;
    const NamedTensor* given;  // or null
    ValueRange range;
    bool range_given;
  };

  void ReadTensors(const InputArguments& arguments);
  void ReadRanges(const InputArguments& arguments);
  Choice& Find(const std::string& name, const std::string& where);

  std::map<std::string, NamedTensor> given_;
  std::vector<Choice> choices_;
  std::vector<DimChoice> dims_;
  uint64_t seed_;
};

// Memory of inputs for several shapes: one buffer per input, whose beginning every shape uses. Runs write only donated
// inputs; a copy has buffers of its own. The choices must outlive it.
class InputBuffers {
 public:
  InputBuffers(const InputChoices& choices, const std::vector<SymbolValues>& shapes);

  std::vector<tailor_tensor> At(const SymbolValues& shape);

 private:
  const InputChoices& choices_;
  std::vector<std::vector<char>> buffers_;
};

}  // namespace tailor

#endif  // TAILOR_TOOLS_TAILOR_INPUTS_H_

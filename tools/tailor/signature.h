// What a program takes and returns, as its description says.
#ifndef TAILOR_TOOLS_TAILOR_SIGNATURE_H_
#define TAILOR_TOOLS_TAILOR_SIGNATURE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/dtype.h"
#include "tailor/runtime.h"

namespace tailor {

struct TensorSpec {
  std::string name;
  DType dtype;
  std::vector<std::string> dims;  // "B", "2*S + 1", "384"
  bool donated;                   // runs may write the input's memory
};

struct SymbolSpec {
  std::string name;
  int64_t min, max, multiple_of;
  std::vector<int64_t> likely;
};

struct LaunchSpec {
  std::string kernel;
  std::vector<std::string> versions;  // the guard of each
};

using SymbolValues = std::map<std::string, int64_t>;

struct ModelSignature {
  std::vector<TensorSpec> inputs, outputs;
  std::vector<SymbolSpec> symbols;  // those in dims of inputs
  std::vector<LaunchSpec> launches;
  std::string target;  // of the variant in use
  int64_t artifact_bytes, constant_bytes;

  const SymbolSpec* Find(const std::string& symbol) const;
  // UsageError, beginning with `where`, for an unknown symbol or a size that is not in its range.
  const SymbolSpec& CheckSymbol(const std::string& symbol, const std::string& where) const;
};

ModelSignature SignatureOf(const tailor_executable* executable);

// UsageError, beginning with `where`, if `value` is out of range or no multiple.
void CheckSize(const SymbolSpec& symbol, int64_t value, const std::string& where);
// A size for a symbol of which nothing is said: the first likely one, or the smallest that is no 0.
int64_t DefaultSize(const SymbolSpec& symbol);

// Sizes of an input's dims; UsageError if one overflows or is negative. Requires values for all its symbols.
std::vector<int64_t> DimsOf(const TensorSpec& tensor, const SymbolValues& values);

// "B=2, S=128".
std::string Text(const SymbolValues& values);

}  // namespace tailor

#endif  // TAILOR_TOOLS_TAILOR_SIGNATURE_H_

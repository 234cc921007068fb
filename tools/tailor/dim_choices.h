// Sizes of symbols on the command line: `B=2,S=128`, lists `S=16,32,64`, ranges `B=1..8`.
#ifndef TAILOR_TOOLS_TAILOR_DIM_CHOICES_H_
#define TAILOR_TOOLS_TAILOR_DIM_CHOICES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/tailor/signature.h"

namespace tailor {

struct SizeRange {
  int64_t low, high;  // both included
};

struct DimChoice {
  std::string symbol;
  std::vector<SizeRange> sizes;  // any of them
  std::string where = "--dims";  // for messages: what chose them

  bool IsList() const;  // no range is among them
};

// The --dims arguments. UsageError for a malformed one, or a symbol that is repeated.
std::vector<DimChoice> ParseDimChoices(const std::vector<std::string>& arguments);

// UsageError for a symbol with several sizes.
void RequireSingleSizes(const std::vector<DimChoice>& choices);

// `count` assignments of sizes, drawn by `seed`: each symbol uniformly from its choice, in its range and multiples.
// With a count of 0 every combination, for which choices must be lists. Symbols without a choice have their default
// size. UsageError for unknown symbols, sizes out of range, or too many combinations.
std::vector<SymbolValues> DrawSizes(const std::vector<DimChoice>& choices, const ModelSignature& signature,
                                    uint64_t count, uint64_t seed);

}  // namespace tailor

#endif  // TAILOR_TOOLS_TAILOR_DIM_CHOICES_H_

// Graphs of attention, their inputs, and what they give in double precision.
#ifndef TAILOR_TESTS_CODEGEN_LOWER_ATTENTION_CASE_H_
#define TAILOR_TESTS_CODEGEN_LOWER_ATTENTION_CASE_H_

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/device.h"

namespace tailor::lower {

struct AttentionCase {
  enum class Mask { kNone, kCausal, kLengths, kAdditive, kBoolean };
  enum class Layout { kHeadsFirst, kHeadsInside, kKeysTransposed };
  DType dtype = DType::kF32;
  int64_t depth = 64, columns = 64;
  Mask mask = Mask::kNone;
  Layout layout = Layout::kHeadsFirst;
  double never = -std::numeric_limits<double>::infinity();  // the score of keys that are not seen
};

constexpr int64_t kAttentionHeads = 2;

// Symbols: B, S query rows, N keys, at least S where the mask is causal. Inputs q, k, v, then a mask: an additive one
// [B, 1, 1, N], a boolean one [B, 1, S, N], or how many keys are seen, i32[B, 1, 1, 1]. `y` is [B, S, heads * columns].
std::string AttentionGraph(const AttentionCase& form);

struct AttentionSizes {
  int64_t b, s, n;
  int64_t masked_rows =
      0;  // the last so many of these see no key (kBoolean); batch index 0 sees none (kAdditive, kLengths, != 0)
};

// What a run takes, and what it is to give: scores rounded as the graph asks, all else in double precision.
struct AttentionValues {
  std::vector<HostTensor> inputs;
  std::vector<double> expected;
};
AttentionValues MakeAttentionValues(const AttentionCase& form, const AttentionSizes& sizes);

// Numbers between -2 and 2.
HostTensor RandomTensor(DType dtype, std::vector<int64_t> dims, uint32_t seed);
std::vector<double> ToDoubles(const HostTensor& tensor);

}  // namespace tailor::lower

#endif  // TAILOR_TESTS_CODEGEN_LOWER_ATTENTION_CASE_H_

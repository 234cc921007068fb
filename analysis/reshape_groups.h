// Correspondence of a reshape's dims: the finest list of groups of adjacent dims whose products are provably equal
// (product equality, BladeDISC 3.1). [B, S, 384] -> [B, S, 12, 32] gives {B | B} {S | S} {384 | 12, 32}.
#ifndef TAILOR_ANALYSIS_RESHAPE_GROUPS_H_
#define TAILOR_ANALYSIS_RESHAPE_GROUPS_H_

#include <vector>

#include "absl/types/span.h"
#include "analysis/shape_facts.h"

namespace tailor {

// Dims [from_begin, from_end) of the operand hold the same elements as dims [to_begin, to_end) of the result. Size-1
// dims on either side join a neighbouring group, or form one whose other side is empty.
struct ReshapeGroup {
  int from_begin, from_end;
  int to_begin, to_end;
};

// Always covers all dims. Dims that cannot be matched (unproved product) form one last group.
std::vector<ReshapeGroup> MatchReshape(absl::Span<const DimExpr> from, absl::Span<const DimExpr> to,
                                       const ShapeFacts& facts);

}  // namespace tailor

#endif  // TAILOR_ANALYSIS_RESHAPE_GROUPS_H_

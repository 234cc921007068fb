#include "analysis/reshape_groups.h"

#include <optional>

namespace tailor {
namespace {

// The smallest group that starts at (from, to). Prefers pairs of one dim each to size-1 dims by themselves.
std::optional<ReshapeGroup> NextGroup(absl::Span<const DimExpr> from_dims, absl::Span<const DimExpr> to_dims, int from,
                                      int to, const ShapeFacts& facts) {
  int from_left = static_cast<int>(from_dims.size()) - from, to_left = static_cast<int>(to_dims.size()) - to;
  auto matches = [&](int a, int b) {
    return a <= from_left && b <= to_left &&
           facts.ProvablyEqualProduct(from_dims.subspan(from, a), to_dims.subspan(to, b));
  };
  if (matches(1, 1)) return ReshapeGroup{from, from + 1, to, to + 1};
  for (int size = 1; size <= from_left + to_left; ++size) {
    for (int a = size; a >= 0; --a) {
      if (matches(a, size - a)) return ReshapeGroup{from, from + a, to, to + size - a};
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<ReshapeGroup> MatchReshape(absl::Span<const DimExpr> from, absl::Span<const DimExpr> to,
                                       const ShapeFacts& facts) {
  std::vector<ReshapeGroup> groups;
  int from_rank = static_cast<int>(from.size()), to_rank = static_cast<int>(to.size());
  int i = 0, j = 0;
  while (i < from_rank || j < to_rank) {
    // Unmatched dims form one group: their products are equal as a whole, or there are no elements.
    ReshapeGroup group = NextGroup(from, to, i, j, facts).value_or(ReshapeGroup{i, from_rank, j, to_rank});
    groups.push_back(group);
    i = group.from_end;
    j = group.to_end;
  }
  return groups;
}

}  // namespace tailor

#include "exec/replace_costs.h"

#include <string>

namespace tailor {

Failure ReplaceCosts(std::string_view text, Program* program) {
  CostProfile profile;
  if (std::string wrong = ParseCostProfile(text, &profile); !wrong.empty()) {
    return {Code::kInvalidArgument, "cost profile: " + wrong, ""};
  }
  for (Variant& variant : program->variants) {
    variant.costs = profile;
    variant.machine_costs.clear();
  }
  return {};
}

}  // namespace tailor

// The state of a ShapeFacts, private to shape_facts*.cc.
#ifndef TAILOR_ANALYSIS_SHAPE_FACTS_STATE_H_
#define TAILOR_ANALYSIS_SHAPE_FACTS_STATE_H_

#include <string>
#include <vector>

#include "analysis/fact_store.h"
#include "analysis/shape_facts.h"

namespace tailor {

struct ShapeFacts::State {
  std::vector<SymbolInfo> symbols;
  std::vector<std::string> inputs;  // names
  FactStore store;
  std::vector<SymbolBinding> bindings;
  std::vector<ShapeCheck> checks;
  std::vector<Fact> facts;
};

}  // namespace tailor

#endif  // TAILOR_ANALYSIS_SHAPE_FACTS_STATE_H_

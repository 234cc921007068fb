// Reads the symbols of a graph text: those of the header's types and of the where clause. They are read before
// everything else, because types and assumptions use them.
#ifndef TAILOR_GRAPH_SYMBOL_CLAUSE_H_
#define TAILOR_GRAPH_SYMBOL_CLAUSE_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graph/graph.h"
#include "graph/token_reader.h"

namespace tailor {

class SymbolClause {
 public:
  explicit SymbolClause(TokenReader* in) : in_(*in) {}

  // Adds all symbols to `graph`. Starts at the '(' of the arguments and returns there.
  absl::Status ReadSymbols(Graph* graph);
  // Adds the assumptions of the where clause, `S == 2*B` and `S >= 1 @"reason"`, and moves past it. Requires
  // ReadSymbols.
  absl::Status ReadAssumptions(Graph* graph);

 private:
  bool AtSymbol() const;
  void ScanArguments();
  absl::Status ScanWhere();
  absl::Status ScanDeclaration();
  void ScanAssumption();
  std::vector<SymbolInfo> InOrder() const;

  TokenReader& in_;
  std::vector<std::string> header_, listed_, mentioned_;  // in types, declarations, assumptions
  std::map<std::string, SymbolInfo> declared_;
  std::vector<size_t> assumptions_;  // token positions
  size_t end_ = 0;
};

}  // namespace tailor

#endif  // TAILOR_GRAPH_SYMBOL_CLAUSE_H_

// DimExprs of launches are over the slots of a kernel's plan and one symbol more.
#ifndef TAILOR_CODEGEN_PLAN_WORKER_SYMBOL_H_
#define TAILOR_CODEGEN_PLAN_WORKER_SYMBOL_H_

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/dim_expr.h"

namespace tailor {

// Stands for RtContext::workers: on a device, its multiprocessors.
inline constexpr SymbolId kWorkers = INT32_MAX;

// `value` where there are so many.
inline DimExpr WithWorkers(const DimExpr& value, int64_t workers) {
  return value.Substitute([&](SymbolId id) { return id == kWorkers ? DimExpr(workers) : DimExpr::Symbol(id); });
}

// "d3", "workers"
inline std::string LaunchSymbolText(SymbolId id) { return id == kWorkers ? "workers" : absl::StrCat("d", id); }

}  // namespace tailor

#endif  // TAILOR_CODEGEN_PLAN_WORKER_SYMBOL_H_

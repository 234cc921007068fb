// Loop counters in the functions of a host program (HostProgram::counters). A counter has another value in each
// iteration. One that only values within kernels depend on leaves the layout alone: each run stores it, and what is
// computed from it, to the launch arguments that mention it. Any other is part of the layout's key, as a dim size is.
#ifndef TAILOR_CODEGEN_HOST_EMIT_COUNTERS_H_
#define TAILOR_CODEGEN_HOST_EMIT_COUNTERS_H_

#include <map>
#include <set>
#include <vector>

#include "codegen/host/emit/emit_dim.h"
#include "codegen/host/emit/emit_host.h"
#include "codegen/host/emit/host_function.h"
#include "codegen/host/emit/host_unit.h"

namespace tailor::host {

// The counters that leave the layout alone, and their inputs.
std::map<SymbolId, int> CountersInKernels(const HostProgram& program, const std::vector<EmittedKernel>& kernels);
// The symbols besides `counters` that runs read: those of conditions, of counters' next values, and of launch arguments
// that mention a counter.
std::set<SymbolId> SymbolsOfRun(const HostProgram& program, const std::map<SymbolId, int>& counters);
// The launch's dim slots that mention one of `counters`.
std::vector<int> CountedDims(const std::map<SymbolId, int>& counters, const Launch& launch);
// Emits expressions over the program's symbols in `run`. `shape_cache`: its address. Further symbols may be set.
DimEmitter DimsOfRun(HostFunction& f, const HostUnit& unit, llvm::Value* shape_cache);

}  // namespace tailor::host

#endif  // TAILOR_CODEGEN_HOST_EMIT_COUNTERS_H_

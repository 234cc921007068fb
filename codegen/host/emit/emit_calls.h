// Calls of regions, as the functions of their caller see them.
#ifndef TAILOR_CODEGEN_HOST_EMIT_EMIT_CALLS_H_
#define TAILOR_CODEGEN_HOST_EMIT_EMIT_CALLS_H_

#include "codegen/host/emit/host_function.h"
#include "codegen/host/emit/host_shapes.h"
#include "codegen/host/emit/host_unit.h"

namespace tailor::host {

// Fills the block of the call's arguments at `block` with what is known before the run: dim sizes and where they are.
void EmitArgumentDimSizes(HostFunction& f, HostShapes& shapes, const Call& call, llvm::Value* block);

// The workspace that the called programs need behind the caller's: they run one at a time, so the largest counts.
// `blocks` are the calls' argument blocks, filled by EmitArgumentDimSizes.
DimValue EmitInnerBytes(HostFunction& f, const HostUnit& unit, const std::vector<llvm::Value*>& blocks);

// Writes into the shape cache what of call number `index` depends on dims alone. `place_of` gives the address of a workspace
// block or constant; the workspace of the called programs begins at `inner`.
void EmitCallLayout(HostFunction& f, HostShapes& shapes, const HostUnit& unit, int index, llvm::Value* shape_cache,
                    llvm::function_ref<llvm::Value*(const HostBuffer&)> place_of, llvm::Value* inner);

// Runs call number `index`. `data_of` gives the address of an input, output or result.
void EmitCall(HostFunction& f, const HostUnit& unit, int index, llvm::Value* shape_cache,
              llvm::function_ref<llvm::Value*(const HostBuffer&)> data_of);

// Fails the run if a launch has recorded a fault.
void EmitFaultCheck(HostFunction& f, const HostUnit& unit, llvm::Value* shape_cache);

}  // namespace tailor::host

#endif  // TAILOR_CODEGEN_HOST_EMIT_EMIT_CALLS_H_

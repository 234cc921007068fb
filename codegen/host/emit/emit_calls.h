// Emits the calls of regions and custom operators in the functions of their caller.
#ifndef TAILOR_CODEGEN_HOST_EMIT_EMIT_CALLS_H_
#define TAILOR_CODEGEN_HOST_EMIT_EMIT_CALLS_H_

#include "codegen/host/emit/host_function.h"
#include "codegen/host/emit/host_shapes.h"
#include "codegen/host/emit/host_unit.h"

namespace tailor::host {

// Fills the call's argument block at `block` with the values known before the run: dim sizes and their addresses.
void EmitArgumentDimSizes(HostFunction& f, HostShapes& shapes, const Call& call, llvm::Value* block);

// Workspace bytes of the called programs and custom operators, after the caller's workspace. They run one at a time, so
// this is the maximum. `blocks` are the calls' argument blocks, filled by EmitArgumentDimSizes. `keep` gets the bytes
// of each custom operator.
DimValue EmitInnerBytes(HostFunction& f, const HostUnit& unit, const std::vector<llvm::Value*>& blocks,
                        llvm::function_ref<void(int call, llvm::Value* bytes)> keep);

// Stores the parts of call `index` that depend only on dims to the shape cache. `place_of` returns the address of a
// workspace block or constant; `inner` is the start of the called programs' workspace.
void EmitCallLayout(HostFunction& f, HostShapes& shapes, const HostUnit& unit, int index, llvm::Value* shape_cache,
                    llvm::function_ref<llvm::Value*(const HostBuffer&)> place_of, llvm::Value* inner);

// Runs call `index`. `data_of` returns the address of an input, output or result.
void EmitCall(HostFunction& f, const HostUnit& unit, int index, llvm::Value* shape_cache,
              llvm::function_ref<llvm::Value*(const HostBuffer&)> data_of);

// Fails the run if it is interrupted, and has a traced run note the time (RtApi::poll). Emitted before a program's
// first step and after each step: the results of interrupted launches are incomplete.
void EmitPoll(HostFunction& f, int32_t launch);

// Fails the run if a launch has recorded a fault.
void EmitFaultCheck(HostFunction& f, const HostUnit& unit, llvm::Value* shape_cache);

}  // namespace tailor::host

#endif  // TAILOR_CODEGEN_HOST_EMIT_EMIT_CALLS_H_

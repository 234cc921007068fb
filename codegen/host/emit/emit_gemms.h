// Emits the external gemms of a host program: matmuls that the runtime may compute.
#ifndef TAILOR_CODEGEN_HOST_EMIT_EMIT_GEMMS_H_
#define TAILOR_CODEGEN_HOST_EMIT_EMIT_GEMMS_H_

#include "codegen/host/emit/host_function.h"
#include "codegen/host/emit/host_shapes.h"
#include "codegen/host/emit/host_unit.h"

namespace tailor::host {

// Stores the GemmArgs of gemm `index` to the shape cache, offers it to the runtime and stores the answer. `place_of`
// returns the address of a workspace block or constant.
void EmitGemmLayout(HostFunction& f, HostShapes& shapes, const HostUnit& unit, int index, llvm::Value* shape_cache,
                    llvm::function_ref<llvm::Value*(const HostBuffer&)> place_of);

// Whether the runtime has accepted gemm `index` (i1).
llvm::Value* EmitIsTaken(HostFunction& f, const HostUnit& unit, int index, llvm::Value* shape_cache);

// Calls the runtime to compute gemm `index`. `data_of` returns the address of an input, output or result.
void EmitGemm(HostFunction& f, const HostUnit& unit, int index, llvm::Value* shape_cache,
              llvm::function_ref<llvm::Value*(const HostBuffer&)> data_of);

}  // namespace tailor::host

#endif  // TAILOR_CODEGEN_HOST_EMIT_EMIT_GEMMS_H_

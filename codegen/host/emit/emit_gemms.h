// Matmuls that the runtime may take over, as the functions of a host program see them.
#ifndef TAILOR_CODEGEN_HOST_EMIT_EMIT_GEMMS_H_
#define TAILOR_CODEGEN_HOST_EMIT_EMIT_GEMMS_H_

#include "codegen/host/emit/host_function.h"
#include "codegen/host/emit/host_shapes.h"
#include "codegen/host/emit/host_unit.h"

namespace tailor::host {

// Describes matmul number `index` in the shape cache, offers it to the runtime and remembers what that said. `place_of` gives
// the address of a workspace block or constant.
void EmitGemmLayout(HostFunction& f, HostShapes& shapes, const HostUnit& unit, int index, llvm::Value* shape_cache,
                    llvm::function_ref<llvm::Value*(const HostBuffer&)> place_of);

// Whether the runtime has taken matmul number `index`.
llvm::Value* EmitIsTaken(HostFunction& f, const HostUnit& unit, int index, llvm::Value* shape_cache);

// Has the runtime compute matmul number `index`. `data_of` gives the address of an input, output or result.
void EmitGemm(HostFunction& f, const HostUnit& unit, int index, llvm::Value* shape_cache,
              llvm::function_ref<llvm::Value*(const HostBuffer&)> data_of);

}  // namespace tailor::host

#endif  // TAILOR_CODEGEN_HOST_EMIT_EMIT_GEMMS_H_

// Products that the runtime may take over, as the functions of a host program see them.
#ifndef TAILOR_CODEGEN_HOST_EMIT_EMIT_PRODUCTS_H_
#define TAILOR_CODEGEN_HOST_EMIT_EMIT_PRODUCTS_H_

#include "codegen/host/emit/host_function.h"
#include "codegen/host/emit/host_shapes.h"
#include "codegen/host/emit/host_unit.h"

namespace tailor::host {

// Describes product number `index` in the memo, offers it to the runtime and remembers what that said. `place_of` gives
// the address of a workspace block or constant.
void EmitProductLayout(HostFunction& f, HostShapes& shapes, const HostUnit& unit, int index, llvm::Value* memo,
                       llvm::function_ref<llvm::Value*(const HostBuffer&)> place_of);

// Whether the runtime has taken product number `index`.
llvm::Value* EmitIsTaken(HostFunction& f, const HostUnit& unit, int index, llvm::Value* memo);

// Has the runtime compute product number `index`. `data_of` gives the address of an input, output or result.
void EmitProduct(HostFunction& f, const HostUnit& unit, int index, llvm::Value* memo,
                 llvm::function_ref<llvm::Value*(const HostBuffer&)> data_of);

}  // namespace tailor::host

#endif  // TAILOR_CODEGEN_HOST_EMIT_EMIT_PRODUCTS_H_

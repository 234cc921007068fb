// The last pass before the NVPTX back end.
#ifndef TAILOR_CODEGEN_CUDA_DEVICE_IR_LOWER_DEVICE_INTRINSICS_H_
#define TAILOR_CODEGEN_CUDA_DEVICE_IR_LOWER_DEVICE_INTRINSICS_H_

#include "absl/status/status.h"
#include "llvm/IR/Module.h"

namespace tailor::cuda {

// Replaces every call of a `tailor.device.*` function by NVPTX intrinsics and drops the declarations; makes exchanges
// atomic for the whole system (nvptx_sync.h). INTERNAL with the function's name if it is not in device_intrinsics.h or
// device_op_table.h; the module is then partly lowered.
absl::Status LowerDeviceIntrinsics(llvm::Module& module);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_DEVICE_IR_LOWER_DEVICE_INTRINSICS_H_

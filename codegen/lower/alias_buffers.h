// Aliases the outputs of kernels with their inputs (DISC section 4.2.2: reuse of buffers of equal shape).
#ifndef TAILOR_CODEGEN_LOWER_ALIAS_BUFFERS_H_
#define TAILOR_CODEGEN_LOWER_ALIAS_BUFFERS_H_

#include <vector>

#include "codegen/host/host_program.h"
#include "codegen/plan/kernel_plan.h"

namespace tailor::lower {

// Whether output buffer `output` of `plan` may alias input buffer `input`. Both have the same dims and element width.
// Every element of the input is read only at the index at which the output is written, in the last statement of the
// last stage. That statement writes each element once and is the only store to an output. Earlier stages have then
// finished reading the row, and the stored value depends on the element read. So emitters may treat the two as disjoint
// memory.
bool CanAlias(const KernelPlan& plan, int input, int output);

// Aliases the outputs of each launch with inputs that it reads last. Output: a workspace block first used by this
// launch; input: a block or a donated input. CanAlias must hold for the launch's kernel (`kernels`, by Launch::kernel).
// Outputs placed by the runtime alias donated inputs in the same way (HostProgram::memory_of). Renumbers blocks in
// order of buffers.
void AliasBuffers(const std::vector<KernelPlan>& kernels, host::HostProgram& program);

}  // namespace tailor::lower

#endif  // TAILOR_CODEGEN_LOWER_ALIAS_BUFFERS_H_

// Kernels that write over what they read (DISC section 4.2.2: reuse of buffers of equal shape).
#ifndef TAILOR_CODEGEN_LOWER_ALIAS_BUFFERS_H_
#define TAILOR_CODEGEN_LOWER_ALIAS_BUFFERS_H_

#include <vector>

#include "codegen/host/host_program.h"
#include "codegen/plan/kernel_plan.h"

namespace tailor::lower {

// Whether output buffer `output` of `plan` may be the memory of input buffer `input`: both have the same dims and
// width, every element of the input is read at the one index where the output is written, in the last statement of the
// last stage, which writes each element once and is the only one that writes outputs. Earlier stages have then read
// all that they need of a row, and what the last one stores depends on what it reads there: emitters may go on treating
// the two as memory apart.
bool CanAlias(const KernelPlan& plan, int input, int output);

// Gives workspace blocks that a launch begins to write the memory of blocks, or of donated inputs, that it is the last
// to read, where its kernel (of `kernels`, by Launch::kernel) may write over them. Outputs that the runtime would place
// take that of donated inputs likewise (HostProgram::memory_of). Blocks are numbered anew, in order of buffers.
void AliasBuffers(const std::vector<KernelPlan>& kernels, host::HostProgram& program);

}  // namespace tailor::lower

#endif  // TAILOR_CODEGEN_LOWER_ALIAS_BUFFERS_H_

// Kernels that differ only in constant dim sizes and in literals become one kernel. The layers of a network have few
// forms, but many numbers of channels, and, if quantized, each its own scales; compiling takes a time in proportion to
// the number of kernels.
#ifndef TAILOR_CODEGEN_LOWER_SHARE_KERNELS_H_
#define TAILOR_CODEGEN_LOWER_SHARE_KERNELS_H_

#include "codegen/lower/lowered_program.h"

namespace tailor::lower {

// In loops and matmuls, the constant dim size of an axis becomes a dim slot, whose value each launch passes, where that
// makes kernels equal: if buffers are indexed by the axis itself, never by an expression of it, and if the size is at
// least 16. So does the same constant in expressions (a mean divides by it), and constant sizes of buffers that no such
// axis indexes. Only sizes that differ become slots; their facts (divisor and maximum) hold for all launches.
//
// Kernels that schedules would treat in other ways stay apart: sizes along vectors are all multiples of 16 or none is,
// K is about as long, and matmuls with large weights keep their sizes. So do loops that transpose: there the size is
// the stride of vectors.
//
// Literals become parameters, also those of a chain's links, if all their uses are factors, terms or divisors in f32,
// or zero points: integers that are added to a rounded f32, or subtracted from an i32 or i16. Those stay that emitters
// recognise: divisors that are powers of two, and those of gelu.
void ShareKernels(LoweredProgram& program);

}  // namespace tailor::lower

#endif  // TAILOR_CODEGEN_LOWER_SHARE_KERNELS_H_

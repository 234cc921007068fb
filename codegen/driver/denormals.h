// Whether a program's runs flush denormal numbers to zero.
//
// On Intel CPUs an instruction with a denormal operand or result takes about 120 cycles. Weight decay leaves denormals
// in the weights of unused channels, whose activations then are denormal too: a model of few such channels can take
// several times as long.
#ifndef TAILOR_CODEGEN_DRIVER_DENORMALS_H_
#define TAILOR_CODEGEN_DRIVER_DENORMALS_H_

#include <cstdint>
#include <span>
#include <string>

#include "codegen/driver/compile.h"
#include "codegen/lower/lowered_program.h"
#include "graph/dtype.h"

namespace tailor::driver {

// Whether one of `count` elements of an f32, f64 or bf16 is denormal. Other types: false; an f16 is a normal f32.
bool HasDenormals(DType dtype, const void* data, int64_t count);

// Why runs flush denormals, one line for `explain`; empty: they keep them. kAuto flushes if a constant of at least 257
// elements has denormals.
std::string ReasonToFlush(Denormals denormals, std::span<const lower::LoweredProgram::Constant> constants);

}  // namespace tailor::driver

#endif  // TAILOR_CODEGEN_DRIVER_DENORMALS_H_

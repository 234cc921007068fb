// Tailor's runtime for C++: loads a compiled artifact and runs it at any shape. Header-only, C++17; programs that
// include only this header link libtailor_runtime.so (or libtailor_runtime.a) alone.
//
//     #include "tailor/runtime.hpp"
//
//     tailor::Executable executable = tailor::Executable::load("model.tlr").value();
//     tailor::Session session = executable.session().value();
//     std::vector<float> x(8, 1.0f);
//     tailor::Outputs outputs = session.run({tailor::view(x, {2, 4})}).value();
//     tailor::Span<const float> y = outputs.get<float>(0).value();
//
// Conventions:
//  - Fallible calls return Result<T>: a value or an Error. `value()` throws the Error; without exceptions
//    (-fno-exceptions) it prints it and aborts. No other function throws, except for exceptions of callbacks and of the
//    standard library.
//  - Handles release themselves, in any order. Runtime and Session are move-only, Executable is shared by copies. A
//  handle
//    that was moved from is an Error where it is used.
//  - Views refer to memory of the caller. Wrong shapes, types and sizes are Errors.
//  - Threads: as for the handles of tailor/runtime.h. A session that another call uses is FAILED_PRECONDITION.
//  - Units with and without exceptions cannot exchange handles: that does not link. Language versions may be mixed.
#ifndef TAILOR_RUNTIME_HPP_
#define TAILOR_RUNTIME_HPP_

#include "tailor/hpp/custom_operator.hpp"
#include "tailor/hpp/executable.hpp"
#include "tailor/hpp/result.hpp"
#include "tailor/hpp/runtime_object.hpp"
#include "tailor/hpp/session.hpp"
#include "tailor/hpp/span.hpp"
#include "tailor/hpp/tensor.hpp"

#endif  // TAILOR_RUNTIME_HPP_

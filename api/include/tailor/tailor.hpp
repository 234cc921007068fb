// Tailor for C++: builds a graph over symbolic shapes, compiles it once for all shapes, and runs it. Header-only,
// C++17; links libtailor.so and libtailor_runtime.so. Programs that only run artifacts include tailor/runtime.hpp,
// which has the conventions; tailor/onnx.hpp adds ONNX models.
//
//     #include "tailor/tailor.hpp"
//
//     tailor::Graph graph("scale");
//     tailor::Dim batch = graph.symbol("batch");
//     tailor::Value x = graph.input("x", tailor::DType::kF32, {batch, 4});
//     graph.output("y", (x * 2.0f).softmax(-1));
//     tailor::Executable executable = graph.compile().value();  // once, for every batch
//
// Graphs remember their first error; nothing need be checked before `compile`.
#ifndef TAILOR_TAILOR_HPP_
#define TAILOR_TAILOR_HPP_

#include "tailor/hpp/dim.hpp"
#include "tailor/hpp/graph.hpp"
#include "tailor/hpp/value.hpp"
#include "tailor/runtime.hpp"

#endif  // TAILOR_TAILOR_HPP_

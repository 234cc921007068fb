// The generated files, each as one function from the op table to the file's whole text.
#ifndef TAILOR_TOOLS_GEN_BINDINGS_WRITERS_H_
#define TAILOR_TOOLS_GEN_BINDINGS_WRITERS_H_

#include <string>

namespace tailor {

std::string CHeader();       // api/include/tailor/ops.h
std::string CGlue();         // api/graph_ops.cc
std::string CppOps();        // api/include/tailor/hpp/ops.hpp
std::string CppOpsInline();  // api/include/tailor/hpp/ops_inline.hpp
std::string PythonOps();     // bindings/python/tailor/_ops.py
std::string RustOps();       // bindings/rust/tailor/src/graph/ops.rs
std::string GoOps();         // bindings/go/graph/ops.go
std::string OpReference();   // docs/ops.md

}  // namespace tailor

#endif  // TAILOR_TOOLS_GEN_BINDINGS_WRITERS_H_

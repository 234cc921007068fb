// Writes the files that follow from the op table: C declarations and glue, C++, Python, Rust and Go methods, reference.
#include "tools/gen_bindings/writers.h"
#include "tools/generated_files.h"

int main(int argc, char** argv) {
  return tailor::WriteGenerated(argc, argv,
                                {{"api/include/tailor/ops.h", tailor::CHeader},
                                 {"api/graph_ops.cc", tailor::CGlue},
                                 {"api/include/tailor/hpp/ops.hpp", tailor::CppOps},
                                 {"api/include/tailor/hpp/ops_inline.hpp", tailor::CppOpsInline},
                                 {"bindings/python/tailor/_ops.py", tailor::PythonOps},
                                 {"bindings/rust/tailor/src/graph/ops.rs", tailor::RustOps},
                                 {"bindings/go/graph/ops.go", tailor::GoOps},
                                 {"docs/ops.md", tailor::OpReference}});
}

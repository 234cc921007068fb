// What graphs are lowered to, as text.
#ifndef TAILOR_TESTS_CODEGEN_LOWER_HOST_PROGRAMS_H_
#define TAILOR_TESTS_CODEGEN_LOWER_HOST_PROGRAMS_H_

#include <string>
#include <vector>

#include "codegen/lower/lower_graph.h"

namespace tailor::lower {

// "\nprogram 0\n...program 1\n...", or the error. `donated`: by input.
std::string HostPrograms(const std::string& text, const std::vector<bool>& donated = {});

// "\n", the kernels of a graph, then the blocks, launches and offered matmuls of its host program; or the error.
std::string Lowered(const std::string& text, const LowerOptions& options = {}, const TargetTraits& traits = {});

}  // namespace tailor::lower

#endif  // TAILOR_TESTS_CODEGEN_LOWER_HOST_PROGRAMS_H_

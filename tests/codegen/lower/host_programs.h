// The host programs of a graph as text.
#ifndef TAILOR_TESTS_CODEGEN_LOWER_HOST_PROGRAMS_H_
#define TAILOR_TESTS_CODEGEN_LOWER_HOST_PROGRAMS_H_

#include <string>
#include <vector>

namespace tailor::lower {

// "\nprogram 0\n...program 1\n...", or the error. `donated`: by input.
std::string HostPrograms(const std::string& text, const std::vector<bool>& donated = {});

}  // namespace tailor::lower

#endif  // TAILOR_TESTS_CODEGEN_LOWER_HOST_PROGRAMS_H_

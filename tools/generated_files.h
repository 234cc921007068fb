// Files of the source tree that programs write.
#ifndef TAILOR_TOOLS_GENERATED_FILES_H_
#define TAILOR_TOOLS_GENERATED_FILES_H_

#include <initializer_list>
#include <string>

namespace tailor {

struct GeneratedFile {
  const char* path;  // from the project's root
  std::string (*text)();
};

// The main function of such a program: `[--check] <project root>`. Writes the files; with --check exits with 1 and
// names each file that is not up to date.
int WriteGenerated(int argc, char** argv, std::initializer_list<GeneratedFile> files);

}  // namespace tailor

#endif  // TAILOR_TOOLS_GENERATED_FILES_H_

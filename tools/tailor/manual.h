// Commands that print what the command table says (command_table.h). Each returns the exit code.
#ifndef TAILOR_TOOLS_TAILOR_MANUAL_H_
#define TAILOR_TOOLS_TAILOR_MANUAL_H_

#include <string>

namespace CLI {
class App;
}

namespace tailor {

int PrintCompletion(const CLI::App& app, const std::string& shell);
// tailor.1, tailor-run.1, ...
int WriteManPages(const CLI::App& app, const std::string& folder);
// Replaces the part of a Markdown page between the marks of the reference. With `check`, kExitNo if that would change
// it.
int WriteReference(const CLI::App& app, const std::string& page, bool check);

}  // namespace tailor

#endif  // TAILOR_TOOLS_TAILOR_MANUAL_H_

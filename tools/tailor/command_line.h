// The parser of the command line.
#ifndef TAILOR_TOOLS_TAILOR_COMMAND_LINE_H_
#define TAILOR_TOOLS_TAILOR_COMMAND_LINE_H_

#include <functional>

namespace CLI {
class App;
}

namespace tailor {

// Adds all commands to `app`, which must outlive `*run`. Parsing sets `*run` to the command with its arguments; it
// returns the exit code.
void AddCommands(CLI::App* app, std::function<int()>* run);

}  // namespace tailor

#endif  // TAILOR_TOOLS_TAILOR_COMMAND_LINE_H_

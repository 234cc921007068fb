// The commands as data, read back from the parser: help, man pages, reference and shell completion are texts of it.
#ifndef TAILOR_TOOLS_TAILOR_COMMAND_TABLE_H_
#define TAILOR_TOOLS_TAILOR_COMMAND_TABLE_H_

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tailor {

struct OptionEntry {
  std::vector<std::string> names;  // "-o", "--output"; of a positional one its name
  std::string value;               // "FILE", "cpu|cuda|cuda:N"; empty: a flag
  std::string text;
  std::string default_text;  // empty: none
  std::string usage;         // its place in the command's usage; empty: among the options
  bool positional = false, required = false, repeated = false;

  bool TakesFile() const;
  std::vector<std::string> Choices() const;  // of "cpu|cuda|cuda:N" those that are complete: cpu, cuda
};

struct CommandEntry {
  std::string name;     // "run"; empty for the tool itself
  std::string summary;  // one sentence
  std::string details;  // paragraphs; may be empty
  std::vector<std::string> examples;
  std::vector<OptionEntry> options;  // positional ones first

  std::string Title() const { return name.empty() ? "tailor" : "tailor " + name; }
  std::string Usage() const;  // "tailor run [OPTIONS] model [NAME=VALUE ...]"
};

// The tool's entry, then those of the commands that are not hidden.
std::vector<CommandEntry> CommandTable(const CLI::App& app);
CommandEntry EntryOf(const CLI::App& app);

// What --help prints.
std::string HelpText(const std::vector<CommandEntry>& table, const CommandEntry& entry);
// A man page of section 1.
std::string ManPage(const std::vector<CommandEntry>& table, const CommandEntry& entry);
// All commands, for docs/cli.md.
std::string ReferenceText(const std::vector<CommandEntry>& table);
// A completion script; `shell` is bash, zsh or fish.
std::string CompletionScript(const std::vector<CommandEntry>& table, const std::string& shell);

}  // namespace tailor

#endif  // TAILOR_TOOLS_TAILOR_COMMAND_TABLE_H_

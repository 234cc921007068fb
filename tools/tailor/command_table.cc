#include "tools/tailor/command_table.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>

namespace tailor {
namespace {

constexpr char kExamples[] = "Examples:\n";

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    const size_t first = line.find_first_not_of(' ');
    if (first != std::string::npos) lines.push_back(line.substr(first));
  }
  return lines;
}

OptionEntry EntryOf(const CLI::Option& option) {
  OptionEntry entry;
  entry.positional = !option.nonpositional();
  if (option.nonpositional()) {
    for (const std::string& name : option.get_snames()) entry.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) entry.names.push_back("--" + name);
  } else {
    entry.names.push_back(option.get_name());
  }
  entry.value = option.get_type_size() > 0 ? option.get_type_name() : "";
  entry.text = option.get_description();
  entry.default_text = option.get_default_str();
  entry.required = option.get_required();
  entry.repeated = option.get_expected_max() > 1;
  if (option.get_positional()) {
    const std::string shown = option.get_name(/*positional=*/true) + (entry.repeated ? "..." : "");
    entry.usage = entry.required ? shown : "[" + shown + "]";
  }
  return entry;
}

}  // namespace

bool OptionEntry::TakesFile() const { return value.find("FILE") != std::string::npos; }

std::vector<std::string> OptionEntry::Choices() const {
  std::vector<std::string> choices;
  if (value.find('|') == std::string::npos) return choices;
  std::istringstream in(value);
  for (std::string choice; std::getline(in, choice, '|');) {
    const bool complete = std::none_of(choice.begin(), choice.end(), [](unsigned char c) { return std::isupper(c); });
    if (complete) choices.push_back(choice);
  }
  return choices;
}

std::string CommandEntry::Usage() const {
  if (name.empty()) return "tailor COMMAND [OPTIONS]";
  std::string usage = Title() + " [OPTIONS]";
  for (const OptionEntry& option : options) {
    if (!option.usage.empty()) usage += " " + option.usage;
  }
  return usage;
}

CommandEntry EntryOf(const CLI::App& app) {
  CommandEntry entry;
  entry.name = app.get_parent() == nullptr ? "" : app.get_name();
  entry.summary = app.get_description();
  const std::string footer = app.get_footer();
  const size_t at = footer.find(kExamples);
  entry.details = footer.substr(0, at);
  while (!entry.details.empty() && entry.details.back() == '\n') entry.details.pop_back();
  if (at != std::string::npos) entry.examples = Lines(footer.substr(at + sizeof(kExamples) - 1));
  for (const CLI::Option* option : app.get_options([](const CLI::Option* o) { return !o->get_group().empty(); })) {
    entry.options.push_back(EntryOf(*option));
  }
  std::stable_partition(entry.options.begin(), entry.options.end(), [](const OptionEntry& o) { return o.positional; });
  return entry;
}

std::vector<CommandEntry> CommandTable(const CLI::App& app) {
  std::vector<CommandEntry> table = {EntryOf(app)};
  for (const CLI::App* command : app.get_subcommands([](const CLI::App* a) { return !a->get_group().empty(); })) {
    table.push_back(EntryOf(*command));
  }
  return table;
}

}  // namespace tailor

#include <algorithm>
#include <sstream>

#include "tailor/runtime.h"
#include "tools/tailor/command_table.h"

namespace tailor {
namespace {

constexpr size_t kColumns = 100, kTextColumn = 30;

std::string Joined(const std::vector<std::string>& parts, const std::string& separator) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : separator) + part;
  return text;
}

// "--output FILE".
std::string Form(const OptionEntry& option) {
  const std::string value = option.value.empty() || option.positional ? "" : " " + option.value;
  return Joined(option.names, ", ") + value;
}

std::string FullText(const OptionEntry& option) {
  return option.text + (option.default_text.empty() ? "" : " (default: " + option.default_text + ")") +
         (option.repeated && !option.positional ? "; repeatable" : "");
}

// Wrapped lines after the first are indented by `indent`; the first begins at column `at`.
std::string Wrapped(const std::string& text, size_t indent, size_t at) {
  std::string out;
  size_t column = at;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (column > indent && column + 1 + word.size() > kColumns) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += " ", ++column;
    }
    out += word;
    column += word.size();
  }
  return out;
}

std::string Row(const std::string& form, const std::string& text) {
  std::string row = "  " + form;
  if (row.size() + 2 > kTextColumn) {
    row += "\n" + std::string(kTextColumn, ' ');
  } else {
    row.append(kTextColumn - row.size(), ' ');
  }
  return row + Wrapped(text, kTextColumn, kTextColumn) + "\n";
}

std::string Rows(const std::string& title, const CommandEntry& entry, bool positional) {
  std::string rows;
  for (const OptionEntry& option : entry.options) {
    if (option.positional == positional) rows += Row(Form(option), FullText(option));
  }
  return rows.empty() ? "" : "\n" + title + ":\n" + rows;
}

// Text for roff: its own characters escaped.
std::string Roff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool begins_line = out.empty() || out.back() == '\n';
    if (begins_line && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

std::string Cell(std::string text) {
  for (size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, "\\");
  return text;
}

std::string ExitStatusText() {
  return "0: success. 1: the answer is no: outputs differ from those expected, or verification failed. 2: the command "
         "line "
         "is wrong. 3: a file cannot be read or written, or is not what it should be. 4: the library refused, with the "
         "status that the message names. 130: interrupted.";
}

}  // namespace

std::string HelpText(const std::vector<CommandEntry>& table, const CommandEntry& entry) {
  std::string text = Wrapped(entry.summary, 0, 0) + "\n\nUsage: " + entry.Usage() + "\n";
  if (!entry.details.empty()) text += "\n" + Wrapped(entry.details, 0, 0) + "\n";
  if (entry.name.empty()) {
    text += "\nCommands:\n";
    for (const CommandEntry& command : table) {
      if (!command.name.empty()) text += Row(command.name, command.summary);
    }
  }
  text += Rows("Arguments", entry, /*positional=*/true) + Rows("Options", entry, /*positional=*/false);
  if (!entry.examples.empty()) text += "\nExamples:\n  " + Joined(entry.examples, "\n  ") + "\n";
  return text + (entry.name.empty() ? "\ntailor COMMAND --help explains a command.\n" : "");
}

std::string ManPage(const std::vector<CommandEntry>& table, const CommandEntry& entry) {
  const std::string page = entry.name.empty() ? "tailor" : "tailor-" + entry.name;
  std::string upper = page;
  std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char c) { return std::toupper(c); });
  std::string text = ".TH " + upper + " 1 \"\" \"tailor " + tailor_version() + "\" \"Tailor\"\n.SH NAME\n" +
                     Roff(page + " - " + entry.summary) + "\n.SH SYNOPSIS\n.B " + Roff(entry.Usage()) + "\n";
  text += ".SH DESCRIPTION\n" + Roff(entry.summary) + ".\n";
  if (!entry.details.empty()) text += ".PP\n" + Roff(entry.details) + "\n";
  if (entry.name.empty()) {
    text += ".SH COMMANDS\n";
    for (const CommandEntry& command : table) {
      if (!command.name.empty()) text += ".TP\n.B " + Roff(command.name) + "\n" + Roff(command.summary) + "\n";
    }
  }
  text += ".SH OPTIONS\n";
  for (const OptionEntry& option : entry.options) {
    text += ".TP\n.B " + Roff(Form(option)) + "\n" + Roff(FullText(option)) + "\n";
  }
  if (!entry.examples.empty()) {
    text += ".SH EXAMPLES\n.nf\n" + Roff(Joined(entry.examples, "\n")) + "\n.fi\n";
  }
  text += ".SH EXIT STATUS\n" + Roff(ExitStatusText()) + "\n.SH SEE ALSO\n";
  std::vector<std::string> others;
  for (const CommandEntry& other : table) {
    if (other.name != entry.name)
      others.push_back(".BR tailor" + (other.name.empty() ? "" : "\\-" + other.name) + " (1)");
  }
  return text + Joined(others, " ,\n") + "\n";
}

std::string ReferenceText(const std::vector<CommandEntry>& table) {
  std::string text;
  for (const CommandEntry& entry : table) {
    if (entry.name.empty()) continue;
    text += "### tailor " + entry.name + "\n\n" + entry.summary + ".\n\n```text\n" + entry.Usage() + "\n```\n\n";
    if (!entry.details.empty()) text += entry.details + "\n\n";
    text += "| option | what |\n|---|---|\n";
    for (const OptionEntry& option : entry.options) {
      text += "| `" + Cell(Form(option)) + "` | " + Cell(FullText(option)) + " |\n";
    }
    text += "\n";
    if (!entry.examples.empty()) text += "```sh\n" + Joined(entry.examples, "\n") + "\n```\n\n";
  }
  return text;
}

}  // namespace tailor

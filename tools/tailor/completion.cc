#include <stdexcept>

#include "tools/tailor/command_table.h"
#include "tools/tailor/failures.h"

namespace tailor {
namespace {

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

// In single quotes of a shell.
std::string Quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// All names of a command's options.
std::vector<std::string> OptionNames(const CommandEntry& entry) {
  std::vector<std::string> names;
  for (const OptionEntry& option : entry.options) {
    if (!option.positional) names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return names;
}

std::string BashCase(const CommandEntry& entry) {
  std::string text = "    " + entry.name + ")\n      case $previous in\n";
  for (const OptionEntry& option : entry.options) {
    if (option.positional || option.value.empty()) continue;
    std::string names;
    for (const std::string& name : option.names) names += (names.empty() ? "" : "|") + name;
    // Without words, bash completes file names.
    text += "        " + names + ") words=" + Quoted(Joined(option.Choices())) + " ;;\n";
  }
  text += "        *) [[ $current == -* ]] && words=" + Quoted(Joined(OptionNames(entry)));
  for (const OptionEntry& option : entry.options) {
    if (option.positional && !option.Choices().empty()) text += " || words=" + Quoted(Joined(option.Choices()));
  }
  return text + " ;;\n      esac ;;\n";
}

std::string BashScript(const std::vector<CommandEntry>& table) {
  std::string commands, cases;
  for (const CommandEntry& entry : table) {
    if (entry.name.empty()) continue;
    commands += entry.name + " ";
    cases += BashCase(entry);
  }
  return "# bash completion for tailor: source <(tailor completion bash)\n"
         "_tailor() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command= words= i\n"
         "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
         "    [[ ${COMP_WORDS[i]} == -* ]] || { command=${COMP_WORDS[i]}; break; }\n"
         "  done\n"
         "  case $command in\n"
         "    '') words=" +
         Quoted(commands + Joined(OptionNames(table[0]))) + " ;;\n" + cases +
         "  esac\n"
         "  COMPREPLY=()\n"
         "  [[ -z $words ]] || mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
         "}\n"
         "complete -o default -F _tailor tailor\n";
}

// Brackets and colons mean something to _arguments.
std::string ZshText(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '[' || c == ']' || c == ':' ? std::string("\\") + c : std::string(1, c);
  return out;
}

std::string ZshValue(const OptionEntry& option) {
  const std::vector<std::string> choices = option.Choices();
  return ":" + ZshText(option.value.empty() ? option.names[0] : option.value) + ":" +
         (choices.empty() ? "_files" : "(" + ZshText(Joined(choices)) + ")");
}

std::string ZshScript(const std::vector<CommandEntry>& table) {
  std::string commands, cases;
  for (const CommandEntry& entry : table) {
    if (entry.name.empty()) continue;
    commands += "    " + Quoted(entry.name + ":" + ZshText(entry.summary)) + "\n";
    cases += "        " + entry.name + ")\n          _arguments";
    for (const OptionEntry& option : entry.options) {
      if (option.positional) {
        cases += " \\\n            " + Quoted((option.repeated ? "*" : "") + ZshValue(option));
        continue;
      }
      for (const std::string& name : option.names) {
        cases += " \\\n            " + Quoted((option.repeated ? "*" : "") + name + "[" + ZshText(option.text) + "]" +
                                              (option.value.empty() ? "" : ZshValue(option)));
      }
    }
    cases += " ;;\n";
  }
  return "#compdef tailor\n"
         "_tailor() {\n"
         "  local -a commands\n"
         "  local state line\n"
         "  commands=(\n" +
         commands +
         "  )\n"
         "  _arguments -C '--help[Prints help]' '--version[Prints the version]' '1:command:->command' "
         "'*::argument:->argument'\n"
         "  case $state in\n"
         "    command) _describe command commands ;;\n"
         "    argument)\n"
         "      case $line[1] in\n" +
         cases +
         "      esac ;;\n"
         "  esac\n"
         "}\n"
         "if [ \"$funcstack[1]\" = _tailor ]; then _tailor \"$@\"; else compdef _tailor tailor; fi\n";
}

std::string FishScript(const std::vector<CommandEntry>& table) {
  std::string text = "# fish completion for tailor: tailor completion fish | source\n";
  for (const CommandEntry& entry : table) {
    if (entry.name.empty()) continue;
    text += "complete -c tailor -f -n __fish_use_subcommand -a " + entry.name + " -d " + Quoted(entry.summary) + "\n";
    const std::string when = "complete -c tailor -n '__fish_seen_subcommand_from " + entry.name + "'";
    for (const OptionEntry& option : entry.options) {
      const std::vector<std::string> choices = option.Choices();
      const std::string words = choices.empty() ? "" : " -f -a " + Quoted(Joined(choices));
      if (option.positional) {
        if (!words.empty()) text += when + words + "\n";
        continue;
      }
      text += when;
      for (const std::string& name : option.names) {
        text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      text += (option.value.empty() ? ""
               : choices.empty()    ? " -r -F"
                                    : " -r" + words) +
              (" -d " + Quoted(option.text)) + "\n";
    }
  }
  return text;
}

}  // namespace

std::string CompletionScript(const std::vector<CommandEntry>& table, const std::string& shell) {
  if (shell == "bash") return BashScript(table);
  if (shell == "zsh") return ZshScript(table);
  if (shell == "fish") return FishScript(table);
  throw UsageError("\"" + shell + "\" is no shell that completion knows: bash, zsh or fish");
}

}  // namespace tailor

// The command line tool. `tailor --help` lists its commands, docs/cli.md describes them.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>
#include <string>

#include "tailor/runtime.h"
#include "tools/tailor/command_line.h"
#include "tools/tailor/command_table.h"
#include "tools/tailor/failures.h"

namespace {

std::string VersionText() {
  const std::string features = tailor_cpu_features();
  return std::string("tailor ") + tailor_version() + " (" + features.substr(0, features.find(';')) + ")";
}

// Whether the first argument is meant as a command, but is none.
bool IsUnknownCommand(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return false;
  return app.get_subcommands([&](const CLI::App* command) { return command->get_name() == argv[1]; }).empty();
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Compiles models for every shape, runs and measures them", "tailor");
  app.require_subcommand(1);
  app.set_version_flag("--version", VersionText);
  app.formatter_fn([&](const CLI::App* shown, const std::string&, CLI::AppFormatMode) {
    return tailor::HelpText(tailor::CommandTable(app), tailor::EntryOf(*shown));
  });
  std::function<int()> run;
  tailor::AddCommands(&app, &run);
  app.footer(
      "Examples:\n"
      "  tailor compile model.onnx --dim batch=1..64\n"
      "  tailor run model.tlr --dims batch=2\n"
      "  tailor bench model.tlr --dims batch=1..64 --random 100\n");
  try {
    if (IsUnknownCommand(app, argc, argv)) {
      throw tailor::UsageError(std::string("there is no command \"") + argv[1] + "\": tailor --help lists them");
    }
    app.parse(argc, argv);
    return run();
  } catch (const CLI::Success& done) {
    return app.exit(done);
  } catch (const CLI::ParseError& failure) {
    const auto parsed = app.get_subcommands();
    const std::string command = parsed.empty() ? "" : " " + parsed[0]->get_name();
    std::fprintf(stderr, "tailor: INVALID_ARGUMENT: %s\ntailor%s --help explains the options\n", failure.what(),
                 command.c_str());
    return tailor::kExitUsage;
  } catch (...) {
    return tailor::ReportFailure();
  }
}

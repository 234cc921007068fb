// tailor-tune, which `tailor tune` runs: what only measuring tells of a machine.
//
//   tailor tune search --n 768 --k 768 --trials 40 --seeds 3
//   tailor tune profile -o machine.profile
#include <CLI/CLI.hpp>
#include <cstdio>
#include <stdexcept>

#include "tools/tune/commands.h"

int main(int argc, char** argv) {
  CLI::App app("Measures products on this machine, and searches for better schedules of them", "tailor tune");
  app.require_subcommand(1);

  tailor::SearchArguments search;
  CLI::App* searching = app.add_subcommand("search", "Searches for the best schedule of one product");
  searching->add_option("--n", search.n, "columns of the right operand");
  searching->add_option("--k", search.k, "its rows");
  searching->add_option("--rows", search.rows, "of the left operand: all that a schedule is judged by")->delimiter(',');
  searching->add_option("--trials", search.trials, "schedules that either search measures");
  searching->add_option("--seeds", search.seeds, "how often to search");
  searching->add_option("--seed", search.seed, "the first seed");
  searching->add_flag("--from-scratch", search.from_scratch, "do not begin with the compiler's own schedule");

  tailor::ProfileArguments profile;
  CLI::App* profiling = app.add_subcommand("profile", "Measures what tiles of products cost on this machine");
  profiling->add_option("-o,--output", profile.output, "where to write the profile");
  profiling->add_option("--keep", profile.keep, "only so many micro-kernels, the highest ranks");
  profiling->add_option("--passes", profile.passes, "over all micro-kernels: more of them find quieter moments");

  CLI11_PARSE(app, argc, argv);
  try {
    if (*searching) tailor::SearchSchedules(search);
    if (*profiling) tailor::MeasureProfile(profile);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "tailor tune: %s\n", failure.what());
    return 1;
  }
  return 0;
}

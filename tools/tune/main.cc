// tailor-tune, which `tailor tune` runs: measures this machine.
//
//   tailor tune search --n 768 --k 768 --trials 40 --seeds 3
//   tailor tune profile -o machine.profile
//   tailor tune model model.tlr --dims batch=1,8 --seconds 60 -o model.profile
//   tailor tune pack -o kernels.pack --target x86-64-v3
//   tailor tune cuts -o times.csv --operands 10
//   tailor tune classify times.csv --tree
//   tailor tune provider onednn -o choice.txt
#include <CLI/CLI.hpp>
#include <cstdio>
#include <stdexcept>

#include "tools/tune/commands.h"

int main(int argc, char** argv) {
  CLI::App app("Measures matmuls on this machine, and searches for better schedules of them", "tailor tune");
  app.require_subcommand(1);

  tailor::tune::SearchArguments search;
  CLI::App* searching = app.add_subcommand("search", "Searches for the best schedule of one matmul");
  searching->add_option("--n", search.n, "columns of the rhs");
  searching->add_option("--k", search.k, "rows of the rhs");
  searching->add_option("--rows", search.rows, "rows of the lhs: a schedule is judged by the mean over them")
      ->delimiter(',');
  searching->add_option("--trials", search.trials, "schedules that each search measures");
  searching->add_option("--seeds", search.seeds, "number of searches");
  searching->add_option("--seed", search.seed, "the first seed");
  searching->add_flag("--from-scratch", search.from_scratch, "do not begin with the compiler's own schedule");

  tailor::tune::ProfileArguments profile;
  CLI::App* profiling = app.add_subcommand("profile", "Measures what tiles of matmuls cost on this machine");
  profiling->add_option("-o,--output", profile.output, "where to write the profile");
  profiling->add_option("--keep", profile.keep, "keep this many micro-kernels, by rank; default: all");
  profiling->add_option("--passes", profile.passes, "passes over all micro-kernels; more of them reduce noise");
  profiling->add_option("--target", profile.target, "x86-64-v2, x86-64-v3 or x86-64-v4; default: this machine's level");

  tailor::tune::ModelTuneArguments model;
  CLI::App* tuning = app.add_subcommand("model", "Searches the cost profile under which a model is fastest");
  tuning->add_option("artifact", model.artifact, "what `tailor compile` wrote")->required();
  tuning->add_option("--dims", model.input.dims, "sizes of symbols, with lists: batch=1,8")->allow_extra_args(false);
  tuning->add_option("--range", model.input.ranges, "range of random inputs: LOW:HIGH or NAME=LOW:HIGH")
      ->allow_extra_args(false);
  tuning->add_option("--input", model.input.tensors, "NAME=VALUE, as for `tailor run`")->allow_extra_args(false);
  tuning->add_option("--target", model.target, "the variant of the artifact to tune; default: the best here");
  tuning->add_option("--profile", model.profile, "the profile to begin with; default: the compiler's own");
  tuning->add_option("--seconds", model.seconds, "how long to search");
  tuning->add_option("--seed", model.seed, "seed of the search");
  tuning->add_option("-o,--output", model.output, "where to write the best profile");

  tailor::tune::PackArguments pack;
  CLI::App* packing = app.add_subcommand("pack", "Writes micro-kernels for tailor-measure, which needs no compiler");
  packing->add_option("-o,--output", pack.output, "where to write them")->required();
  packing->add_option("--target", pack.target, "x86-64-v2, x86-64-v3 or x86-64-v4; default: this machine's level");

  tailor::tune::TilingsArguments tilings;
  CLI::App* cutting = app.add_subcommand("cuts", "Times matmuls under many tilings");
  cutting->add_option("-o,--output", tilings.output, "where to write the times")->required();
  cutting->add_option("--operands", tilings.operands, "number of rhs operands, drawn at random");
  cutting->add_option("--seed", tilings.seed, "seed of the sizes");

  tailor::tune::ClassifyArguments classify;
  CLI::App* classifying = app.add_subcommand("classify", "Learns from times which tiling fits which matmul");
  classifying->add_option("times", classify.times, "files that `tailor tune cuts` wrote")->required();
  classifying->add_option("--profile", classify.profile, "what `tailor tune profile` wrote, to compare with");
  classifying->add_option("--cuts", classify.tilings, "number of tilings to choose from");
  classifying->add_option("--depth", classify.depth, "greatest depth of the tree");
  classifying->add_flag("--tree", classify.print_tree, "print the tree");

  tailor::tune::ProviderArguments provider;
  CLI::App* providing = app.add_subcommand("provider", "Learns which matmuls another library should compute");
  providing->add_option("name", provider.name, "onednn: libtailor_onednn.so")->required();
  providing->add_option("-o,--output", provider.output, "where to write the choice")->required();
  providing->add_option("--operands", provider.operands, "number of rhs operands, drawn at random");
  providing->add_option("--seed", provider.seed, "seed of the sizes");

  CLI11_PARSE(app, argc, argv);
  try {
    if (*searching) tailor::tune::SearchSchedules(search);
    if (*profiling) tailor::tune::MeasureProfile(profile);
    if (*tuning) tailor::tune::TuneModel(model);
    if (*packing) tailor::tune::WriteKernelPack(pack);
    if (*cutting) tailor::tune::MeasureTilings(tilings);
    if (*classifying) tailor::tune::ClassifyTilings(classify);
    if (*providing) tailor::tune::ChooseProvider(provider);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "tailor tune: %s\n", failure.what());
    return 1;
  }
  return 0;
}

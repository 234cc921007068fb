// The command line tool:
//
//   tailor inspect model.tlr [--json]
//   tailor run model.tlr --input x=2x3xf32=1,2,3,4,5,6 --input mask=@mask.npy [--output y=@y.npy]
//   tailor devices
//   tailor compile model.onnx -o model.tlr --dim batch=1..64 --fixed axes=@axes.npy [--target x86-64-v3]
//   tailor compile graph.txt -o model.tlr [--constants weights.npz]
//   tailor import model.onnx
//   tailor facts model.onnx
//   tailor tune search --n 768 --k 768
#include <CLI/CLI.hpp>
#include <cstdio>
#include <stdexcept>

#include "tools/tailor/commands.h"

namespace {

void AddModel(CLI::App* verb, tailor::ModelArguments* model) {
  verb->add_option("model", model->path, "model.onnx, or a graph's text")->required();
  verb->add_option("--dim", model->dims,
                   "NAME=N, NAME=MIN..MAX or NAME=EXPRESSION: a dim_param of an ONNX model, or <input>_dim<i>");
  verb->add_option("--fixed", model->fixed,
                   "NAME=@file.npy or NAME=2xi64=1,2: an input of an ONNX model that always has this value");
  verb->add_option("--custom-domain", model->custom_domains,
                   "a domain of an ONNX model whose nodes are custom operators");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Inspects, runs and makes Tailor artifacts");
  app.require_subcommand(1);

  tailor::InspectArguments inspect;
  CLI::App* inspecting = app.add_subcommand("inspect", "Prints what an artifact holds");
  inspecting->add_option("artifact", inspect.artifact)->required();
  inspecting->add_flag("--json", inspect.json, "all of it, as JSON");

  tailor::RunArguments run;
  CLI::App* running = app.add_subcommand("run", "Runs an artifact once");
  running->add_option("artifact", run.artifact)->required();
  running->add_option("--input", run.inputs, "name=2x3xf32=1,2,...; name=2x3xf32 for zeros; name=@file.npy");
  running->add_option("--output", run.outputs, "name=@file.npy: write it there instead of printing it");
  running->add_option("--threads", run.threads, "including the caller's")->check(CLI::Range(1, 1024));
  running->add_option("--provider", run.provider,
                      "the library that computes the matmuls that the artifact offers: onednn (libtailor_onednn.so), "
                      "or cublaslt on a GPU");
  running->add_option("--provider-choice", run.provider_choice,
                      "which of these matmuls: a file of `tailor tune provider`");

  running->add_option("--device", run.device, "cpu (default), cuda, or cuda:1 for the second GPU");

  CLI::App* listing = app.add_subcommand("devices", "Lists devices for artifacts, and why there is no GPU");

  tailor::CompileArguments compile;
  CLI::App* compiling = app.add_subcommand("compile", "Compiles an ONNX model, or a graph from its text");
  AddModel(compiling, &compile.model);
  compiling->add_option("-o,--output", compile.artifact, "the artifact; default: the model's path with .tlr");
  compiling->add_option(
      "--target", compile.targets,
      "x86-64-v2, x86-64-v3, x86-64-v4 or host; default: the levels that speed the graph up; for GPUs "
      "sm_80, sm_90, sm_90a or cuda (all of these)");
  compiling->add_option("--max-versions", compile.max_versions, "most versions of each kernel; default: 8")
      ->check(CLI::PositiveNumber);
  compiling->add_option("--donate", compile.donated, "an input whose memory runs may write");
  CLI::Option* constants =
      compiling->add_option("--constants", compile.constants, "file.npz: constants that the text leaves out, by name");
  compiling->add_option("--random-constants", compile.constants_seed, "a seed: such constants are drawn at random")
      ->excludes(constants);
  compiling->add_flag("--offer-products", compile.offer_products, "a matmul provider may compute plain matmuls");
  compiling->add_flag("--allow-tf32", compile.allow_tf32, "on GPUs, matmuls in f32 round their operands to tf32");
  compiling->add_flag("--direct-convolutions", compile.direct_convolutions,
                      "on CPUs, no convolution uses Winograd's algorithm");
  compiling->add_option("--memory-limit", compile.memory_limit, "most bytes (512m, 2g) that compiling may take")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/false));
  compiling->add_flag("--isolated", compile.isolated, "in a process of its own, where the limit is exact");

  tailor::ModelArguments printed;
  CLI::App* importing = app.add_subcommand("import", "Prints the text of a model's graph");
  AddModel(importing, &printed);
  bool text = true;
  importing->add_flag("--text", text, "the canonical text (the default)");
  CLI::App* facts = app.add_subcommand("facts", "Prints what is known of a model's dims: symbols, ranges, equalities");
  AddModel(facts, &printed);

  CLI::App* tuning = app.add_subcommand("tune", "Measures matmuls on this machine (tailor tune --help)");
  tuning->prefix_command()->set_help_flag();

  CLI11_PARSE(app, argc, argv);
  try {
    if (*inspecting) tailor::Inspect(inspect);
    if (*running) tailor::Run(run);
    if (*listing) tailor::Devices();
    if (*compiling) tailor::Compile(compile);
    if (*importing) tailor::PrintText(printed);
    if (*facts) tailor::PrintFacts(printed);
    if (*tuning) tailor::Tune({tuning->remaining()});
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "tailor: %s\n", failure.what());
    return 1;
  }
  return 0;
}

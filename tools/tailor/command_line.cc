#include "tools/tailor/command_line.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "tools/tailor/command_table.h"
#include "tools/tailor/commands.h"
#include "tools/tailor/manual.h"

namespace tailor {
namespace {

constexpr char kTargets[] = "x86-64-v2|x86-64-v3|x86-64-v4|host|sm_80|sm_90|sm_90a|cuda";
constexpr char kDevices[] = "cpu|cuda|cuda:N";
constexpr char kModel[] = "an artifact (.tlr), an ONNX model (.onnx), or a graph's text; models are compiled in memory";

using Execute = std::function<int()>;

// A command whose arguments live as long as the parser. `execute` gets them.
template <typename Arguments>
CLI::App* AddCommand(CLI::App* app, Execute* run, const std::string& name, const std::string& summary,
                     int (*execute)(const Arguments&), std::shared_ptr<Arguments>* arguments) {
  *arguments = std::make_shared<Arguments>();
  CLI::App* command = app->add_subcommand(name, summary);
  command->callback([run, execute, held = *arguments] { *run = [execute, held] { return execute(*held); }; });
  return command;
}

// A check that the help does not mention.
CLI::Validator Quiet(CLI::Validator check) { return check.description(""); }

void AddJson(CLI::App* command, bool* json) { command->add_flag("--json", *json, "print one JSON object"); }

// An option that may be given several times, with one value each.
CLI::Option* AddList(CLI::App* command, const std::string& names, std::vector<std::string>* values,
                     const std::string& type, const std::string& text) {
  return command->add_option(names, *values, text)->type_name(type)->allow_extra_args(false);
}

void AddModelOptions(CLI::App* command, ModelArguments* model) {
  AddList(command, "--dim", &model->dims, "NAME=DIM",
          "of an ONNX model, a dim_param or <input>_dim<i>: NAME=N, NAME=MIN..MAX or NAME=EXPRESSION");
  AddList(command, "--fixed", &model->fixed, "NAME=VALUE",
          "of an ONNX model, an input that always has this value: NAME=@FILE.npy or NAME=2xi64=1,2");
  AddList(command, "--custom-domain", &model->custom_domains, "DOMAIN",
          "of an ONNX model, a domain whose nodes are custom operators");
  CLI::Option* constants =
      command->add_option("--constants", model->constants, "constants that a graph's text leaves out, by name")
          ->type_name("FILE.npz");
  command->add_option("--random-constants", model->constants_seed, "such constants are drawn at random")
      ->type_name("SEED")
      ->excludes(constants);
}

void AddLoadOptions(CLI::App* command, LoadArguments* load) {
  command->add_option("model", load->model.path, kModel)->required()->type_name("FILE");
  command->add_option("--device", load->device, "where to run")->type_name(kDevices)->capture_default_str();
  command->add_option("--target", load->target, "the variant of an artifact to use, or the target to compile for")
      ->type_name(kTargets);
  command
      ->add_option("--provider", load->provider,
                   "the library that computes the matmuls that the artifact offers: onednn (libtailor_onednn.so), or "
                   "cublaslt on a GPU")
      ->type_name("onednn|cublaslt|NAME");
  command
      ->add_option("--provider-choice", load->provider_choice,
                   "which of these matmuls: what `tailor tune provider` wrote")
      ->type_name("FILE");
  command
      ->add_option("--cost-profile", load->cost_profile,
                   "the cost profile of this machine (tailor tune profile), by which matmuls choose their tilings; "
                   "models are compiled for it")
      ->type_name("FILE");
  command->add_option("--public-key", load->public_key, "refuse an artifact that is not signed with this key's secret")
      ->type_name("FILE");
  AddModelOptions(command, &load->model);
}

// Positional ones, and the same as an option.
void AddInputs(CLI::App* command, InputArguments* input) {
  command
      ->add_option("inputs", input->tensors,
                   "NAME=@FILE.npy, NAME=@FILE.npz[:ARRAY], @FILE.npz (all of its arrays), NAME=2x3xf32=1,2,..., "
                   "NAME=2x3xf32 (zeros) or NAME=2x3xf32=@FILE (raw bytes); other inputs are random")
      ->type_name("NAME=VALUE");
  AddList(command, "--input", &input->more, "NAME=VALUE", "the same as an option");
}

void AddInputOptions(CLI::App* command, InputArguments* input, const std::string& dims, const std::string& dims_text) {
  AddList(command, "--dims", &input->dims, dims, dims_text);
  AddList(
      command, "--range", &input->ranges, "[NAME=]LOW:HIGH",
      "the range of random elements, of all inputs or one; integers include both ends (default: floats -1:1, integers "
      "0:1)");
  command->add_option("--seed", input->seed, "of random inputs and shapes")->type_name("N")->capture_default_str();
}

CLI::Option* AddThreads(CLI::App* command, uint64_t* threads, const std::string& text) {
  return command->add_option("--threads", *threads, text)
      ->check(Quiet(CLI::Range(1, 1024)))
      ->type_name("N")
      ->capture_default_str();
}

void AddRun(CLI::App* app, Execute* run) {
  std::shared_ptr<RunArguments> arguments;
  CLI::App* command = AddCommand(app, run, "run", "Runs a model once", tailor::Run, &arguments);
  AddLoadOptions(command, &arguments->load);
  AddInputs(command, &arguments->input);
  AddInputOptions(command, &arguments->input, "SYMBOL=SIZE,...",
                  "sizes of dims, for random inputs; others have a likely size, or the smallest above 0");
  AddList(command, "-o,--output,--out", &arguments->outputs, "NAME=@FILE.npy", "write an output to a file");
  AddList(command, "--expect", &arguments->expected, "NAME=VALUE",
          "compare an output, with a value as of --input; exit code 1 if they differ");
  command->add_option("--rtol", arguments->rtol, "floats match within atol + rtol * |expected|")
      ->type_name("X")
      ->check(Quiet(CLI::NonNegativeNumber))
      ->capture_default_str();
  command->add_option("--atol", arguments->atol, "see --rtol")
      ->type_name("X")
      ->check(Quiet(CLI::NonNegativeNumber))
      ->capture_default_str();
  AddThreads(command, &arguments->threads, "threads of the run");
  command
      ->add_option("--values", arguments->values,
                   "print outputs as --input reads them, N elements at most, instead of statistics")
      ->type_name("N")
      ->check(Quiet(CLI::NonNegativeNumber));
  command
      ->add_option("--trace", arguments->trace, "write the times of kernel launches, for Perfetto or chrome://tracing")
      ->type_name("FILE");
  AddJson(command, &arguments->json);
  command->footer(
      "Prints type, minimum, mean and maximum of each output, and the elements of small ones, then the time of the "
      "run. "
      "Inputs that are not given are random, and depend only on seed, name, type and range.\n"
      "Examples:\n"
      "  tailor run model.tlr --dims B=2,S=128 --range ids=0:30521\n"
      "  tailor run model.onnx x=@x.npy --expect y=@y.npy --rtol 1e-3\n"
      "  tailor run model.tlr x=2x3xf32=1,2,3,4,5,6 -o y=@y.npy\n");
}

void AddBench(CLI::App* app, Execute* run) {
  std::shared_ptr<BenchArguments> arguments;
  CLI::App* command =
      AddCommand(app, run, "bench", "Measures latency and throughput at many shapes", Bench, &arguments);
  AddLoadOptions(command, &arguments->load);
  AddInputs(command, &arguments->input);
  AddInputOptions(
      command, &arguments->input, "SYMBOL=SIZES,...",
      "a size, a list (S=16,32,64) or a range (B=1..8) of each symbol; every combination of lists is measured");
  command->add_option("--random", arguments->random_dims, "draw N shapes from --dims; needed for ranges")
      ->type_name("N")
      ->check(Quiet(CLI::PositiveNumber));
  command->add_option("--compare", arguments->compared, "a second model, measured by turns with the first")
      ->type_name("FILE");
  command
      ->add_option("--duration", arguments->seconds,
                   "seconds of timed runs of each model; each shape runs at least once")
      ->type_name("SECONDS")
      ->check(Quiet(CLI::NonNegativeNumber))
      ->capture_default_str();
  command->add_option("--warmup", arguments->warmup, "runs of each shape before, untimed")
      ->type_name("N")
      ->check(Quiet(CLI::Range(1, 1000000)))
      ->capture_default_str();
  command->add_option("--callers", arguments->callers, "concurrent callers, with a session each")
      ->type_name("N")
      ->check(Quiet(CLI::Range(1, 1024)))
      ->capture_default_str();
  AddThreads(command, &arguments->threads, "threads of each caller");
  command->add_option("--items", arguments->items, "the symbol that counts the items of a run (default: the first dim)")
      ->type_name("SYMBOL");
  command
      ->add_option("--trace", arguments->trace,
                   "after measuring, write the times of kernel launches, for Perfetto or chrome://tracing")
      ->type_name("FILE");
  command->add_option("--trace-runs", arguments->traced, "runs to trace at most, of a shape each")
      ->type_name("N")
      ->check(Quiet(CLI::PositiveNumber))
      ->capture_default_str();
  AddJson(command, &arguments->json);
  command->footer(
      "Times are of whole runs, from inputs in host memory to outputs there. One caller runs two models by turns, "
      "shape by "
      "shape; the time ratio is that of the second model's median to the first's.\n"
      "Examples:\n"
      "  tailor bench model.tlr --dims B=1..8,S=1..512 --random 200\n"
      "  tailor bench model.tlr --dims B=1,S=16,32,64,128 --threads 2 --trace trace.json\n"
      "  tailor bench model.tlr --compare other.tlr --dims B=4,S=64 --callers 8 --json\n");
}

void AddCompile(CLI::App* app, Execute* run) {
  std::shared_ptr<CompileArguments> arguments;
  CLI::App* command = AddCommand(app, run, "compile", "Compiles a model to an artifact", tailor::Compile, &arguments);
  command->add_option("model", arguments->model.path, "an ONNX model (.onnx), or a graph's text")
      ->required()
      ->type_name("FILE");
  AddModelOptions(command, &arguments->model);
  command->add_option("-o,--output", arguments->artifact, "the artifact (default: the model's path with .tlr)")
      ->type_name("FILE");
  AddList(
      command, "--target", &arguments->targets, kTargets,
      "a target, with a variant of its own (default: the CPU levels that speed the graph up); cuda: all GPU targets");
  command->add_option("--max-versions", arguments->max_versions, "most versions of each kernel (default: 8)")
      ->type_name("N")
      ->check(Quiet(CLI::PositiveNumber));
  AddList(command, "--donate", &arguments->donated, "INPUT", "an input whose memory runs may write");
  command->add_flag("--offer-products", arguments->offer_products, "a matmul provider may compute plain matmuls");
  command->add_flag("--allow-tf32", arguments->allow_tf32, "on GPUs, matmuls in f32 round their operands to tf32");
  command->add_flag("--direct-convolutions", arguments->direct_convolutions,
                    "on CPUs, no convolution uses Winograd's algorithm");
  command->add_option("--threads", arguments->threads, "threads of the compiler (default: the CPUs that it may use)")
      ->type_name("N")
      ->check(Quiet(CLI::Range(1, 1024)));
  command->add_option("--memory-limit", arguments->memory_limit, "most memory that compiling may take: 512m, 2g")
      ->type_name("BYTES")
      ->transform(Quiet(CLI::AsSizeValue(/*kb_is_1000=*/false)));
  command->add_flag("--isolated", arguments->isolated, "compile in a process of its own, where the limit is exact");
  command
      ->add_option("--optimize", arguments->optimize,
                   "0: of CPU code, code generation optimizes only micro-kernels of matmuls and convolutions: "
                   "compiles faster, runs slower (default: 1)")
      ->type_name("0|1")
      ->check(Quiet(CLI::Range(0, 1)));
  command
      ->add_option("--denormals", arguments->denormals,
                   "on CPUs, keep denormal numbers or flush them to zero (default: auto, which flushes if the weights "
                   "have some)")
      ->type_name("auto|keep|flush")
      ->check(Quiet(CLI::IsMember({"auto", "keep", "flush"})));
  AddList(command, "--without", &arguments->without, "PASS",
          "a pass to leave out, to find what a result or a time is due to (docs/compiling.md)");
  command
      ->add_option("--cost-profile", arguments->cost_profile,
                   "the cost profile of the machine to compile for (tailor tune profile), with one CPU target "
                   "(docs/compiling.md)")
      ->type_name("FILE");
  command->add_option("--key", arguments->key, "sign the artifact with this secret key (tailor keygen)")
      ->type_name("FILE");
  command->add_flag("--progress", arguments->progress, "show progress also where stderr is no terminal");
  AddJson(command, &arguments->json);
  command->footer(
      "Ctrl-C ends a compilation without a file left behind.\n"
      "Examples:\n"
      "  tailor compile model.onnx --dim batch=1..64 --fixed axes=@axes.npy\n"
      "  tailor compile graph.txt -o model.tlr --constants weights.npz --target x86-64-v3 --target cuda\n");
}

void AddInspect(CLI::App* app, Execute* run) {
  std::shared_ptr<InspectArguments> arguments;
  CLI::App* command = AddCommand(app, run, "inspect", "Prints what an artifact holds", Inspect, &arguments);
  command->add_option("artifact", arguments->artifact, "the file, of any machine: it is not loaded")
      ->required()
      ->type_name("FILE");
  AddJson(command, &arguments->json);
  command->footer("Examples:\n  tailor inspect model.tlr\n  tailor inspect model.tlr --json\n");
}

void AddPrinters(CLI::App* app, Execute* run) {
  std::shared_ptr<PrintArguments> text, facts;
  CLI::App* importing =
      AddCommand(app, run, "import", "Prints the canonical text of a model's graph", PrintText, &text);
  importing->add_option("model", text->model.path, "an ONNX model (.onnx), or a graph's text")
      ->required()
      ->type_name("FILE");
  AddModelOptions(importing, &text->model);
  static bool unused = true;
  importing->add_flag("--text", unused, "the canonical text")->group("");
  AddJson(importing, &text->json);
  importing->footer("Examples:\n  tailor import model.onnx > graph.txt\n");
  CLI::App* proving = AddCommand(
      app, run, "facts", "Prints what is known of a model's dims: symbols, ranges, equalities", PrintFacts, &facts);
  proving->add_option("model", facts->model.path, "an ONNX model (.onnx), or a graph's text")
      ->required()
      ->type_name("FILE");
  AddModelOptions(proving, &facts->model);
  AddJson(proving, &facts->json);
  proving->footer("Examples:\n  tailor facts model.onnx --dim batch=1..64\n");
}

void AddKeys(CLI::App* app, Execute* run) {
  std::shared_ptr<KeygenArguments> keygen;
  CLI::App* making =
      AddCommand(app, run, "keygen", "Makes an Ed25519 key pair to sign artifacts with", Keygen, &keygen);
  making->add_option("-o,--output", keygen->path, "the secret key; the public key has .pub in place of its extension")
      ->type_name("FILE")
      ->capture_default_str();
  making->add_flag("--force", keygen->force, "replace files that exist");
  AddJson(making, &keygen->json);
  making->footer(
      "Both files are PEM, as of `openssl genpkey -algorithm ed25519`. The secret key's has mode 0600.\n"
      "Examples:\n  tailor keygen -o release.key\n");

  std::shared_ptr<SignArguments> sign;
  CLI::App* signing = AddCommand(app, run, "sign", "Signs an artifact", Sign, &sign);
  signing->add_option("artifact", sign->artifact, "verified before it is signed")->required()->type_name("FILE");
  signing->add_option("--key", sign->key, "the secret key")->required()->type_name("FILE");
  signing->add_option("-o,--output", sign->output, "the signed artifact (default: in place)")->type_name("FILE");
  AddJson(signing, &sign->json);
  signing->footer("Examples:\n  tailor sign model.tlr --key release.key\n");

  std::shared_ptr<VerifyArguments> verify;
  CLI::App* verifying = AddCommand(app, run, "verify", "Verifies an artifact's hashes and signature", Verify, &verify);
  verifying->add_option("artifact", verify->artifact, "the file, of any machine: it is not loaded")
      ->required()
      ->type_name("FILE");
  verifying
      ->add_option("--public-key", verify->public_key,
                   "the key that must have signed it: a PEM file, or 64 hex digits; without it, hashes alone")
      ->type_name("FILE");
  AddJson(verifying, &verify->json);
  verifying->footer(
      "Exit code 1: the file is damaged, or not signed with this key.\n"
      "Examples:\n  tailor verify model.tlr --public-key release.pub\n");
}

void AddDevices(CLI::App* app, Execute* run) {
  std::shared_ptr<DevicesArguments> arguments;
  CLI::App* command = AddCommand(app, run, "devices", "Lists devices for artifacts, and why there is no GPU",
                                 tailor::Devices, &arguments);
  AddJson(command, &arguments->json);
  command->footer("Examples:\n  tailor devices\n");
}

void AddTune(CLI::App* app, Execute* run) {
  CLI::App* command = app->add_subcommand("tune", "Measures matmuls on this machine (tailor tune --help)");
  command->prefix_command()->set_help_flag();
  command->callback([command, run] { *run = [command] { return Tune(command->remaining()); }; });
  command->footer("Examples:\n  tailor tune --help\n");
}

void AddTexts(CLI::App* app, Execute* run) {
  static std::string shell, folder, page;
  CLI::App* completing =
      app->add_subcommand("completion", "Prints a script that completes commands and options in a shell");
  completing->add_option("shell", shell, "the shell")->required()->type_name("bash|zsh|fish");
  completing->callback([app, run] { *run = [app] { return PrintCompletion(*app, shell); }; });
  completing->footer(
      "Examples:\n"
      "  source <(tailor completion bash)\n"
      "  tailor completion zsh > ~/.zfunc/_tailor\n"
      "  tailor completion fish > ~/.config/fish/completions/tailor.fish\n");
  CLI::App* writing =
      app->add_subcommand("man-pages", "Writes tailor.1 and the commands' pages to a folder")->group("");
  writing->add_option("folder", folder)->required();
  writing->callback([app, run] { *run = [app] { return WriteManPages(*app, folder); }; });
  CLI::App* referring = app->add_subcommand("reference", "Writes the reference into docs/cli.md")->group("");
  static bool check = false;
  referring->add_option("page", page)->required();
  referring->add_flag("--check", check);
  referring->callback([app, run] { *run = [app] { return WriteReference(*app, page, check); }; });
}

}  // namespace

void AddCommands(CLI::App* app, Execute* run) {
  AddCompile(app, run);
  AddRun(app, run);
  AddBench(app, run);
  AddInspect(app, run);
  AddPrinters(app, run);
  AddKeys(app, run);
  AddDevices(app, run);
  AddTune(app, run);
  AddTexts(app, run);
}

}  // namespace tailor

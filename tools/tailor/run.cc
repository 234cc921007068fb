#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>

#include "tools/handles.h"
#include "tools/provider_library.h"
#include "tools/tailor/commands.h"
#include "tools/tailor/tensor_file.h"

namespace tailor {
namespace {

constexpr int64_t kShownElements = 64;

tailor_tensor Describe(NamedTensor& tensor) {
  if (tensor.dims.size() > TAILOR_MAX_RANK) throw std::runtime_error(tensor.name + " has too many dims");
  tailor_tensor out;
  tailor_tensor_init(&out);
  out.data = tensor.bytes.data();
  out.data_bytes = tensor.bytes.size();
  out.dtype = static_cast<int32_t>(tensor.dtype);
  out.rank = static_cast<int32_t>(tensor.dims.size());
  std::copy(tensor.dims.begin(), tensor.dims.end(), out.dims);
  return out;
}

// The given inputs in signature order.
std::vector<NamedTensor> OrderedInputs(const tailor_executable* executable, const std::vector<std::string>& arguments) {
  std::map<std::string, NamedTensor> given;
  for (const std::string& argument : arguments) {
    NamedTensor tensor = ParseTensor(argument);
    const std::string name = tensor.name;
    if (!given.emplace(name, std::move(tensor)).second) throw std::runtime_error("input " + name + " is given twice");
  }
  std::vector<NamedTensor> ordered;
  for (size_t i = 0; i < tailor_executable_input_count(executable); ++i) {
    tailor_tensor_info info;
    tailor_tensor_info_init(&info);
    Check(tailor_executable_input(executable, i, &info));
    auto found = given.find(info.name);
    if (found == given.end()) throw std::runtime_error(std::string("input ") + info.name + " is missing");
    ordered.push_back(std::move(found->second));
    given.erase(found);
  }
  if (!given.empty()) throw std::runtime_error("there is no input " + given.begin()->first);
  return ordered;
}

// File by output name.
std::map<std::string, std::string> OutputFiles(const std::vector<std::string>& arguments) {
  std::map<std::string, std::string> files;
  for (const std::string& argument : arguments) {
    const size_t at = argument.find("=@");
    if (at == std::string::npos) throw std::runtime_error("\"" + argument + "\": expected name=@file.npy");
    files[argument.substr(0, at)] = argument.substr(at + 2);
  }
  return files;
}

NamedTensor Result(const char* name, const tailor_tensor& tensor) {
  NamedTensor result{name, static_cast<DType>(tensor.dtype), {tensor.dims, tensor.dims + tensor.rank}, {}};
  int64_t bytes = SizeOf(result.dtype);
  for (int64_t dim : result.dims) bytes *= dim;
  const char* data = static_cast<const char*>(tensor.data);
  result.bytes.assign(data, data + bytes);
  return result;
}

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in.is_open()) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

RuntimeHandle MakeRuntime(const RunArguments& arguments) {
  tailor_runtime_options options;
  tailor_runtime_options_init(&options);
  options.cublas_lt = arguments.provider == "cublaslt";
  if (!arguments.provider.empty() && options.cublas_lt == 0) {
    options.product_provider = LoadProvider(arguments.provider);
  }
  std::string choice;
  if (!arguments.provider_choice.empty()) {
    choice = ReadFile(arguments.provider_choice);
    options.product_choice = choice.data();
    options.product_choice_size = choice.size();
  }
  tailor_runtime* runtime = nullptr;
  Check(tailor_runtime_create(&options, &runtime));
  return RuntimeHandle(runtime);
}

// Sets the device that "cpu", "cuda" or "cuda:1" names.
void ReadDevice(const std::string& text, tailor_load_options* options) {
  if (text == "cpu") return;
  int ordinal = 0, read = 0;
  const bool numbered = std::sscanf(text.c_str(), "cuda:%d%n", &ordinal, &read) == 1;
  if (text != "cuda" && (!numbered || static_cast<size_t>(read) != text.size())) {
    throw std::runtime_error("\"" + text + "\" is no device: expected cpu, cuda or cuda:1");
  }
  options->device = TAILOR_DEVICE_CUDA;
  options->device_ordinal = ordinal;
}

}  // namespace

void Run(const RunArguments& arguments) {
  tailor_load_options load;
  tailor_load_options_init(&load);
  ReadDevice(arguments.device, &load);
  const RuntimeHandle runtime = MakeRuntime(arguments);
  const ExecutableHandle executable = LoadArtifact(arguments.artifact, &load, runtime.get());
  std::vector<NamedTensor> inputs = OrderedInputs(executable.get(), arguments.inputs);
  std::map<std::string, std::string> files = OutputFiles(arguments.outputs);
  std::vector<tailor_tensor> given, results(tailor_executable_output_count(executable.get()));
  for (NamedTensor& input : inputs) given.push_back(Describe(input));
  for (tailor_tensor& result : results) tailor_tensor_init(&result);

  tailor_session_options options;
  tailor_session_options_init(&options);
  options.threads = arguments.threads;
  options.host_outputs = 1;
  tailor_session* created = nullptr;
  Check(tailor_session_create(executable.get(), &options, &created));
  const SessionHandle session(created);
  Check(tailor_session_run(session.get(), given.data(), given.size(), results.data(), results.size()));

  for (size_t i = 0; i < results.size(); ++i) {
    tailor_tensor_info info;
    tailor_tensor_info_init(&info);
    Check(tailor_executable_output(executable.get(), i, &info));
    const NamedTensor result = Result(info.name, results[i]);
    auto file = files.find(info.name);
    if (file == files.end()) {
      std::cout << result.name << "=" << TensorText(result, kShownElements) << "\n";
      continue;
    }
    WriteNpy(file->second, result);
    files.erase(file);
  }
  if (!files.empty()) throw std::runtime_error("there is no output " + files.begin()->first);
}

}  // namespace tailor

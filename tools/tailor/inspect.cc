#include <iostream>
#include <nlohmann/json.hpp>

#include "tools/handles.h"
#include "tools/tailor/commands.h"
#include "tools/tailor/failures.h"

namespace tailor {
namespace {

using nlohmann::json;

std::string Joined(const json& texts, const char* separator) {
  std::string out;
  for (const json& text : texts) out += (out.empty() ? "" : separator) + text.get<std::string>();
  return out;
}

std::string Type(const json& tensor) {
  std::string dims;
  for (const json& dim : tensor["dims"]) {
    dims += (dims.empty() ? "" : ", ") + (dim.is_string() ? dim.get<std::string>() : dim.dump());
  }
  std::string text = tensor["name"].get<std::string>() + ": " + tensor["dtype"].get<std::string>() + "[" + dims + "]";
  if (tensor.contains("donated")) text += ", donated";
  if (tensor.contains("memory_of")) text += " in the memory of " + tensor["memory_of"].get<std::string>();
  return text;
}

void PrintSymbols(const json& symbols) {
  for (const json& symbol : symbols) {
    std::cout << "symbol   " << symbol["name"].get<std::string>() << " in [" << symbol["min"] << ", " << symbol["max"]
              << "]";
    if (symbol["multiple_of"] != 1) std::cout << " multiple_of " << symbol["multiple_of"];
    if (!symbol["likely"].empty()) std::cout << " likely " << symbol["likely"].dump();
    std::cout << "\n";
  }
}

void PrintVariant(const json& variant) {
  std::cout << "variant  " << variant["target"].get<std::string>() << ", " << variant["image_bytes"]
            << " bytes of code: " << Joined(variant["features"], " ") << "\n";
  for (const json& image : variant.value("device_images", json::array())) {
    std::cout << "  image  " << image["kind"].get<std::string>() << " " << image["target"].get<std::string>() << ", "
              << image["bytes"] << " bytes\n";
  }
  if (variant.contains("custom_operators")) {
    std::cout << "  custom operators " << Joined(variant["custom_operators"], ", ") << "\n";
  }
  for (const json& launch : variant["launches"]) {
    std::cout << "  launch " << launch["kernel"].get<std::string>() << " {" << Joined(launch["versions"], "; ") << "}";
    if (launch.contains("code_bytes")) {
      std::cout << ", code " << launch["code"] << " of " << launch["code_bytes"] << " bytes";
    }
    if (launch.contains("dropped")) std::cout << ", without {" << Joined(launch["dropped"], "; ") << "}";
    std::cout << "\n";
  }
}

}  // namespace

int Inspect(const InspectArguments& arguments) {
  if (arguments.artifact.ends_with(".onnx")) {
    throw UsageError(arguments.artifact +
                     " is an ONNX model, not an artifact: tailor facts lists its symbols, tailor "
                     "compile makes the artifact");
  }
  std::string text;
  Check(tailor_artifact_describe(
      arguments.artifact.data(), arguments.artifact.size(),
      [](void* user, const char* json, size_t size) { static_cast<std::string*>(user)->assign(json, size); }, &text));
  const json all = json::parse(text);
  if (arguments.json) {
    std::cout << all.dump(2) << "\n";
    return kExitSuccess;
  }
  const json& made = all["provenance"];
  std::cout << "graph    " << made["graph_name"].get<std::string>() << " " << made["graph_hash"].get<std::string>()
            << ", by Tailor " << made["tailor_version"].get<std::string>() << " with LLVM "
            << made["llvm_version"].get<std::string>() << "\n";
  std::cout << "size     " << all["artifact_bytes"] << " bytes, constants " << all["constant_bytes"] << " bytes in "
            << all["constants"].size() << "\n";
  if (!all["constants"].empty()) std::cout << "weights  " << all["constants_hash"].get<std::string>() << "\n";
  PrintSymbols(all["symbols"]);
  for (const json& tensor : all["inputs"]) std::cout << "input    " << Type(tensor) << "\n";
  for (const json& tensor : all["outputs"]) std::cout << "output   " << Type(tensor) << "\n";
  for (const json& fact : all["facts"]) std::cout << "fact     " << fact.get<std::string>() << "\n";
  for (const json& check : all["checks"]) std::cout << "check    " << check["message"].get<std::string>() << "\n";
  for (const json& variant : all["variants"]) PrintVariant(variant);
  return kExitSuccess;
}

}  // namespace tailor

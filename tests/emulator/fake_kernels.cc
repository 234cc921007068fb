#include "tests/emulator/fake_kernels.h"

#include <algorithm>
#include <cstring>

#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Module.h"

namespace tailor::fake_cuda {
namespace {

constexpr int64_t kSlotBytes = 8;  // of a parameter that is not an object

// Launch bounds (resident blocks) by kernel, for kernels that have one.
std::map<std::string, int> ReadResidentBlocks(const llvm::Module& module) {
  std::map<std::string, int> blocks;
  const llvm::NamedMDNode* annotations = module.getNamedMetadata("nvvm.annotations");
  if (annotations == nullptr) return blocks;
  for (const llvm::MDNode* each : annotations->operands()) {
    const auto* kernel = llvm::mdconst::dyn_extract_or_null<llvm::Function>(each->getOperand(0));
    const auto* what = llvm::dyn_cast<llvm::MDString>(each->getOperand(1));
    if (kernel == nullptr || what == nullptr || what->getString() != "minctasm") continue;
    blocks[kernel->getName().str()] =
        static_cast<int>(llvm::mdconst::extract<llvm::ConstantInt>(each->getOperand(2))->getZExtValue());
  }
  return blocks;
}

}  // namespace

std::unique_ptr<Kernels> Kernels::Load(std::string_view bitcode, FindMemory find_memory) {
  llvm::LLVMContext context;
  auto module = llvm::getLazyBitcodeModule(llvm::MemoryBufferRef(bitcode, "kernels"), context);
  if (!module) {
    llvm::consumeError(module.takeError());
    return nullptr;
  }
  llvm::cantFail((*module)->materializeMetadata());
  std::unique_ptr<Kernels> kernels(new Kernels(bitcode, std::move(find_memory)));
  kernels->resident_blocks_ = ReadResidentBlocks(**module);
  for (const llvm::Function& function : **module) {
    if (!kernels->emulator_.HasKernel(function.getName().str())) continue;
    std::vector<Parameter>& places = kernels->parameters_[function.getName().str()];
    for (const llvm::Argument& parameter : function.args()) {
      const uint64_t bytes =
          parameter.hasByValAttr() ? parameter.getParamByValType()->getArrayNumElements() : kSlotBytes;
      places.push_back({SimtParameterOffset(function, parameter.getArgNo()), static_cast<int64_t>(bytes)});
    }
    places.push_back({SimtParameterOffset(function, static_cast<unsigned>(function.arg_size())), 0});
  }
  return kernels;
}

int Kernels::Parameters(const std::string& kernel) const {
  const auto found = parameters_.find(kernel);
  return found == parameters_.end() ? -1 : static_cast<int>(found->second.size()) - 1;
}

bool Kernels::HasByvalParameters(const std::string& kernel) const {
  const std::vector<Parameter>& places = parameters_.at(kernel);
  return std::any_of(places.begin(), places.end() - 1, [](const Parameter& p) { return p.bytes > kSlotBytes; });
}

int Kernels::ResidentBlocks(const std::string& kernel) const {
  const auto found = resident_blocks_.find(kernel);
  return found == resident_blocks_.end() ? 0 : found->second;
}

bool IsCubin(const void* image) { return std::memcmp(image, "\177ELF", 4) == 0; }

std::string BitcodeOfImage(const void* image) {
  const auto* text = static_cast<const char*>(image);
  if (IsCubin(image)) {
    uint64_t size = 0;
    std::memcpy(&size, text + 8, sizeof(size));
    return {text + 16, size};
  }
  const char* comment = std::strstr(text, "// ");
  std::string bitcode;
  if (comment == nullptr) return bitcode;
  for (comment += 3; comment[0] != '\0' && comment[1] != '\0'; comment += 2) {
    bitcode += static_cast<char>(std::stoi(std::string(comment, 2), nullptr, 16));
  }
  return bitcode;
}

}  // namespace tailor::fake_cuda

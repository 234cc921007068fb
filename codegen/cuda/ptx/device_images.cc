#include "codegen/cuda/ptx/device_images.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/cuda/ptx/assembler.h"
#include "codegen/cuda/ptx/compile_ptx.h"
#include "codegen/cuda/ptx/join_ptx.h"
#include "codegen/ir/module_passes.h"
#include "codegen/jobs/job_pool.h"
#include "graph/status_macros.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/raw_ostream.h"

namespace tailor::cuda {
namespace {

std::vector<std::byte> BytesOf(absl::string_view text) {
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

std::string BitcodeOf(const llvm::Module& module) {
  std::string bitcode;
  llvm::raw_string_ostream stream(bitcode);
  llvm::WriteBitcodeToFile(module, stream);
  return bitcode;
}

absl::StatusOr<std::string> JoinBitcode(const std::vector<std::string>& modules) {
  llvm::LLVMContext context;
  llvm::Module all("kernels", context);
  for (const std::string& bitcode : modules) {
    auto module = llvm::parseBitcodeFile(llvm::MemoryBufferRef(bitcode, "kernels"), context);
    if (!module) return absl::InternalError(llvm::toString(module.takeError()));
    if (llvm::Linker::linkModules(all, std::move(*module))) {
      return absl::InternalError("two modules define one symbol");
    }
  }
  return BitcodeOf(all);
}

class ImageBuild {
 public:
  ImageBuild(int modules, const EmitDeviceModule& emit, absl::Span<const CudaTarget> targets,
             const DeviceImageOptions& options)
      : modules_(modules),
        emit_(emit),
        targets_(targets.begin(), targets.end()),
        parts_(targets.size(), std::vector<std::string>(modules)),
        images_(targets.size()),
        options_(options) {
    std::stable_sort(targets_.begin(), targets_.end(),
                     [](const CudaTarget& a, const CudaTarget& b) { return a.ptx_version > b.ptx_version; });
    auto found = FindAssembler();
    if (found.ok()) assembler_ = *std::move(found);
    said_ = assembler_ != nullptr ? assembler_->name() : std::string(found.status().message());
  }

  absl::StatusOr<DeviceImages> Run() {
    const int parts = modules_ * static_cast<int>(targets_.size());
    const auto report = [&](double share, double of, double from) { return options_.report(from + share * of); };
    TAILOR_RETURN_IF_ERROR(RunJobs(
        options_.threads, parts, [&](int job) { return MakePart(job / modules_, job % modules_); },
        [&](double share) { return report(share, 0.5, 0); }));
    TAILOR_RETURN_IF_ERROR(RunJobs(
        options_.threads, static_cast<int>(targets_.size()), [&](int target) { return MakeImage(target); },
        [&](double share) { return report(share, 0.5, 0.5); }));
    if (assembler_ != nullptr) AddFloor();
    return DeviceImages{std::move(images_), said_};
  }

 private:
  // The PTX or bitcode of one module for one target.
  absl::Status MakePart(int target, int number) {
    llvm::LLVMContext context;
    auto module = std::make_unique<llvm::Module>(absl::StrCat("kernels", number), context);
    TAILOR_RETURN_IF_ERROR(Named(target, emit_(targets_[target], number, *module)));
    std::string& part = parts_[target][number];
    if (targets_[target].is_emulated()) {
      TAILOR_RETURN_IF_ERROR(VerifyModule(*module));
      part = BitcodeOf(*module);
      return absl::OkStatus();
    }
    absl::StatusOr<std::string> ptx = CompileToPtx(std::move(module), targets_[target]);
    TAILOR_RETURN_IF_ERROR(Named(target, ptx.status()));
    part = *std::move(ptx);
    return absl::OkStatus();
  }

  absl::Status MakeImage(int number) {
    const CudaTarget& target = targets_[number];
    BuiltDeviceImage& image = images_[number];
    image.target = target.name;
    if (target.is_emulated()) {
      image.kind = DeviceImageKind::kIr;
      TAILOR_ASSIGN_OR_RETURN(const std::string bitcode, JoinBitcode(parts_[number]));
      image.bytes = BytesOf(bitcode);
    } else if (assembler_ == nullptr) {
      image.kind = DeviceImageKind::kPtx;
      image.bytes = PtxBytes(number);
    } else {
      absl::StatusOr<Assembly> assembly = assembler_->Assemble(JoinPtx(parts_[number]), target);
      TAILOR_RETURN_IF_ERROR(Named(number, assembly.status()));
      image.problems = FindProblems(assembly->log);
      image.bytes = std::move(assembly->cubin);
    }
    return absl::OkStatus();
  }

  void AddFloor() {
    const auto floor =
        std::find_if(targets_.rbegin(), targets_.rend(), [](const CudaTarget& t) { return t.is_floor(); });
    if (floor == targets_.rend()) return;
    const int number = static_cast<int>(targets_.rend() - floor) - 1;
    images_.push_back({floor->name, DeviceImageKind::kPtx, PtxBytes(number), {}});
  }

  std::vector<std::byte> PtxBytes(int target) const {
    const std::string ptx = JoinPtx(parts_[target]);
    return BytesOf(absl::string_view(ptx.c_str(), ptx.size() + 1));
  }

  absl::Status Named(int target, const absl::Status& status) const {
    if (status.ok()) return status;
    return absl::Status(status.code(), absl::StrCat(targets_[target].name, ": ", status.message()));
  }

  const int modules_;
  const EmitDeviceModule& emit_;
  std::vector<CudaTarget> targets_;              // latest first
  std::vector<std::vector<std::string>> parts_;  // by target and module
  std::vector<BuiltDeviceImage> images_;         // by target, then the floor
  std::unique_ptr<Assembler> assembler_;         // null: none
  std::string said_;                             // its name, or why there is none
  const DeviceImageOptions& options_;
};

}  // namespace

absl::StatusOr<DeviceImages> MakeDeviceImages(int modules, const EmitDeviceModule& emit,
                                              absl::Span<const CudaTarget> targets, const DeviceImageOptions& options) {
  return ImageBuild(modules, emit, targets, options).Run();
}

}  // namespace tailor::cuda

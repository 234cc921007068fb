#include "codegen/lower/chain_kernels.h"

#include <cassert>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tailor::lower {
namespace {

class Chain {
 public:
  explicit Chain(std::vector<LoweredKernel> kernels) : kernels_(std::move(kernels)) {
    for (const LoweredKernel& kernel : kernels_) {
      buffers_.emplace_back(kernel.operands.size(), -1);
      std::vector<int>& dims = dims_.emplace_back();
      for (const DimSlot& slot : kernel.plan.dims) dims.push_back(chain_.plan.AddDim(slot).slot);
    }
  }

  LoweredKernel Make() {
    AddRows();
    AddBound(BufferKind::kInput);
    AddBound(BufferKind::kOutput);
    for (size_t i = 0; i + 1 < kernels_.size(); ++i) AddBlock(i);
    std::vector<ChainLink>& links = chain_.plan.form.emplace<ChainForm>().links;
    for (size_t i = 0; i < kernels_.size(); ++i) {
      absl::StrAppend(&chain_.plan.name, i == 0 ? "" : "+", kernels_[i].plan.name);
      chain_.plan.fault_count += kernels_[i].plan.fault_count;
      chain_.faults.insert(chain_.faults.end(), kernels_[i].faults.begin(), kernels_[i].faults.end());
      kernels_[i].plan.name.clear();
      links.push_back({std::move(kernels_[i].plan), std::move(buffers_[i]), std::move(dims_[i])});
    }
    return std::move(chain_);
  }

 private:
  DimSize Mapped(size_t kernel, DimSize dim_size) const {
    if (!dim_size.is_constant()) dim_size.slot = dims_[kernel][dim_size.slot];
    return dim_size;
  }

  int Add(size_t kernel, BufferKind kind, Buffer buffer) {
    buffer.kind = kind;
    for (DimSize& dim_size : buffer.dims) dim_size = Mapped(kernel, dim_size);
    chain_.plan.buffers.push_back(std::move(buffer));
    return static_cast<int>(chain_.plan.buffers.size()) - 1;
  }

  void AddRows() {
    const std::vector<Axis>& axes = kernels_[0].plan.axes;
    for (size_t i = 0; i + 2 < axes.size(); ++i) chain_.plan.axes.push_back({Mapped(0, axes[i].dim_size)});
  }

  bool IsHandedOn(size_t kernel, size_t operand) const {
    const auto result = [&](size_t k) { return kernels_[k].operands.back().value; };
    if (operand + 1 == kernels_[kernel].operands.size()) return kernel + 1 < kernels_.size();
    const LoweredKernel::Operand& read = kernels_[kernel].operands[operand];
    return kernel > 0 && read.packed < 0 && read.value == result(kernel - 1);
  }

  void AddBound(BufferKind kind) {
    for (size_t k = 0; k < kernels_.size(); ++k) {
      for (size_t i = 0; i < kernels_[k].operands.size(); ++i) {
        const Buffer& buffer = kernels_[k].plan.buffers[i];
        if (buffer.kind != kind || IsHandedOn(k, i)) continue;
        buffers_[k][i] = Add(k, kind, buffer);
        chain_.operands.push_back(kernels_[k].operands[i]);
      }
    }
  }

  // Adds the block that holds the rows that kernel `k` passes to the next.
  void AddBlock(size_t k) {
    const Buffer& whole = kernels_[k].plan.buffers[buffers_[k].size() - 1];
    assert(whole.kind == BufferKind::kOutput);
    const int block = Add(k, BufferKind::kBlock, {.dtype = whole.dtype, .dims = {whole.dims.back()}});
    buffers_[k].back() = block;
    for (size_t i = 0; i + 1 < buffers_[k + 1].size(); ++i) {
      if (IsHandedOn(k + 1, i)) buffers_[k + 1][i] = block;
    }
  }

  std::vector<LoweredKernel> kernels_;
  std::vector<std::vector<int>> buffers_, dims_;  // by kernel: indices in the chain
  LoweredKernel chain_;
};

}  // namespace

LoweredKernel ChainKernels(std::vector<LoweredKernel> kernels) { return Chain(std::move(kernels)).Make(); }

}  // namespace tailor::lower

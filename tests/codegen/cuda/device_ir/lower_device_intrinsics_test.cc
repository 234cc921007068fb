#include "codegen/cuda/device_ir/lower_device_intrinsics.h"

#include "codegen/cuda/device_ir/device_intrinsics.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/raw_ostream.h"

namespace tailor::cuda {
namespace {

using testing::HasSubstr;
using testing::Not;

class DeviceIntrinsics : public testing::Test {
 protected:
  DeviceIntrinsics() : module_("device", context_), b_(context_) {
    auto* type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy()}, false);
    function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, "kernel", module_);
    b_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", function_));
  }
  // Uses `value`, so that it shows in the text.
  void Keep(llvm::Value* value) { b_.CreateStore(value, function_->getArg(0)); }
  std::string Text() {
    if (b_.GetInsertBlock()->getTerminator() == nullptr) b_.CreateRetVoid();
    EXPECT_FALSE(llvm::verifyModule(module_, &llvm::errs()));
    std::string text;
    llvm::raw_string_ostream(text) << module_;
    return text;
  }
  std::string LoweredText() {
    Text();
    const absl::Status status = LowerDeviceIntrinsics(module_);
    EXPECT_TRUE(status.ok()) << status;
    return Text();
  }

  llvm::LLVMContext context_;
  llvm::Module module_;
  llvm::IRBuilder<> b_;
  llvm::Function* function_;
};

TEST_F(DeviceIntrinsics, CarryExactAttributes) {
  Keep(device::EmitThreadId(b_));
  device::EmitBarrier(b_);
  Keep(device::EmitShuffleXor(b_, llvm::ConstantFP::get(b_.getFloatTy(), 1), 16));
  const llvm::Function* thread = module_.getFunction("tailor.device.thread_id");
  EXPECT_TRUE(thread->doesNotAccessMemory());
  EXPECT_FALSE(thread->isConvergent());
  EXPECT_TRUE(thread->doesNotThrow());
  const llvm::Function* barrier = module_.getFunction("tailor.device.barrier");
  EXPECT_TRUE(barrier->isConvergent());
  EXPECT_FALSE(barrier->onlyAccessesInaccessibleMemory());
  const llvm::Function* shuffle = module_.getFunction("tailor.device.shuffle_xor.float");
  EXPECT_TRUE(shuffle->isConvergent());
  EXPECT_TRUE(shuffle->onlyAccessesInaccessibleMemory());
  EXPECT_THAT(Text(), HasSubstr("declare range(i32 0, 1024) i32 @tailor.device.thread_id()"));
}

TEST_F(DeviceIntrinsics, LowerToRegistersAndBarriers) {
  for (llvm::Value* index :
       {device::EmitThreadId(b_), device::EmitBlockDim(b_), device::EmitBlockId(b_), device::EmitGridDim(b_)}) {
    Keep(index);
  }
  device::EmitBarrier(b_);
  const std::string text = LoweredText();
  for (const char* name : {"tid.x()", "ntid.x()", "ctaid.x()", "nctaid.x()"}) {
    EXPECT_THAT(text, HasSubstr(std::string("call i32 @llvm.nvvm.read.ptx.sreg.") + name));
  }
  EXPECT_THAT(text, HasSubstr("call void @llvm.nvvm.barrier0()"));
  EXPECT_THAT(text, Not(HasSubstr("tailor.device")));
}

TEST_F(DeviceIntrinsics, ShufflesTravelAsWords) {
  Keep(device::EmitShuffleXor(b_, llvm::ConstantFP::get(b_.getFloatTy(), 1), 4));
  EXPECT_THAT(LoweredText(),
              HasSubstr("call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 1065353216, i32 4, i32 31)"));
}

TEST_F(DeviceIntrinsics, WideShufflesTravelAsTwoWords) {
  Keep(device::EmitShuffleXor(b_, b_.getInt64(0x0000000200000003), 1));
  const std::string text = LoweredText();
  EXPECT_THAT(text, HasSubstr("bfly.i32(i32 -1, i32 3, i32 1, i32 31)"));
  EXPECT_THAT(text, HasSubstr("bfly.i32(i32 -1, i32 2, i32 1, i32 31)"));
}

TEST_F(DeviceIntrinsics, SharedMemoryIsOneExternalArray) {
  Keep(device::EmitSharedMemory(b_));
  Keep(device::EmitSharedMemory(b_));
  EXPECT_THAT(LoweredText(), HasSubstr("@tailor_shared = external addrspace(3) global [0 x i8], align 1024"));
}

TEST_F(DeviceIntrinsics, GridBarriersCountBlocksAndWaitForTheGeneration) {
  llvm::Value* counter = b_.CreateAddrSpaceCast(function_->getArg(0), b_.getPtrTy(device::kGlobalSpace));
  device::EmitGridBarrier(b_, counter);
  device::EmitGridBarrier(b_, counter);
  const std::string text = LoweredText();
  EXPECT_THAT(text, HasSubstr("call void @device_grid_barrier"));
  const std::string barrier = text.substr(text.find("define internal void @device_grid_barrier"));
  size_t at = 0;
  for (const char* part : {"@llvm.nvvm.barrier0()", "@llvm.nvvm.membar.gl()", "atomicrmw add ptr addrspace(1)",
                           "load volatile i32", "-2147483648", "@llvm.nvvm.membar.gl()", "@llvm.nvvm.barrier0()"}) {
    at = barrier.find(part, at);
    ASSERT_NE(at, std::string::npos) << part << " in\n" << barrier;
  }
}

TEST_F(DeviceIntrinsics, ExchangesReachTheHost) {
  const auto order = llvm::AtomicOrdering::Monotonic;
  llvm::Value* exchange =
      b_.CreateAtomicCmpXchg(function_->getArg(0), b_.getInt64(0), b_.getInt64(7), llvm::Align(8), order, order);
  Keep(b_.CreateExtractValue(exchange, 1));
  const std::string text = LoweredText();
  EXPECT_THAT(text, HasSubstr("@llvm.nvvm.atomic.cas.gen.i.sys"));
  EXPECT_THAT(text, Not(HasSubstr("cmpxchg")));
}

TEST_F(DeviceIntrinsics, UnknownOnesAreAnErrorThatNamesThem) {
  auto callee = module_.getOrInsertFunction("tailor.device.teleport", b_.getInt32Ty());
  Keep(b_.CreateCall(callee));
  Text();
  const absl::Status status = LowerDeviceIntrinsics(module_);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(status.message(), "no NVPTX form of tailor.device.teleport");
}

}  // namespace
}  // namespace tailor::cuda

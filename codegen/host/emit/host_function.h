// A function of a host program during emission: `i32 name(ptr api, ptr context, ...)`. Returns 0 on success. Every
// failure leaves through a separate block, off the straight path.
#ifndef TAILOR_CODEGEN_HOST_EMIT_HOST_FUNCTION_H_
#define TAILOR_CODEGEN_HOST_EMIT_HOST_FUNCTION_H_

#include <cstddef>

#include "exec/host_abi.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace tailor::host {

class HostFunction {
 public:
  // Opens a function with `arguments` pointer parameters; the first two are RtApi and RtContext.
  HostFunction(llvm::Module& module, const llvm::Twine& name, int arguments, bool internal);

  llvm::IRBuilder<> b;
  llvm::Value* argument(int i) const { return function_->getArg(i); }
  llvm::Value* api() const { return argument(0); }
  llvm::Value* context() const { return argument(1); }
  llvm::Function* function() const { return function_; }

  llvm::Value* Address(llvm::Value* base, int64_t bytes);
  llvm::Value* LoadI64(llvm::Value* base, int64_t bytes, const llvm::Twine& name = "");
  llvm::Value* LoadPtr(llvm::Value* base, int64_t bytes, const llvm::Twine& name = "");
  void Store(llvm::Value* value, llvm::Value* base, int64_t bytes);

  // Calls RtApi::fail(context, check, lhs, rhs) and returns its code if `condition` holds.
  void FailIf(llvm::Value* condition, int32_t check, llvm::Value* lhs, llvm::Value* rhs);
  void FailIf(llvm::Value* condition, llvm::Value* check, llvm::Value* lhs, llvm::Value* rhs);
  // Calls the function pointer at byte `offset` of RtApi, with the context as first argument.
  llvm::Value* CallApi(size_t offset, llvm::Type* result, llvm::ArrayRef<llvm::Value*> arguments);
  // Returns `code` if it is not zero.
  void ReturnIfFailed(llvm::Value* code);
  // Emits `then` in a block entered if `condition` holds; the builder then points after it.
  void If(llvm::Value* condition, bool likely, llvm::function_ref<void()> then);
  void IfElse(llvm::Value* condition, llvm::function_ref<void()> then, llvm::function_ref<void()> otherwise);
  // Emits `while (go(state)) state = turn(state)`; returns the last state.
  llvm::Value* While(llvm::Value* state, llvm::function_ref<llvm::Value*(llvm::Value*)> go,
                     llvm::function_ref<llvm::Value*(llvm::Value*)> turn);
  void Finish() { b.CreateRet(b.getInt32(0)); }

 private:
  llvm::BasicBlock* NewBlock(const llvm::Twine& name);
  llvm::Function* function_;
  llvm::BasicBlock* fail_ = nullptr;  // made by the first FailIf; fed by the three phis
  llvm::PHINode *fail_check_ = nullptr, *fail_lhs_ = nullptr, *fail_rhs_ = nullptr;
};

}  // namespace tailor::host

#endif  // TAILOR_CODEGEN_HOST_EMIT_HOST_FUNCTION_H_

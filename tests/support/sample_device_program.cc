#include "tests/support/sample_device_program.h"

#include <cstdlib>
#include <cstring>

#include "exec/host_abi.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include "tests/support/sample_program.h"

__asm__(
    ".section .rodata\n"
    ".balign 64\n"
    "tailor_sample_device_image: .incbin \"" TAILOR_SAMPLE_DEVICE_IMAGE
    "\"\n"
    "tailor_sample_device_image_end: .byte 0\n"
    ".text\n");

extern "C" {
extern const std::byte tailor_sample_device_image[];
extern const std::byte tailor_sample_device_image_end[];
}

namespace tailor {
namespace {

// One thread a row, one thread an element. 4 is the number of the check that a mask is not negative, plus 1.
constexpr char kKernels[] = R"(
declare i32 @tailor.device.block_id()
declare i32 @tailor.device.block_dim()
declare i32 @tailor.device.thread_id()

define internal i64 @number() {
  %block = call i32 @tailor.device.block_id()
  %dim = call i32 @tailor.device.block_dim()
  %thread = call i32 @tailor.device.thread_id()
  %first = mul i32 %block, %dim
  %number = add i32 %first, %thread
  %wide = zext i32 %number to i64
  ret i64 %wide
}

define ptx_kernel void @sum_rows(ptr addrspace(1) %x, ptr addrspace(1) %mask, ptr addrspace(1) %sums, i64 %rows,
                                 ptr addrspace(1) %fault) {
entry:
  %i = call i64 @number()
  %inside = icmp slt i64 %i, %rows
  br i1 %inside, label %row, label %exit
row:
  %mask.at = getelementptr float, ptr addrspace(1) %mask, i64 %i
  %m = load float, ptr addrspace(1) %mask.at
  %negative = fcmp olt float %m, 0.0
  br i1 %negative, label %found, label %sum
found:
  %swap = cmpxchg ptr addrspace(1) %fault, i64 0, i64 4 monotonic monotonic
  %first = extractvalue { i64, i1 } %swap, 1
  br i1 %first, label %report, label %exit
report:
  %lhs = getelementptr i64, ptr addrspace(1) %fault, i64 1
  %rhs = getelementptr i64, ptr addrspace(1) %fault, i64 2
  store i64 %i, ptr addrspace(1) %lhs
  store i64 %rows, ptr addrspace(1) %rhs
  br label %exit
sum:
  %at = mul i64 %i, 4
  br label %columns
columns:
  %j = phi i64 [ 0, %sum ], [ %next, %columns ]
  %total = phi float [ 0.0, %sum ], [ %more, %columns ]
  %e = add i64 %at, %j
  %x.at = getelementptr float, ptr addrspace(1) %x, i64 %e
  %value = load float, ptr addrspace(1) %x.at
  %masked = fmul float %value, %m
  %more = fadd float %total, %masked
  %next = add i64 %j, 1
  %done = icmp eq i64 %next, 4
  br i1 %done, label %store, label %columns
store:
  %sum.at = getelementptr float, ptr addrspace(1) %sums, i64 %i
  store float %more, ptr addrspace(1) %sum.at
  br label %exit
exit:
  ret void
}

define ptx_kernel void @negate(ptr addrspace(1) %x, ptr addrspace(1) %scale, ptr addrspace(1) %y, i64 %count) {
entry:
  %i = call i64 @number()
  %inside = icmp slt i64 %i, %count
  br i1 %inside, label %element, label %exit
element:
  %column = and i64 %i, 3
  %x.at = getelementptr float, ptr addrspace(1) %x, i64 %i
  %scale.at = getelementptr float, ptr addrspace(1) %scale, i64 %column
  %y.at = getelementptr float, ptr addrspace(1) %y, i64 %i
  %value = load float, ptr addrspace(1) %x.at
  %factor = load float, ptr addrspace(1) %scale.at
  %minus = fneg float %value
  %scaled = fmul float %minus, %factor
  store float %scaled, ptr addrspace(1) %y.at
  br label %exit
exit:
  ret void
}

define ptx_kernel void @copy_sums(ptr addrspace(1) %sums, ptr addrspace(1) %total, i64 %rows) {
entry:
  %i = call i64 @number()
  %inside = icmp slt i64 %i, %rows
  br i1 %inside, label %row, label %exit
row:
  %sum.at = getelementptr float, ptr addrspace(1) %sums, i64 %i
  %total.at = getelementptr float, ptr addrspace(1) %total, i64 %i
  %sum = load float, ptr addrspace(1) %sum.at
  store float %sum, ptr addrspace(1) %total.at
  br label %exit
exit:
  ret void
}
)";

std::string Assemble() {
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  const auto module = llvm::parseAssemblyString(kKernels, problem, context);
  if (module == nullptr) {
    problem.print("sample kernels", llvm::errs());
    std::abort();
  }
  std::string bitcode;
  llvm::raw_string_ostream stream(bitcode);
  llvm::WriteBitcodeToFile(*module, stream);
  return bitcode;
}

}  // namespace

const std::string& SampleKernels() {
  static const auto* const bitcode = new std::string(Assemble());
  return *bitcode;
}

Program SampleDeviceProgram() {
  Program program = SampleProgram();
  program.checks.push_back({"input \"mask\" at {lhs} of {rhs} is negative", "masked"});
  program.checks.push_back({"the first total is {lhs}", ""});
  Variant variant = program.variants[0];
  variant.target = "cuda";
  variant.image = {tailor_sample_device_image, tailor_sample_device_image_end};
  std::memcpy(&variant.run_offset, tailor_sample_device_image, 8);
  std::memcpy(&variant.plan_offset, tailor_sample_device_image + 8, 8);
  variant.shape_cache_slots = 6;
  variant.fault_word = 2;
  variant.reads_back = true;
  variant.growable_blocks = 0;
  variant.kernel_bytes = {};
  variant.launches.push_back({"copy_sums", {"always"}, {}, 2});
  variant.device_kernels = {{"sum_rows", 32, 5, {}}, {"negate", 32, 4, {}}, {"copy_sums", 32, 3, {}}};
  variant.device_images = {{"simt", DeviceImageKind::kIr, std::as_bytes(std::span(SampleKernels()))}};
  program.variants.insert(program.variants.begin(), variant);
  return program;
}

}  // namespace tailor

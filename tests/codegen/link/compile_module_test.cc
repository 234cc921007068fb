// Mirrors codegen/link/compile_module.cc, whose functions codegen/link/link.h declares.
#include "codegen/link/link.h"

#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/codegen/link/ir_image.h"

namespace tailor {
namespace {

using ::testing::HasSubstr;

TEST(CompileModule, LoopsDoNotBecomeLibraryCalls) {
  llvm::LLVMContext context;
  auto object = CompileIr(ParseIr(context, R"(
define void @clear(ptr %p, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %body]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %body, label %done
body:
  %q = getelementptr float, ptr %p, i64 %i
  store float 0.0, ptr %q
  %next = add nsw i64 %i, 1
  br label %loop
done:
  ret void
}
)"));
  std::vector<std::unique_ptr<llvm::MemoryBuffer>> objects;
  objects.push_back(std::move(object));
  auto image = LinkImage(std::move(objects), {"clear"});
  ASSERT_TRUE(image.ok()) << image.status();
  float data[5] = {1, 2, 3, 4, 5};
  CodeImage(*image).Find<void (*)(float*, int64_t)>("clear")(data, 4);
  EXPECT_THAT(data, ::testing::ElementsAre(0, 0, 0, 0, 5));
}

// LLVM's default is to print the message and to end the process.
TEST(CompileModule, AnErrorOfTheBackEndIsAStatus) {
  llvm::LLVMContext context;
  auto machine = MakeTargetMachine(*FindCpuTarget("x86-64-v3"));
  ASSERT_TRUE(machine.ok()) << machine.status();
  const auto object = CompileModule(ParseIr(context, R"(
define <16 x i32> @hold(<16 x i32> %x) {
  %y = call <16 x i32> asm "", "=x,0"(<16 x i32> %x)
  ret <16 x i32> %y
}
)"),
                                    **machine);
  EXPECT_EQ(object.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(object.status().message(), HasSubstr("couldn't allocate output register for constraint 'x'"));
}

// Loop strength reduction computes what is left of a row anew for each row.
TEST(CompileModule, LoopsDoNotDivideAgain) {
  llvm::LLVMContext context;
  auto machine = MakeTargetMachine(HostCpuTarget());
  ASSERT_TRUE(machine.ok());
  auto module = ParseIr(context, R"(
define void @fill(ptr %p, i64 %begin, i64 %end, i64 %most, i64 %size, i64 %rows) {
entry:
  %blocks = call i64 @llvm.umax.i64(i64 %most, i64 1)
  br label %task
task:
  %t = phi i64 [%begin, %entry], [%t.next, %rows.end]
  %block = urem i64 %t, %blocks
  %first = mul i64 %block, %size
  br label %row
row:
  %r = phi i64 [0, %task], [%r.next, %row.end]
  br label %lanes
lanes:
  %i = phi i64 [%first, %row], [%i.next, %lanes]
  %short = trunc i64 %i to i32
  %left = sub i32 0, %short
  store volatile i32 %left, ptr %p
  %i.next = add nsw i64 %i, 1
  %more = icmp slt i64 %i, 0
  br i1 %more, label %lanes, label %row.end
row.end:
  %r.next = add nsw i64 %r, 1
  %rows.more = icmp slt i64 %r.next, %rows
  br i1 %rows.more, label %row, label %rows.end
rows.end:
  %t.next = add nsw i64 %t, 1
  %tasks.more = icmp slt i64 %t.next, %end
  br i1 %tasks.more, label %task, label %done
done:
  ret void
}
declare i64 @llvm.umax.i64(i64, i64)
)");
  ModuleText text;
  ASSERT_TRUE(CompileModule(std::move(module), **machine, &text).ok());
  const std::vector<std::string> around = absl::StrSplit(text.assembly, "\tdivq\t");
  EXPECT_EQ(around.size(), 2) << text.assembly;
}

// The back end's schedulers take quadratic time for a block.
TEST(CompileModule, LongBlocksThatRunOncePerShapeAreNotOptimized) {
  for (const auto& [stores, attribute, optimized] :
       {std::tuple(600, kOncePerShape, false), {300, kOncePerShape, true}, {600, "other", true}}) {
    std::string ir = "define void @f(ptr %p, i64 %x) \"" + std::string(attribute) + "\" {\n";
    for (int i = 0; i < stores / 2; ++i) {
      ir += absl::StrCat("  %q", i, " = getelementptr i64, ptr %p, i64 ", i, "\n  store i64 %x, ptr %q", i, "\n");
    }
    llvm::LLVMContext context;
    auto machine = MakeTargetMachine(HostCpuTarget());
    ASSERT_TRUE(machine.ok());
    ModuleText text;
    ASSERT_TRUE(CompileModule(ParseIr(context, ir + "  ret void\n}\n"), **machine, &text).ok());
    EXPECT_EQ(text.ir.find("optnone") == std::string::npos, optimized) << stores << attribute;
  }
}

TEST(CompileModule, RefusesBrokenModules) {
  llvm::LLVMContext context;
  auto module = std::make_unique<llvm::Module>("broken", context);
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), false);
  auto* f = llvm::Function::Create(type, llvm::Function::ExternalLinkage, "f", *module);
  llvm::BasicBlock::Create(context, "entry", f);
  auto machine = MakeTargetMachine(HostCpuTarget());
  ASSERT_TRUE(machine.ok());
  auto object = CompileModule(std::move(module), **machine);
  ASSERT_FALSE(object.ok());
  EXPECT_THAT(std::string(object.status().message()), HasSubstr("module broken does not verify"));
}

TEST(CompileModule, LeavesNoUnwindTables) {
  llvm::LLVMContext context;
  auto object = CompileIr(ParseIr(context, kScaleIr));
  EXPECT_EQ(object->getBuffer().find("eh_frame"), llvm::StringRef::npos);
}

TEST(CompileModule, CountsModules) {
  llvm::LLVMContext context;
  const uint64_t before = ModulesEmitted();
  CompileIr(ParseIr(context, kScaleIr));
  EXPECT_EQ(ModulesEmitted(), before + 1);
}

}  // namespace
}  // namespace tailor

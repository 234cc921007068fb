#include "codegen/host/emit/emit_first_fit.h"

#include "absl/strings/str_cat.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

namespace tailor::host {
namespace {

constexpr char kFunction[] = "tailor.first_fit";

// `again` restarts the scan of a block's conflicts whenever one pushed the block upwards. It terminates at the lowest
// free offset: offsets only grow, and each conflict pushes once. The text has no declarations: the module may have them
// already.
constexpr char kFirstFit[] = R"(
define internal i64 @tailor.first_fit(ptr %sizes, ptr %offsets, ptr %table, i64 %blocks) noinline {
entry:
  br label %next
next:
  %placed = phi i64 [0, %entry], [%placed.next, %done]
  %row = phi ptr [%table, %entry], [%row.next, %done]
  %total = phi i64 [0, %entry], [%total.next, %done]
  %more = icmp ult i64 %placed, %blocks
  br i1 %more, label %place, label %exit
place:
  %block.i32 = load i32, ptr %row
  %block = zext i32 %block.i32 to i64
  %count.at = getelementptr i32, ptr %row, i64 1
  %count.i32 = load i32, ptr %count.at
  %count = zext i32 %count.i32 to i64
  %neighbours = getelementptr i32, ptr %row, i64 2
  %row.next = getelementptr i32, ptr %neighbours, i64 %count
  %size.at = getelementptr i64, ptr %sizes, i64 %block
  %size = load i64, ptr %size.at
  br label %again
again:
  %offset = phi i64 [0, %place], [%pushed, %overlaps]
  br label %scan
scan:
  %i = phi i64 [0, %again], [%i.next, %apart]
  %left = icmp ult i64 %i, %count
  br i1 %left, label %compare, label %done
compare:
  %other.at = getelementptr i32, ptr %neighbours, i64 %i
  %other.i32 = load i32, ptr %other.at
  %other = zext i32 %other.i32 to i64
  %other.offset.at = getelementptr i64, ptr %offsets, i64 %other
  %other.offset = load i64, ptr %other.offset.at
  %other.size.at = getelementptr i64, ptr %sizes, i64 %other
  %other.size = load i64, ptr %other.size.at
  %pushed = add i64 %other.offset, %other.size
  %end = add i64 %offset, %size
  %starts.before = icmp ult i64 %offset, %pushed
  %ends.after = icmp ult i64 %other.offset, %end
  %both = and i1 %starts.before, %ends.after
  br i1 %both, label %overlaps, label %apart
overlaps:
  br label %again
apart:
  %i.next = add i64 %i, 1
  br label %scan
done:
  %offset.at = getelementptr i64, ptr %offsets, i64 %block
  store i64 %offset, ptr %offset.at
  %last = add i64 %offset, %size
  %grows = icmp ugt i64 %last, %total
  %total.next = select i1 %grows, i64 %last, i64 %total
  %placed.next = add i64 %placed, 1
  br label %next
exit:
  ret i64 %total
}
)";

}  // namespace

std::vector<int32_t> PlacementTable(const MemoryPlan& plan) {
  std::vector<int32_t> table;
  for (size_t i = 0; i < plan.order.size(); ++i) {
    table.push_back(plan.order[i]);
    table.push_back(static_cast<int32_t>(plan.conflicts[i].size()));
    table.insert(table.end(), plan.conflicts[i].begin(), plan.conflicts[i].end());
  }
  return table;
}

absl::StatusOr<llvm::Function*> EmitFirstFit(llvm::Module& module) {
  if (llvm::Function* known = module.getFunction(kFunction)) return known;
  llvm::SMDiagnostic problem;
  if (llvm::parseAssemblyInto(llvm::MemoryBufferRef(kFirstFit, kFunction), &module, nullptr, problem)) {
    return absl::InternalError(absl::StrCat("first fit does not parse: ", problem.getMessage().str()));
  }
  return module.getFunction(kFunction);
}

}  // namespace tailor::host

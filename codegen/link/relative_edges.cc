#include "codegen/link/relative_edges.h"

#include "llvm/ExecutionEngine/JITLink/x86_64.h"

namespace tailor {
namespace {

namespace jitlink = llvm::jitlink;

bool IsRelativeOnX86(jitlink::Edge::Kind kind) {
  namespace x86 = jitlink::x86_64;
  switch (kind) {
    case x86::Delta64:
    case x86::Delta32:
    case x86::Delta8:
    case x86::NegDelta64:
    case x86::NegDelta32:
    case x86::BranchPCRel32:
    case x86::PCRel32:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool IsRelativeEdge(llvm::Triple::ArchType arch, jitlink::Edge::Kind kind) {
  if (kind < jitlink::Edge::FirstRelocation) return true;
  switch (arch) {
    case llvm::Triple::x86_64:
      return IsRelativeOnX86(kind);
    default:
      return false;
  }
}

}  // namespace tailor

// Which relocations of an architecture keep an image position-independent.
#ifndef TAILOR_CODEGEN_LINK_RELATIVE_EDGES_H_
#define TAILOR_CODEGEN_LINK_RELATIVE_EDGES_H_

#include "llvm/ExecutionEngine/JITLink/JITLink.h"
#include "llvm/TargetParser/Triple.h"

namespace tailor {

// Whether a fixup of `kind` stores a difference of addresses, not an address. Of an architecture that is not listed: no
// relocation is.
bool IsRelativeEdge(llvm::Triple::ArchType arch, llvm::jitlink::Edge::Kind kind);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_LINK_RELATIVE_EDGES_H_

#include "codegen/link/link.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/ir/llvm_error.h"
#include "llvm/ExecutionEngine/JITLink/ELF_x86_64.h"
#include "llvm/ExecutionEngine/JITLink/JITLink.h"
#include "llvm/ExecutionEngine/JITLink/x86_64.h"
#include "llvm/ExecutionEngine/Orc/Shared/ExecutorSymbolDef.h"
#include "llvm/Support/MathExtras.h"

namespace tailor {
namespace {

namespace jitlink = llvm::jitlink;
namespace orc = llvm::orc;
namespace x86 = llvm::jitlink::x86_64;
LLVM_ENABLE_BITMASK_ENUMS_IN_NAMESPACE();

// Where the image pretends to lie while it is linked. Any value gives the same bytes, since only differences
// of addresses reach them.
constexpr uint64_t kBase = 0x10000000;
constexpr uint64_t kAlignment = 64;

bool IsRelative(jitlink::Edge::Kind kind) {
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
      return kind < jitlink::Edge::FirstRelocation;
  }
}

// Refuses writable sections and relocations that would put an address into the image.
llvm::Error CheckPositionIndependent(jitlink::LinkGraph& graph) {
  for (const jitlink::Section& section : graph.sections()) {
    if (section.getMemLifetime() == orc::MemLifetime::NoAlloc) continue;
    const bool writable = (section.getMemProt() & orc::MemProt::Write) != orc::MemProt::None;
    for (const jitlink::Block* block : section.blocks()) {
      if (writable) return llvm::createStringError("section " + section.getName() + " is writable");
      for (const jitlink::Edge& edge : block->edges()) {
        if (IsRelative(edge.getKind())) continue;
        const std::string target = edge.getTarget().hasName() ? edge.getTarget().getName().str() : "a local symbol";
        return llvm::createStringError("section " + section.getName() + " holds a relocation " +
                                       graph.getEdgeKindName(edge.getKind()) + " to " + target +
                                       ", which is not relative");
      }
    }
  }
  return llvm::Error::success();
}

// Lays objects one behind the other and collects their bytes. Outlives every allocation.
class CapturingMemory : public jitlink::JITLinkMemoryManager {
 public:
  void allocate(const jitlink::JITLinkDylib*, jitlink::LinkGraph& graph, OnAllocatedFunction done) override {
    jitlink::BasicLayout layout(graph);
    auto capture = std::make_unique<Capture>(*this, size_);
    uint64_t size = 0;
    for (auto& [group, segment] : layout.segments()) {
      size = llvm::alignTo(size, std::max<uint64_t>(kAlignment, segment.Alignment.value()));
      segment.Addr = orc::ExecutorAddr(kBase + size_ + size);
      size += segment.ContentSize + segment.ZeroFillSize;
    }
    capture->bytes.resize(size);
    for (auto& [group, segment] : layout.segments()) {
      segment.WorkingMem = capture->bytes.data() + (segment.Addr.getValue() - kBase - size_);
    }
    size_ = llvm::alignTo(size_ + size, kAlignment);
    if (llvm::Error error = layout.apply()) return done(std::move(error));
    done(std::move(capture));
  }

  void deallocate(std::vector<FinalizedAlloc> allocations, OnDeallocatedFunction done) override {
    for (FinalizedAlloc& allocation : allocations) allocation.release();
    done(llvm::Error::success());
  }

  std::vector<std::byte> TakeBytes() {
    image_.resize(size_);
    return std::move(image_);
  }

 private:
  struct Capture : InFlightAlloc {
    Capture(CapturingMemory& memory, uint64_t offset) : memory(memory), offset(offset) {}
    void abandon(OnAbandonedFunction done) override { done(llvm::Error::success()); }
    void finalize(OnFinalizedFunction done) override {
      std::vector<std::byte>& image = memory.image_;
      image.resize(std::max<uint64_t>(image.size(), offset + bytes.size()));
      std::copy_n(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size(), image.begin() + offset);
      done(FinalizedAlloc(orc::ExecutorAddr(kBase + offset)));
    }
    CapturingMemory& memory;
    const uint64_t offset;
    std::vector<char> bytes;
  };

  uint64_t size_ = 0;
  std::vector<std::byte> image_;
};

// What the objects of one link share. Every object runs up to its lookup, which waits in `pending` until all
// definitions are known.
struct Session {
  CapturingMemory memory;
  std::map<std::string, orc::ExecutorSymbolDef> definitions;
  struct Lookup {
    std::vector<std::string> names;
    std::unique_ptr<jitlink::JITLinkAsyncLookupContinuation> resume;
  };
  std::vector<Lookup> pending;
  absl::Status status;
};

class ObjectContext : public jitlink::JITLinkContext {
 public:
  explicit ObjectContext(Session& session) : JITLinkContext(nullptr), session_(session) {}
  jitlink::JITLinkMemoryManager& getMemoryManager() override { return session_.memory; }
  // No GOT and no PLT: those hold absolute addresses.
  bool shouldAddDefaultTargetPasses(const llvm::Triple&) const override { return false; }
  llvm::Error modifyPassConfig(jitlink::LinkGraph&, jitlink::PassConfiguration& config) override {
    config.PrePrunePasses.push_back(jitlink::markAllSymbolsLive);
    config.PostPrunePasses.push_back(CheckPositionIndependent);
    return llvm::Error::success();
  }
  void notifyFailed(llvm::Error error) override { session_.status.Update(ToStatus(std::move(error), "link")); }
  llvm::Error notifyResolved(jitlink::LinkGraph& graph) override {
    for (const jitlink::Symbol* symbol : graph.defined_symbols()) {
      if (!symbol->hasName() || symbol->getScope() == jitlink::Scope::Local) continue;
      const orc::ExecutorSymbolDef definition(symbol->getAddress(), llvm::JITSymbolFlags::Exported);
      if (!session_.definitions.emplace(symbol->getName().str(), definition).second) {
        return llvm::createStringError("symbol " + symbol->getName() + " is defined twice");
      }
    }
    return llvm::Error::success();
  }
  void lookup(const LookupMap& symbols, std::unique_ptr<jitlink::JITLinkAsyncLookupContinuation> resume) override {
    Session::Lookup lookup{{}, std::move(resume)};
    for (const auto& [name, flags] : symbols) lookup.names.push_back(name.str());
    std::sort(lookup.names.begin(), lookup.names.end());
    session_.pending.push_back(std::move(lookup));
  }
  void notifyFinalized(jitlink::JITLinkMemoryManager::FinalizedAlloc allocation) override { allocation.release(); }

 private:
  Session& session_;
};

void Resume(Session& session, Session::Lookup lookup) {
  jitlink::AsyncLookupResult result;
  for (const std::string& name : lookup.names) {
    const auto definition = session.definitions.find(name);
    if (definition == session.definitions.end()) {
      return lookup.resume->run(llvm::createStringError("symbol " + name + " is undefined"));
    }
    result[definition->first] = definition->second;
  }
  lookup.resume->run(std::move(result));
}

}  // namespace

absl::StatusOr<Image> LinkImage(const std::vector<std::unique_ptr<llvm::MemoryBuffer>>& objects,
                                const std::vector<std::string>& entries) {
  Session session;
  for (const auto& object : objects) {
    auto graph = jitlink::createLinkGraphFromELFObject_x86_64(object->getMemBufferRef());
    if (!graph) return ToStatus(graph.takeError(), "read object");
    jitlink::link_ELF_x86_64(std::move(*graph), std::make_unique<ObjectContext>(session));
  }
  for (Session::Lookup& lookup : session.pending) Resume(session, std::move(lookup));
  if (!session.status.ok()) return session.status;

  Image image;
  image.bytes = session.memory.TakeBytes();
  for (const std::string& entry : entries) {
    const auto definition = session.definitions.find(entry);
    if (definition == session.definitions.end()) {
      return absl::InternalError(absl::StrCat("link: entry ", entry, " is undefined"));
    }
    image.symbols[entry] = definition->second.getAddress().getValue() - kBase;
  }
  return image;
}

}  // namespace tailor

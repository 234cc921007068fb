#include "codegen/link/link.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/ir/llvm_error.h"
#include "codegen/link/relative_edges.h"
#include "llvm/ExecutionEngine/JITLink/JITLink.h"
#include "llvm/ExecutionEngine/Orc/Core.h"
#include "llvm/ExecutionEngine/Orc/ExecutorProcessControl.h"
#include "llvm/ExecutionEngine/Orc/ObjectFileInterface.h"
#include "llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/MathExtras.h"

namespace tailor {
namespace {

namespace jitlink = llvm::jitlink;
namespace orc = llvm::orc;
LLVM_ENABLE_BITMASK_ENUMS_IN_NAMESPACE();

// The image's address while it is linked. Any value gives the same bytes: only differences of addresses reach them.
constexpr uint64_t kBase = 0x10000000;
constexpr uint64_t kAlignment = 64;
constexpr unsigned kPageSize = 4096;

// Rejects writable sections, and relocations that would put an address into the image.
llvm::Error CheckPositionIndependent(jitlink::LinkGraph& graph) {
  for (const jitlink::Section& section : graph.sections()) {
    if (section.getMemLifetime() == orc::MemLifetime::NoAlloc) continue;
    const bool writable = (section.getMemProt() & orc::MemProt::Write) != orc::MemProt::None;
    for (const jitlink::Block* block : section.blocks()) {
      if (writable) return llvm::createStringError("section " + section.getName() + " is writable");
      for (const jitlink::Edge& edge : block->edges()) {
        if (IsRelativeEdge(graph.getTargetTriple().getArch(), edge.getKind())) continue;
        const std::string target = edge.getTarget().hasName() ? edge.getTarget().getName().str() : "a local symbol";
        return llvm::createStringError("section " + section.getName() + " holds a relocation " +
                                       graph.getEdgeKindName(edge.getKind()) + " to " + target +
                                       ", which is not relative");
      }
    }
  }
  return llvm::Error::success();
}

// Places objects one behind the other, in the order of their links, and collects their bytes. Nothing is executable.
class ImageMemory : public jitlink::JITLinkMemoryManager {
 public:
  void allocate(const jitlink::JITLinkDylib*, jitlink::LinkGraph& graph, OnAllocatedFunction done) override {
    jitlink::BasicLayout layout(graph);
    auto object = std::make_unique<Object>(*this, size_);
    uint64_t size = 0;
    for (auto& [group, segment] : layout.segments()) {
      size = llvm::alignTo(size, std::max<uint64_t>(kAlignment, segment.Alignment.value()));
      segment.Addr = orc::ExecutorAddr(kBase + size_ + size);
      size += segment.ContentSize + segment.ZeroFillSize;
    }
    object->bytes.resize(size);
    for (auto& [group, segment] : layout.segments()) {
      segment.WorkingMem = object->bytes.data() + (segment.Addr.getValue() - kBase - size_);
    }
    size_ = llvm::alignTo(size_ + size, kAlignment);
    ++placed_;
    if (llvm::Error error = layout.apply()) return done(std::move(error));
    done(std::move(object));
  }

  void deallocate(std::vector<FinalizedAlloc> allocations, OnDeallocatedFunction done) override {
    for (FinalizedAlloc& allocation : allocations) allocation.release();
    done(llvm::Error::success());
  }

  size_t placed() const { return placed_; }  // objects
  std::vector<std::byte> TakeBytes() {
    image_.resize(size_);
    return std::move(image_);
  }

 private:
  struct Object : InFlightAlloc {
    Object(ImageMemory& memory, uint64_t offset) : memory(memory), offset(offset) {}
    void abandon(OnAbandonedFunction done) override { done(llvm::Error::success()); }
    void finalize(OnFinalizedFunction done) override {
      std::vector<std::byte>& image = memory.image_;
      image.resize(std::max<uint64_t>(image.size(), offset + bytes.size()));
      std::copy_n(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size(), image.begin() + offset);
      done(FinalizedAlloc(orc::ExecutorAddr(kBase + offset)));
    }
    ImageMemory& memory;
    const uint64_t offset;
    std::vector<char> bytes;
  };

  uint64_t size_ = 0;
  size_t placed_ = 0;
  std::vector<std::byte> image_;
};

// Keeps whole objects, collects their functions, and replaces the target's default passes: GOT and PLT entries hold
// absolute addresses.
class PositionIndependence : public orc::ObjectLinkingLayer::Plugin {
 public:
  explicit PositionIndependence(std::multimap<uint64_t, std::string>* functions) : functions_(functions) {}

  void modifyPassConfig(orc::MaterializationResponsibility&, jitlink::LinkGraph&,
                        jitlink::PassConfiguration& config) override {
    config.PrePrunePasses.push_back(jitlink::markAllSymbolsLive);
    config.PostPrunePasses.clear();
    config.PostPrunePasses.push_back(CheckPositionIndependent);
    config.PreFixupPasses.clear();
    config.PostAllocationPasses.push_back([this](jitlink::LinkGraph& object) {
      for (const jitlink::Symbol* symbol : object.defined_symbols()) {
        if (!symbol->isCallable() || !symbol->hasName()) continue;
        functions_->emplace(symbol->getAddress().getValue() - kBase, symbol->getName().str());
      }
      return llvm::Error::success();
    });
  }
  llvm::Error notifyFailed(orc::MaterializationResponsibility&) override { return llvm::Error::success(); }
  llvm::Error notifyRemovingResources(orc::JITDylib&, orc::ResourceKey) override { return llvm::Error::success(); }
  void notifyTransferringResources(orc::JITDylib&, orc::ResourceKey, orc::ResourceKey) override {}

 private:
  std::multimap<uint64_t, std::string>* functions_;
};

// An ORC session whose target need not be this process: nothing that it links runs here.
class ImageSession {
 public:
  explicit ImageSession(const std::string& triple)
      : session_(std::make_unique<orc::UnsupportedExecutorProcessControl>(nullptr, nullptr, triple, kPageSize)),
        dylib_(session_.createBareJITDylib("image")),
        layer_(session_, memory_) {
    session_.setErrorReporter([this](llvm::Error error) { status_.Update(ToStatus(std::move(error), "link")); });
    layer_.addPlugin(std::make_shared<PositionIndependence>(&functions_));
  }
  ~ImageSession() { llvm::cantFail(session_.endSession()); }

  absl::Status Add(llvm::MemoryBufferRef object) {
    auto interface = orc::getObjectFileInterface(session_, object);
    if (!interface) return ToStatus(interface.takeError(), "read object");
    orc::SymbolLookupSet symbols;
    for (const auto& [name, flags] : interface->SymbolFlags) symbols.add(name);
    objects_.push_back(std::move(symbols));
    return ToStatus(layer_.add(dylib_, llvm::MemoryBuffer::getMemBuffer(object, /*RequiresNullTerminator=*/false),
                               std::move(*interface)),
                    "link");
  }

  // Links all objects, in the order in which they were added. ORC would place an object that another one refers to when
  // it finds the reference, and several of them in no order that it defines.
  absl::Status Link() {
    for (size_t i = 0; i < objects_.size(); ++i) {
      llvm::Expected<orc::SymbolMap> found =
          session_.lookup({{&dylib_, orc::JITDylibLookupFlags::MatchAllSymbols}}, std::move(objects_[i]));
      if (!status_.ok()) return llvm::consumeError(found.takeError()), status_;  // the cause, not what follows from it
      if (!found) return ToStatus(found.takeError(), "link");
      if (memory_.placed() <= i) return absl::InternalError(absl::StrCat("link: object ", i, " defines nothing"));
      if (memory_.placed() > i + 1)
        return absl::InternalError(absl::StrCat("link: object ", i, " refers to a later one"));
      for (const auto& [name, definition] : *found)
        symbols_[(*name).str()] = definition.getAddress().getValue() - kBase;
    }
    return absl::OkStatus();
  }

  const std::map<std::string, uint64_t>& symbols() const { return symbols_; }
  std::vector<std::byte> TakeBytes() { return memory_.TakeBytes(); }
  std::multimap<uint64_t, std::string> TakeFunctions() { return std::move(functions_); }

 private:
  std::multimap<uint64_t, std::string> functions_;
  absl::Status status_;  // outlives the session, which reports to it
  ImageMemory memory_;
  orc::ExecutionSession session_;
  orc::JITDylib& dylib_;
  orc::ObjectLinkingLayer layer_;
  std::vector<orc::SymbolLookupSet> objects_;
  std::map<std::string, uint64_t> symbols_;
};

}  // namespace

absl::StatusOr<Image> LinkImage(const std::vector<llvm::MemoryBufferRef>& objects,
                                const std::vector<std::string>& entries) {
  if (objects.empty()) return absl::InternalError("link: there is no object");
  auto first = llvm::object::ObjectFile::createObjectFile(objects[0]);
  if (!first) return ToStatus(first.takeError(), "read object");
  ImageSession session((*first)->makeTriple().str());
  for (const llvm::MemoryBufferRef& object : objects) {
    if (absl::Status status = session.Add(object); !status.ok()) return status;
  }
  if (absl::Status status = session.Link(); !status.ok()) return status;

  Image image;
  image.bytes = session.TakeBytes();
  for (const std::string& entry : entries) {
    const auto definition = session.symbols().find(entry);
    if (definition == session.symbols().end()) {
      return absl::InternalError(absl::StrCat("link: entry ", entry, " is undefined"));
    }
    image.symbols[entry] = definition->second;
  }
  image.functions = session.TakeFunctions();
  return image;
}

absl::StatusOr<Image> LinkImage(const std::vector<std::unique_ptr<llvm::MemoryBuffer>>& objects,
                                const std::vector<std::string>& entries) {
  std::vector<llvm::MemoryBufferRef> references;
  for (const auto& object : objects) references.push_back(object->getMemBufferRef());
  return LinkImage(references, entries);
}

}  // namespace tailor

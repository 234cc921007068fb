// tailor-compile-worker: compiles one graph for the library that started it (isolated_compile.h). Not a user command.
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "api/isolated/out_of_memory.h"
#include "api/isolated/open_file.h"
#include "api/isolated/worker_files.h"
#include "compile_request_generated.h"
#include "tailor/compiler.h"

namespace tailor::isolated {
namespace {

using Kind = Message::Kind;

std::atomic_flag sending = ATOMIC_FLAG_INIT;

// Does not allocate.
void Send(Kind kind, int32_t code, double done, const char* text, const char* node) {
  const Message message{kind, code, done, static_cast<uint32_t>(std::strlen(text)),
                        static_cast<uint32_t>(std::strlen(node))};
  while (sending.test_and_set()) sched_yield();
  // Without a reader the work is pointless.
  if (!WriteAll(kMessagePipe, &message, sizeof(message)) || !WriteAll(kMessagePipe, text, message.text_bytes) ||
      !WriteAll(kMessagePipe, node, message.node_bytes)) {
    _exit(1);
  }
  if (kind == Kind::kProgress) sending.clear();  // the other kinds are final messages
}

[[noreturn]] void Fail(int32_t code, const std::string& message, const std::string& node = "") {
  Send(Kind::kFailed, code, 0, message.substr(0, kMaxTextBytes).c_str(), node.substr(0, kMaxTextBytes).c_str());
  _exit(1);
}

void Check(tailor_status* status) {
  if (status == nullptr) return;
  Fail(tailor_status_code(status), tailor_status_message(status), tailor_status_node(status));
}

// The current private memory of the process, in bytes; the limit counts on top of it.
uint64_t PrivateBytes() {
  unsigned long long pages = 0;
  FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  if (std::fscanf(file, "%*u %*u %*u %*u %*u %llu", &pages) != 1) pages = 0;
  std::fclose(file);
  return pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

char out_of_memory[128] = "isolated compilation: the system is out of memory";

void MemoryIsOut() {
  Send(Kind::kFailed, TAILOR_RESOURCE_EXHAUSTED, 0, out_of_memory, "");
  _exit(1);
}

void LimitMemory(const CompileRequest& request) {
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  const uint64_t bytes = request.memory_limit();
  if (bytes == 0) return;
  std::snprintf(out_of_memory, sizeof(out_of_memory),
                "isolated compilation: out of memory, within memory_limit of %.1f MiB",
                static_cast<double>(bytes) / (1 << 20));
  uint64_t all = bytes + PrivateBytes();
  for (const Bytes* constant : *request.constants()) all += constant->size();  // the process holds a copy of each
  const rlimit limit = {all, all};
  if (all < bytes || setrlimit(RLIMIT_DATA, &limit) != 0)
    Fail(TAILOR_FAILED_PRECONDITION, "isolated compilation: memory cannot be limited");
}

// The complete request, in memory.
struct Request {
  const std::byte* constants;
  const CompileRequest* request;
};

Request ReadRequest() {
  RequestHeader header;
  if (!ReadAll(kRequestFile, &header, sizeof(header)))
    Fail(TAILOR_INTERNAL, "isolated compilation: the worker has no request");
  void* file = mmap(nullptr, header.file_bytes, PROT_READ, MAP_SHARED, kRequestFile, 0);
  if (file == MAP_FAILED) Fail(TAILOR_RESOURCE_EXHAUSTED, "isolated compilation: no memory for the request");
  const auto* bytes = static_cast<const std::byte*>(file);
  const auto* encoded = reinterpret_cast<const uint8_t*>(bytes + sizeof(header));
  flatbuffers::Verifier verifier(encoded, header.request_bytes);
  const bool fits = header.request_bytes <= header.file_bytes && header.constants_offset <= header.file_bytes;
  if (!fits || !VerifyCompileRequestBuffer(verifier))
    Fail(TAILOR_FAILED_PRECONDITION, "isolated compilation: the request is malformed");
  return {bytes + header.constants_offset, GetCompileRequest(encoded)};
}

struct Constants {
  const Request& request;
  uint32_t next = 0;
};

int32_t GiveConstant(void* user, const char*, size_t, int32_t, const int64_t*, size_t, void* data, size_t size) {
  auto& constants = *static_cast<Constants*>(user);
  const auto& places = *constants.request.request->constants();
  if (constants.next >= places.size()) return 1;
  const Bytes& place = *places.Get(constants.next++);
  if (place.size() != size) return 1;
  std::memcpy(data, constants.request.constants + place.offset(), size);
  return 0;
}

int32_t SendProgress(void*, const char* phase, double done) {
  Send(Kind::kProgress, 0, done, phase, "");
  return 1;
}

void KeepArtifact(void*, const void* data, size_t size) {
  if (!WriteAll(kArtifactFile, data, size))
    Fail(TAILOR_RESOURCE_EXHAUSTED, "isolated compilation: no memory for the artifact");
}

std::vector<const char*> Texts(const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>& strings) {
  std::vector<const char*> texts;
  for (const flatbuffers::String* string : strings) texts.push_back(string->c_str());
  return texts;
}

void Compile(const Request& asked) {
  const CompileRequest& request = *asked.request;
  Constants constants{asked};
  tailor_parse_options parse;
  tailor_parse_options_init(&parse);
  parse.constant = GiveConstant;
  parse.user = &constants;
  parse.ignore_hashes = 1;  // the bytes are the graph's own
  tailor_graph* graph = nullptr;
  Check(tailor_graph_parse_with(request.graph()->c_str(), request.graph()->size(), &parse, &graph));

  const std::vector<const char*> targets = Texts(*request.targets()), donated = Texts(*request.donated());
  const std::vector<const char*> without = Texts(*request.without());
  tailor_compile_options options;
  tailor_compile_options_init(&options);
  options.targets = targets.data();
  options.target_count = targets.size();
  options.donated = donated.data();
  options.donated_count = donated.size();
  options.progress = SendProgress;
  options.threads = request.threads();
  if (request.secret_key() != nullptr && request.secret_key()->size() == 64) {
    options.secret_key = request.secret_key()->data();
  }
  options.max_versions = request.max_versions();
  options.max_code_bytes = request.max_code_bytes();
  options.offer_products = request.offer_products();
  options.direct_convolutions = request.direct_convolutions();
  options.allow_tf32 = request.allow_tf32();
  options.optimize = request.optimize();
  options.denormals = request.denormals();
  options.without = without.data();
  options.without_count = without.size();
  if (request.cost_profile() != nullptr) {
    options.cost_profile = request.cost_profile()->c_str();
    options.cost_profile_size = request.cost_profile()->size();
  }
  Check(tailor_graph_compile_artifact(graph, &options, KeepArtifact, nullptr));
  Send(Kind::kDone, 0, 1, "", "");
}

}  // namespace
}  // namespace tailor::isolated

int main() {
  using namespace tailor::isolated;
  if (fcntl(kRequestFile, F_GETFD) < 0 || fcntl(kArtifactFile, F_GETFD) < 0 || fcntl(kMessagePipe, F_GETFD) < 0) {
    std::fputs("tailor-compile-worker is started by libtailor.so where compile options ask for isolation\n", stderr);
    return 2;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  syscall(SYS_close_range, kMessagePipe + 1, ~0u, 0);  // closes descriptors inherited from the host
  const Request request = ReadRequest();
  if (std::strcmp(request.request->version()->c_str(), tailor_version()) != 0) {
    Fail(TAILOR_FAILED_PRECONDITION, std::string("isolated compilation: the worker is of version ") + tailor_version() +
                                         ", the library that started it of version " +
                                         request.request->version()->c_str());
  }
  SetOutOfMemory(MemoryIsOut);
  LimitMemory(*request.request);
  Compile(request);
  _exit(0);  // compilation needs no orderly shutdown
}

// Loads an artifact and runs it as its standard input asks, answering on standard output: the part of a test that
// executes generated code, without the compiler, so that it can run on an emulated CPU (emulated_cpu.h).
#include <malloc.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <utility>

#include "tests/support/loaded_program.h"
#include "tests/support/test_messages.h"

namespace tailor {
namespace {

TestMessage Answer(TestMessage& call, std::unique_ptr<TestProgram>* program) {
  TestMessage answer;
  switch (static_cast<RunnerCall>(call.Number())) {
    case RunnerCall::kLoad: {
      const std::string target = call.Text();
      const std::vector<std::byte> bytes = call.Bytes();
      AlignedBytes artifact(bytes.size());
      std::memcpy(artifact.span().data(), bytes.data(), bytes.size());
      auto loaded = LoadProgram(std::move(artifact), target, {});
      answer.Put(loaded.status());
      if (loaded.ok()) *program = *std::move(loaded);
      return answer;
    }
    case RunnerCall::kRun: {
      const auto threads = static_cast<int>(call.Number());
      const auto outputs = (*program)->Run(call.Tensors(), threads);
      answer.Put(outputs.status());
      if (outputs.ok()) answer.Put(*outputs);
      return answer;
    }
    case RunnerCall::kRunInto: {
      const auto threads = static_cast<int>(call.Number());
      const std::vector<HostTensor> inputs = call.Tensors();
      std::vector<HostTensor> outputs = call.Tensors();
      answer.Put((*program)->RunInto(inputs, threads, &outputs));
      answer.Put(outputs);
      return answer;
    }
  }
  abort();
}

}  // namespace
}  // namespace tailor

int main() {
  tailor::AllowReadsAround(1 << 20);
  // For the same reason no block of the heap ends near an unmapped page.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TOP_PAD, 1 << 24);
  std::unique_ptr<tailor::TestProgram> program;
  tailor::TestMessage call;
  while (call.ReceiveFrom(STDIN_FILENO)) {
    if (!tailor::Answer(call, &program).SendTo(STDOUT_FILENO)) return 1;
  }
}

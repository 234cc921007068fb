#include "tests/api/runtime_fixture.h"

namespace tailor {
namespace {

TEST(Session, RunsTheSampleAtManyShapes) {
  const ExecutablePtr executable = LoadSample();
  const SessionPtr session = MakeSession(executable.get());
  for (int64_t rows : {5, 0, 1, 16, 17, 1000, 3}) {
    SampleCall call(rows);
    EXPECT_EQ(call.Run(session.get()), "OK");
    call.ExpectResults();
  }
}

}  // namespace
}  // namespace tailor

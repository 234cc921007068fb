#include "exec/fork.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tailor {
namespace {

TEST(Fork, AChildIsAnotherGenerationWithAFreeLock) {
  const uint64_t generation = ForkGeneration();
  const pid_t child = fork();
  if (child == 0) {
    const bool free = BookkeepingMutex().try_lock();
    _exit(free && ForkGeneration() == generation + 1 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(ForkGeneration(), generation);
  ASSERT_TRUE(BookkeepingMutex().try_lock());
  BookkeepingMutex().unlock();
}

}  // namespace
}  // namespace tailor

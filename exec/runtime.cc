#include "exec/runtime.h"

#include "codegen/contract/program.h"
#include "exec/fork.h"

namespace tailor {

void Runtime::Log(Level level, const Program& program, const std::string& message) const {
  if (options_.log == nullptr) return;
  const std::string& name = program.display_name;
  options_.log(options_.user, level, (name.empty() ? message : name + ": " + message).c_str());
}

std::shared_ptr<ThreadTeam> Runtime::Team(size_t threads) const {
  const std::lock_guard lock(BookkeepingMutex());
  std::weak_ptr<ThreadTeam>& entry = teams_[threads];
  std::shared_ptr<ThreadTeam> team = entry.lock();
  if (team == nullptr || team->generation() != ForkGeneration()) {
    team = std::make_shared<ThreadTeam>(threads);
    if (!team->ok()) return nullptr;
    entry = team;
  }
  return team;
}

}  // namespace tailor

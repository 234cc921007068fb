// Cooperative threads within one host thread: each has its own stack and runs until it yields.
#ifndef TAILOR_TESTS_EMULATOR_FIBERS_H_
#define TAILOR_TESTS_EMULATOR_FIBERS_H_

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>
#include <vector>

namespace tailor::simt {

// Stacks, mapped once and reused by every launch. Below each is a guard page.
class StackPool {
 public:
  StackPool() = default;
  StackPool(const StackPool&) = delete;
  ~StackPool();
  static constexpr size_t kBytes = 128 << 10;
  // The highest address of stack `index`.
  void* Top(size_t index);

 private:
  static constexpr size_t kStacksPerMapping = 64;
  std::vector<char*> mappings_;
};

// A fiber may be abandoned where it yielded; its stack then serves another one.
class Fiber {
 public:
  // The next Resume calls `entry` on the stack below `top`; it must never return.
  void Start(void* top, void (*entry)());
  // Runs the fiber until it yields. Must not be called from a fiber.
  void Resume();
  // Returns to the Resume that runs this fiber.
  static void Yield();

 private:
  boost::context::detail::fcontext_t context_ = nullptr;
  void (*entry_)() = nullptr;
};

}  // namespace tailor::simt

#endif  // TAILOR_TESTS_EMULATOR_FIBERS_H_

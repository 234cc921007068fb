// Definitions by which libtailor.so runs beside glibc 2.34 and GCC 11's libstdc++, where it was built with newer ones.
// LLVM's archives refer to these names; the version script hides them.
#include <sys/random.h>

#include <cstdint>
#include <ctime>

#if defined(__GLIBC__) && defined(__GLIBCXX__)
// New in glibc 2.36. LLVM names temporary files by it, and draws seeds.
extern "C" uint32_t arc4random() noexcept {
  uint32_t number = 0;
  if (getrandom(&number, sizeof(number), 0) == sizeof(number)) return number;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint32_t>(now.tv_nsec) * 2654435761u;
}

// std::condition_variable::wait has a second version since GCC 12. This takes the first, which all have.
__asm__(".symver tailor_first_wait, _ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE@GLIBCXX_3.4.11");
extern "C" void tailor_first_wait(void* condition, void* lock);
extern "C" void tailor_wait(void* condition,
                            void* lock) __asm__("_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE");
extern "C" void tailor_wait(void* condition, void* lock) { tailor_first_wait(condition, lock); }
#endif

// Permission for tile registers (amx-tile): Linux saves them only for a process that requested it; until then their
// instructions fault.
#ifndef TAILOR_EXEC_TILE_STATE_H_
#define TAILOR_EXEC_TILE_STATE_H_

#include <asm/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tailor {

// Requests permission for all threads of the process, later ones and child processes included. False if the kernel
// refuses: a thread may have an alternative signal stack too small for the registers. Repeated requests are harmless.
inline bool RequestTileState() {
#ifdef ARCH_REQ_XCOMP_PERM
  constexpr int kRequest = ARCH_REQ_XCOMP_PERM;
#else
  constexpr int kRequest = 0x1023;  // headers older than Linux 5.16
#endif
  constexpr int kTileData = 18;  // the component's number in XCR0
  return syscall(SYS_arch_prctl, kRequest, kTileData) == 0;
}

}  // namespace tailor

#endif  // TAILOR_EXEC_TILE_STATE_H_

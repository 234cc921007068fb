// The device intrinsics that are one instruction each, as rows of
//
//   ROW(id, name, results, parameters, effects, form)
//
// `results` and `parameters` are one letter a value: r i32, l i64, f float, p i1, s a pointer to shared memory, g one to
// global memory, n an i32 constant. `effects` is a function of device_ops.cc, `form` one of lower_device_intrinsics.cc,
// where alone it is expanded. Semantics are those of the PTX ISA's instruction, for sm_80 and later:
//
//   cp_async_N(to, from, bytes)      starts to copy `bytes` <= N bytes and N - bytes zeros; `to`, `from` N-byte aligned
//   cp_async_commit()                makes the thread's copies since the last commit one group
//   cp_async_wait(n)                 until at most the n latest groups of the thread are under way
//   ldmatrix_xN(row)                 N 8x8 matrices of 16-bit elements, lane 8i + j has the address of row j of matrix i,
//                                    16-byte aligned; `_trans`: transposed
//   mma_mMnNkK_T(a..., b..., c...)   c + a b in f32, of a [M, K], b [K, N], c [M, N]. With g = lane / 4, t = lane % 4,
//                                    register i of a lane holds these (row, column), h = 0, 1 the halves of 16 bits:
//                                      a: (g + 8 (i % 2), 2 t + h + 8 (i / 2)), of tf32 (g + 8 (i % 2), t + 4 (i / 2))
//                                      b: (2 t + h + 8 i, g),                   of tf32 (t + 4 i, g)
//                                      c: (g + 8 (i / 2), 2 t + i % 2)
//   warp_barrier()                   of the warp's lanes; orders memory among them
//   ballot(bit)                      bit l of the result is lane l's `bit`
//   fence()                          orders the thread's accesses of memory for all threads of the device
#ifndef TAILOR_CODEGEN_CUDA_DEVICE_OP_TABLE_H_
#define TAILOR_CODEGEN_CUDA_DEVICE_OP_TABLE_H_

// clang-format off
#define TAILOR_DEVICE_OPS(ROW) \
  ROW(CpAsync4,           cp_async_4,          "",     "sgr",        StartsCopy,   Instruction(nvvm_cp_async_ca_shared_global_4_s))           \
  ROW(CpAsync8,           cp_async_8,          "",     "sgr",        StartsCopy,   Instruction(nvvm_cp_async_ca_shared_global_8_s))           \
  ROW(CpAsync16,          cp_async_16,         "",     "sgr",        StartsCopy,   Instruction(nvvm_cp_async_cg_shared_global_16_s))          \
  ROW(CpAsyncCommit,      cp_async_commit,     "",     "",           CountsCopies, Instruction(nvvm_cp_async_commit_group))                   \
  ROW(CpAsyncWait,        cp_async_wait,       "",     "n",          Memory,       Instruction(nvvm_cp_async_wait_group))                     \
  ROW(LdmatrixX1,         ldmatrix_x1,         "r",    "s",          WarpReads,    Instruction(nvvm_ldmatrix_sync_aligned_m8n8_x1_b16))       \
  ROW(LdmatrixX2,         ldmatrix_x2,         "rr",   "s",          WarpReads,    Instruction(nvvm_ldmatrix_sync_aligned_m8n8_x2_b16))       \
  ROW(LdmatrixX4,         ldmatrix_x4,         "rrrr", "s",          WarpReads,    Instruction(nvvm_ldmatrix_sync_aligned_m8n8_x4_b16))       \
  ROW(LdmatrixX1Trans,    ldmatrix_x1_trans,   "r",    "s",          WarpReads,    Instruction(nvvm_ldmatrix_sync_aligned_m8n8_x1_trans_b16)) \
  ROW(LdmatrixX2Trans,    ldmatrix_x2_trans,   "rr",   "s",          WarpReads,    Instruction(nvvm_ldmatrix_sync_aligned_m8n8_x2_trans_b16)) \
  ROW(LdmatrixX4Trans,    ldmatrix_x4_trans,   "rrrr", "s",          WarpReads,    Instruction(nvvm_ldmatrix_sync_aligned_m8n8_x4_trans_b16)) \
  ROW(MmaM16N8K16Bf16,    mma_m16n8k16_bf16,   "ffff", "rrrrrrffff", WarpComputes, Instruction(nvvm_mma_m16n8k16_row_col_bf16))               \
  ROW(MmaM16N8K16F16,     mma_m16n8k16_f16,    "ffff", "rrrrrrffff", WarpComputes, Instruction(nvvm_mma_m16n8k16_row_col_f32_f32))            \
  ROW(MmaM16N8K8Tf32,     mma_m16n8k8_tf32,    "ffff", "rrrrrrffff", WarpComputes, Instruction(nvvm_mma_m16n8k8_row_col_tf32))                \
  ROW(WarpBarrier,        warp_barrier,        "",     "",           WarpOrders,   AllLanes(nvvm_bar_warp_sync))                              \
  ROW(Ballot,             ballot,              "r",    "p",          WarpMeets,    AllLanes(nvvm_vote_ballot_sync))                           \
  ROW(Fence,              fence,               "",     "",           Memory,       Instruction(nvvm_membar_gl))
// clang-format on

#endif  // TAILOR_CODEGEN_CUDA_DEVICE_OP_TABLE_H_

// The device intrinsics of one instruction each, as rows of
//
//   ROW(id, name, results, parameters, effects, form)
//
// `results` and `parameters` have one letter per value: r i32, l i64, f float, p i1, s a pointer to shared memory, g
// one to global memory, m a generic one, n an i32 constant. `effects` is a function of device_ops.cc. `form` is a
// function of lower_device_intrinsics.cc, the only place that expands it. Semantics are those of the PTX ISA's
// instructions.
// For sm_80 and later:
//
//   cp_async_N(to, from, bytes)      starts to copy `bytes` <= N bytes and N - bytes zeros; `to`, `from` N-byte aligned
//   cp_async_commit()                makes the thread's copies since the last commit one group
//   cp_async_wait(n)                 waits until at most the n latest groups of the thread are in flight
//   ldmatrix_xN(row)                 N 8x8 matrices of 16-bit elements; lane 8i + j has row j's address in matrix i,
//                                    16-byte aligned; `_trans`: transposed
//   mma_mMnNkK_T(a..., b..., c...)   c + a b in f32, of a [M, K], b [K, N], c [M, N]. With g = lane / 4, t = lane % 4,
//                                    register i of a lane holds these (row, column), h = 0, 1 the halves of 16 bits:
//                                      a: (g + 8 (i % 2), 2 t + h + 8 (i / 2)), of tf32 (g + 8 (i % 2), t + 4 (i / 2))
//                                      b: (2 t + h + 8 i, g),                   of tf32 (t + 4 i, g)
//                                      c: (g + 8 (i / 2), 2 t + i % 2)
//   pack_T(low, high)                both rounded to 16 bits, in one word
//   bf16_bits(x), f16_bits(x)        x rounded to 16 bits, the word's upper half zero
//   add_T(x, y), sub_T(x, y), mul_T(x, y)   of two 16-bit floats in each word, rounded once
//   f16_value(bits)                  the f16 in the word's lower half
//   round_tf32(x)                    x rounded to tf32, 10 bits of mantissa, ties away from zero: the upper 19 bits
//   exp2(x)                          2^x within 2 ULP; 0 for results below the least normal number
//   warp_barrier()                   of the warp's lanes; orders memory among them
//   ballot(bit)                      bit l of the result is lane l's `bit`
//   fence()                          orders the thread's memory accesses for all threads of the device
//   thread_id_here()                 thread_id() that no pass moves: what is computed of it takes no registers before
//
// For sm_90a only; `mbarrier` is 8 bytes of shared memory:
//
//   mbarrier_init(mbarrier, n)       n arrivals complete a phase; must be ordered before its use by other threads
//   mbarrier_arrive(mbarrier)        one arrival; the result is meaningless
//   mbarrier_arrive_expect(mbarrier, bytes)   one arrival; the phase waits for `bytes` more bytes
//   mbarrier_wait(mbarrier, parity)  waits until the phase of that parity is complete; the first phase has parity 0
//   cp_async_arrive(mbarrier)        one arrival, when the thread's cp_async copies so far have arrived
//   fence_mbarrier_init()            makes the thread's initialisations visible to copies
//   fence_async_proxy()              makes the thread's stores to shared memory visible to copies and wgmma
//   bulk_copy(to, from, bytes, mbarrier)   starts a copy, whose bytes count for the mbarrier; all 16-byte aligned
//   tensor_load_Nd(to, map, mbarrier, c0, ...)   the box of the tensor map at `map` at (..., c0), zeros outside
//   registers_up(n), registers_down(n)   sets the registers of each thread of the warpgroup to n
//   named_barrier(id, n)             of n threads, whole warps; orders memory among them
//   wgmma_fence()                    before the first wgmma on registers that other instructions wrote
//   wgmma_mMnNkK_T(c..., a, b)       starts c + a b^T, a [M, K] and b [N, K] by descriptors of shared memory; `_tb`:
//                                    c + a b, b [K, N]. Lane l of warp w of four holds of c [64, N] in register i
//                                    (16 w + l / 4 + 8 (i / 2 % 2), 8 (i / 4) + 2 (l % 4) + i % 2)
//   wgmma_commit()                   makes the warpgroup's wgmmas since the last commit one group
//   wgmma_wait(n)                    waits until at most the n latest groups are in flight
//   wgmma_results_N(c...)            the same registers, after their wgmmas have written them: use after the wait
#ifndef TAILOR_CODEGEN_CUDA_DEVICE_IR_DEVICE_OP_TABLE_H_
#define TAILOR_CODEGEN_CUDA_DEVICE_IR_DEVICE_OP_TABLE_H_

// Accumulators of a warpgroup's wgmma with 32, 64, 128 and 256 columns.
#define TAILOR_FLOATS_8 "ffffffff"
#define TAILOR_FLOATS_16 TAILOR_FLOATS_8 TAILOR_FLOATS_8
#define TAILOR_FLOATS_32 TAILOR_FLOATS_16 TAILOR_FLOATS_16
#define TAILOR_FLOATS_64 TAILOR_FLOATS_32 TAILOR_FLOATS_32
#define TAILOR_FLOATS_128 TAILOR_FLOATS_64 TAILOR_FLOATS_64

// clang-format off
#define TAILOR_SM80_OPS(ROW) \
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
  ROW(PackBf16,           pack_bf16,           "r",    "ff",         Computes,     Packed(nvvm_ff2bf16x2_rn))                                 \
  ROW(PackF16,            pack_f16,            "r",    "ff",         Computes,     Packed(nvvm_ff2f16x2_rn))                                  \
  ROW(Bf16Bits,           bf16_bits,           "r",    "f",          Computes,     PackedAlone(nvvm_ff2bf16x2_rn))                            \
  ROW(F16Bits,            f16_bits,            "r",    "f",          Computes,     PackedAlone(nvvm_ff2f16x2_rn))                             \
  ROW(AddF16x2,           add_f16x2,           "r",    "rr",         Computes,     PairAdd(nvvm_fma_rn_f16x2))                                \
  ROW(SubF16x2,           sub_f16x2,           "r",    "rr",         Computes,     PairSub(nvvm_fma_rn_f16x2))                                \
  ROW(MulF16x2,           mul_f16x2,           "r",    "rr",         Computes,     PairMul(nvvm_fma_rn_f16x2))                                \
  ROW(AddBf16x2,          add_bf16x2,          "r",    "rr",         Computes,     PairAdd(nvvm_fma_rn_bf16x2))                               \
  ROW(SubBf16x2,          sub_bf16x2,          "r",    "rr",         Computes,     PairSub(nvvm_fma_rn_bf16x2))                               \
  ROW(MulBf16x2,          mul_bf16x2,          "r",    "rr",         Computes,     PairMul(nvvm_fma_rn_bf16x2))                               \
  ROW(F16Value,           f16_value,           "f",    "r",          Computes,     F16Value())                                                \
  ROW(RoundTf32,          round_tf32,          "r",    "f",          Computes,     Instruction(nvvm_f2tf32_rna))                              \
  ROW(Exp2,               exp2,                "f",    "f",          Computes,     Instruction(nvvm_ex2_approx_ftz_f))                        \
  ROW(WarpBarrier,        warp_barrier,        "",     "",           WarpOrders,   AllLanes(nvvm_bar_warp_sync))                              \
  ROW(Ballot,             ballot,              "r",    "p",          WarpCollective,    AllLanes(nvvm_vote_ballot_sync))                           \
  ROW(ThreadIdHere,       thread_id_here,      "r",    "",           StaysInPlace,       PtxWord("mov.u32 $0, %tid.x;"))                            \
  ROW(Fence,              fence,               "",     "",           Memory,       Instruction(nvvm_membar_gl))

#define TAILOR_SM90A_OPS(ROW) \
  ROW(MbarrierInit,          mbarrier_init,            "",          "sr",             Memory,     Instruction(nvvm_mbarrier_init_shared))                                                         \
  ROW(MbarrierArrive,        mbarrier_arrive,          "l",         "s",              Memory,     Instruction(nvvm_mbarrier_arrive_shared))                                                       \
  ROW(MbarrierArriveExpect,  mbarrier_arrive_expect,   "",          "sr",             Memory,     Ptx("mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;"))                                  \
  ROW(MbarrierWait,          mbarrier_wait,            "",          "sr",             Memory,     Ptx(kWaitForPhase))                                                                             \
  ROW(CpAsyncArrive,         cp_async_arrive,          "",          "s",              Memory,     Instruction(nvvm_cp_async_mbarrier_arrive_noinc_shared))                                        \
  ROW(FenceMbarrierInit,     fence_mbarrier_init,      "",          "",               Memory,     Ptx("fence.mbarrier_init.release.cluster;"))                                                    \
  ROW(FenceAsyncProxy,       fence_async_proxy,        "",          "",               Memory,     Ptx("fence.proxy.async.shared::cta;"))                                                          \
  ROW(BulkCopy,              bulk_copy,                "",          "sgrs",           Memory,     Ptx("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1], $2, [$3];")) \
  ROW(TensorLoad2d,          tensor_load_2d,           "",          "smsrr",          Memory,     TensorLoad("2d", "$3, $4"))                                                                     \
  ROW(TensorLoad3d,          tensor_load_3d,           "",          "smsrrr",         Memory,     TensorLoad("3d", "$3, $4, $5"))                                                                 \
  ROW(RegistersUp,           registers_up,             "",          "n",              WarpOrders, Instruction(nvvm_setmaxnreg_inc_sync_aligned_u32))                                              \
  ROW(RegistersDown,         registers_down,           "",          "n",              WarpOrders, Instruction(nvvm_setmaxnreg_dec_sync_aligned_u32))                                              \
  ROW(NamedBarrier,          named_barrier,            "",          "rr",             WarpOrders, Ptx("barrier.sync $0, $1;"))                                                                    \
  ROW(WgmmaFence,            wgmma_fence,              "",          "",               WarpOrders, Ptx("wgmma.fence.sync.aligned;"))                                                               \
  ROW(WgmmaCommit,           wgmma_commit,             "",          "",               WarpOrders, Ptx("wgmma.commit_group.sync.aligned;"))                                                        \
  ROW(WgmmaWait,             wgmma_wait,               "",          "n",              WarpOrders, Ptx("wgmma.wait_group.sync.aligned $0;"))                                                       \
  ROW(WgmmaResults32,        wgmma_results_32,         TAILOR_FLOATS_16,  TAILOR_FLOATS_16,       WarpCollective,  InPlace(""))                                                                                    \
  ROW(WgmmaResults64,        wgmma_results_64,         TAILOR_FLOATS_32,  TAILOR_FLOATS_32,       WarpCollective,  InPlace(""))                                                                                    \
  ROW(WgmmaResults128,       wgmma_results_128,        TAILOR_FLOATS_64,  TAILOR_FLOATS_64,       WarpCollective,  InPlace(""))                                                                                    \
  ROW(WgmmaResults256,       wgmma_results_256,        TAILOR_FLOATS_128, TAILOR_FLOATS_128,      WarpCollective,  InPlace(""))                                                                                    \
  ROW(WgmmaM64N32K16Bf16Tb,  wgmma_m64n32k16_bf16_tb,  TAILOR_FLOATS_16,  TAILOR_FLOATS_16 "ll",  WarpOrders, Wgmma("m64n32k16", "bf16", 1))                                                                  \
  ROW(WgmmaM64N32K16F16Tb,   wgmma_m64n32k16_f16_tb,   TAILOR_FLOATS_16,  TAILOR_FLOATS_16 "ll",  WarpOrders, Wgmma("m64n32k16", "f16", 1))                                                                   \
  ROW(WgmmaM64N64K16Bf16,    wgmma_m64n64k16_bf16,     TAILOR_FLOATS_32,  TAILOR_FLOATS_32 "ll",  WarpOrders, Wgmma("m64n64k16", "bf16", 0))                                                                  \
  ROW(WgmmaM64N64K16Bf16Tb,  wgmma_m64n64k16_bf16_tb,  TAILOR_FLOATS_32,  TAILOR_FLOATS_32 "ll",  WarpOrders, Wgmma("m64n64k16", "bf16", 1))                                                                  \
  ROW(WgmmaM64N64K16F16,     wgmma_m64n64k16_f16,      TAILOR_FLOATS_32,  TAILOR_FLOATS_32 "ll",  WarpOrders, Wgmma("m64n64k16", "f16", 0))                                                                   \
  ROW(WgmmaM64N64K16F16Tb,   wgmma_m64n64k16_f16_tb,   TAILOR_FLOATS_32,  TAILOR_FLOATS_32 "ll",  WarpOrders, Wgmma("m64n64k16", "f16", 1))                                                                   \
  ROW(WgmmaM64N128K16Bf16,   wgmma_m64n128k16_bf16,    TAILOR_FLOATS_64,  TAILOR_FLOATS_64 "ll",  WarpOrders, Wgmma("m64n128k16", "bf16", 0))                                                                 \
  ROW(WgmmaM64N128K16Bf16Tb, wgmma_m64n128k16_bf16_tb, TAILOR_FLOATS_64,  TAILOR_FLOATS_64 "ll",  WarpOrders, Wgmma("m64n128k16", "bf16", 1))                                                                 \
  ROW(WgmmaM64N128K16F16,    wgmma_m64n128k16_f16,     TAILOR_FLOATS_64,  TAILOR_FLOATS_64 "ll",  WarpOrders, Wgmma("m64n128k16", "f16", 0))                                                                  \
  ROW(WgmmaM64N128K16F16Tb,  wgmma_m64n128k16_f16_tb,  TAILOR_FLOATS_64,  TAILOR_FLOATS_64 "ll",  WarpOrders, Wgmma("m64n128k16", "f16", 1))                                                                  \
  ROW(WgmmaM64N256K16Bf16,   wgmma_m64n256k16_bf16,    TAILOR_FLOATS_128, TAILOR_FLOATS_128 "ll", WarpOrders, Wgmma("m64n256k16", "bf16", 0))                                                                 \
  ROW(WgmmaM64N256K16Bf16Tb, wgmma_m64n256k16_bf16_tb, TAILOR_FLOATS_128, TAILOR_FLOATS_128 "ll", WarpOrders, Wgmma("m64n256k16", "bf16", 1))                                                                 \
  ROW(WgmmaM64N256K16F16,    wgmma_m64n256k16_f16,     TAILOR_FLOATS_128, TAILOR_FLOATS_128 "ll", WarpOrders, Wgmma("m64n256k16", "f16", 0))                                                                  \
  ROW(WgmmaM64N256K16F16Tb,  wgmma_m64n256k16_f16_tb,  TAILOR_FLOATS_128, TAILOR_FLOATS_128 "ll", WarpOrders, Wgmma("m64n256k16", "f16", 1))
// clang-format on

#define TAILOR_DEVICE_OPS(ROW) TAILOR_SM80_OPS(ROW) TAILOR_SM90A_OPS(ROW)

#endif  // TAILOR_CODEGEN_CUDA_DEVICE_IR_DEVICE_OP_TABLE_H_

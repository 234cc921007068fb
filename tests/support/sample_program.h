// A small compiled program that exists without the compiler: its code is sample_image.c. It computes
//   y[N, 4] = -x[N, 4] * scale[4], total[N] = sum over x's row times mask[N]
// with a symbol, checks, a workspace with per-worker scratch, a shape cache and two parallel kernels.
#ifndef TAILOR_TESTS_SUPPORT_SAMPLE_PROGRAM_H_
#define TAILOR_TESTS_SUPPORT_SAMPLE_PROGRAM_H_

#include <cstddef>
#include <span>

#include "codegen/contract/program.h"
#include "serialization/aligned_bytes.h"

namespace tailor {

// One variant, "x86-64", that every machine runs. Its spans point to static data.
Program SampleProgram();

// A second variant, "cuda", of the same host code: it has two kernels and an image of each kind, which no device would
// run, but which look as such images do.
Variant SampleDeviceVariant();

inline constexpr float kSampleScale[4] = {1, 2, 3, 0.5f};
inline constexpr uint64_t kSampleScratchBytes = 64;  // of workspace, per worker

// The program as an artifact. Aborts where it cannot be written.
AlignedBytes ArtifactOf(const Program& program, const uint8_t* secret_key = nullptr);
AlignedBytes SampleArtifact();

}  // namespace tailor

#endif  // TAILOR_TESTS_SUPPORT_SAMPLE_PROGRAM_H_

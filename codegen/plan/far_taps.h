// Staging of windows with a large dilation, as of TCN, WaveNet or DeepLab: the rows that a task reads for one tap are
// far from those of the next, so one range over all taps would mostly hold rows that no tap reads.
#ifndef TAILOR_CODEGEN_PLAN_FAR_TAPS_H_
#define TAILOR_CODEGEN_PLAN_FAR_TAPS_H_

#include "codegen/plan/kernel_plan.h"

namespace tailor {

// Gives the staging buffer of a contraction a dim of taps for each dim whose index is rows + taps * dilation, where the
// rows of one task spread over less than the dilation: [C, H, W] becomes [C, taps, rows, W]. Does nothing in plans
// without a staging buffer, and for Winograd.
void StageFarTapsApart(KernelPlan& plan);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_PLAN_FAR_TAPS_H_

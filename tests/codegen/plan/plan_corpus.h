// Kernel plans of a corpus of graphs, for CPUs and for GPUs: regression graphs, every op on every dtype, random graphs
// (more with TAILOR_TEST_ALL), and the texts in TAILOR_GRAPH_TEXTS (tools/corpus.py texts) where it names a folder.
#ifndef TAILOR_TESTS_CODEGEN_PLAN_PLAN_CORPUS_H_
#define TAILOR_TESTS_CODEGEN_PLAN_PLAN_CORPUS_H_

#include <functional>

#include "codegen/plan/kernel_plan.h"

namespace tailor {

// Calls `check` with each distinct plan; returns how many there are. EXPECTs that no lowering ends with INTERNAL.
int ForEachPlanOfCorpus(const std::function<void(const KernelPlan& plan)>& check);

}  // namespace tailor

#endif  // TAILOR_TESTS_CODEGEN_PLAN_PLAN_CORPUS_H_

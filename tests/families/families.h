// Graphs whose shape arithmetic grows with n as that of real models does: what a compilation takes must grow no faster.
#ifndef TAILOR_TESTS_FAMILIES_FAMILIES_H_
#define TAILOR_TESTS_FAMILIES_FAMILIES_H_

#include <string>
#include <vector>

#include "graph/graph.h"

namespace tailor {

struct Family {
  std::string name;
  Graph (*make)(int n);
  int n;  // large enough that what grows shows beside what does not
};

const std::vector<Family>& Families();

}  // namespace tailor

#endif  // TAILOR_TESTS_FAMILIES_FAMILIES_H_

// Generators of graphs of size n with the shape arithmetic of real models.
#ifndef TAILOR_TESTS_FAMILIES_FAMILIES_H_
#define TAILOR_TESTS_FAMILIES_FAMILIES_H_

#include <string>
#include <vector>

#include "graph/graph.h"

namespace tailor {

struct Family {
  std::string name;
  Graph (*make)(int n);
  int n;  // families_test compares n, 2 * n and 4 * n
};

const std::vector<Family>& Families();

}  // namespace tailor

#endif  // TAILOR_TESTS_FAMILIES_FAMILIES_H_

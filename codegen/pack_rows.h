// Rows that are shorter than a vector share it (AStitch section 3.3, horizontal task packing): lanes run along memory,
// over all elements of all rows, and reductions combine the lanes of one row among themselves.
#ifndef TAILOR_CODEGEN_PACK_ROWS_H_
#define TAILOR_CODEGEN_PACK_ROWS_H_

#include <optional>
#include <vector>

#include "codegen/kernel_plan.h"

namespace tailor {

struct PackedRows {
  static constexpr int kElementAxis = 0, kRowAxis = 1;
  int width = 0;  // elements of a row: a power of two
  // As the plan it was made of, over other axes: kElementAxis counts all elements, and all values are computed along
  // it, kRowAxis counts rows, at which the stores lie that are one for each row; the extent of both is the number of
  // rows. Stages have no loops; a reduction is one over kElementAxis, of each row for itself. Row buffers are locals:
  // each lane keeps its own element. Argument blocks are those of the plan it was made of.
  KernelPlan plan;
  // By buffer of `plan`: whether it is a local with one value for each row. What takes long to compute of such values
  // has a local, and a statement, of its own.
  std::vector<bool> of_row;
};

// Where vectors of `lanes` hold several rows of `plan`: its only axes are rows and a tile axis of constant extent,
// every element that is stored lies where its number among all elements says, and so do those that are read, unless
// they are the same for all rows or for all elements of a row.
std::optional<PackedRows> PackRows(const KernelPlan& plan, int lanes);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_PACK_ROWS_H_

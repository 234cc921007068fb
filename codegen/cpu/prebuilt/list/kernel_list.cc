#include "codegen/cpu/prebuilt/list/kernel_list.h"

#include "codegen/cpu/gemm/row_vector_kernel.h"
#include "codegen/cpu/gemm/square_kernel.h"
#include "codegen/cpu/tiling/tile_shapes.h"

namespace tailor::prebuilt {
namespace {

using gemm::MicroKernel;

// Forms of f32 matmuls, of one row and panel.
std::vector<MicroKernel> FormsOfFloats(int lanes) {
  const MicroKernel unit{.lanes = lanes}, strided{.lanes = lanes, .unit_depth_stride = false};
  MicroKernel tables = strided, packed = strided, unit_by_rows = unit, strided_by_rows = strided;
  tables.tables = packed.packed_rows = unit_by_rows.rhs_rows = strided_by_rows.rhs_rows = true;
  return {unit, strided, tables, packed, unit_by_rows, strided_by_rows};
}

// Those of i16, and of u8 by i8, whose operands are copied or staged in words.
std::vector<MicroKernel> FormsOfIntegers(int lanes, IntegerMatmuls instructions) {
  MicroKernel words{.lanes = lanes, .lhs = DType::kI16, .rhs = DType::kI16, .accumulate = DType::kI32};
  std::vector<MicroKernel> forms = {words};
  words.whole_words = true;
  forms.push_back(words);
  words.tables = true;
  forms.push_back(words);
  MicroKernel bytes{
      .lanes = lanes, .lhs = DType::kU8, .rhs = DType::kI8, .accumulate = DType::kI32, .whole_words = true};
  if (instructions == IntegerMatmuls::kPairs) {
    bytes.split_words = true;
    forms.push_back(bytes);
  } else {
    forms.push_back(bytes);
    bytes.tables = true;
    forms.push_back(bytes);
  }
  return forms;
}

// `form` with every number of rows and panels that fits the registers, with the first registers of a single panel, and
// with a last panel of one of two registers.
void AddTiles(const TargetTraits& traits, MicroKernel form, std::vector<MicroKernel>& kernels) {
  constexpr int kMostRows = 14, kMostPanels = 8;
  const auto add = [&](int columns, int rows, int panels) {
    form.columns = columns;
    form.rows = rows;
    form.panels = panels;
    for (const bool ahead : {false, true}) {
      form.fetch_ahead = ahead;
      kernels.push_back(form);
    }
  };
  for (int rows = 1; rows <= kMostRows; ++rows) {
    for (int panels = 1; panels <= kMostPanels; ++panels) {
      if (gemm::FitsRegisters(traits, kPanelColumns / form.lanes, rows, panels)) add(kPanelColumns, rows, panels);
    }
    for (int pieces = 1; pieces < kPanelColumns / form.lanes; ++pieces) {
      if (gemm::FitsRegisters(traits, pieces, rows, 1)) add(pieces * form.lanes, rows, 1);
    }
    const bool halves_panels = form.lanes == kPanelColumns / 2 && form.lhs == DType::kF32;
    constexpr int kMostSums = 3 * gemm::kRowsOfOneAndAHalf;
    for (int panels = 2; halves_panels && rows * (2 * panels - 1) <= kMostSums; ++panels) add(form.lanes, rows, panels);
  }
}

// Those of f32 matmuls of few columns, whose lanes run along rows.
void AddRowsInLanes(int lanes, std::vector<MicroKernel>& kernels) {
  if (lanes < 8) return;
  for (const bool tables : {false, true}) {
    for (const bool masks_rows : {false, true}) {
      for (int columns = 1; columns <= gemm::MostColumnsOfRowVectors(lanes, masks_rows); ++columns) {
        kernels.push_back({.rows = 2 * lanes,
                           .lanes = lanes,
                           .columns = columns,
                           .tables = tables,
                           .rows_in_lanes = true,
                           .masks_rows = masks_rows});
      }
    }
  }
  for (int columns = 1; lanes == gemm::kSquareRows && columns <= gemm::kMostSquareColumns; ++columns) {
    kernels.push_back({.rows = gemm::kSquareRows, .columns = columns, .squares = true});
  }
}

}  // namespace

std::vector<MicroKernel> CommonMicroKernels(const CpuTarget& target) {
  const int lanes = target.traits.vector_bytes / static_cast<int>(sizeof(float));
  std::vector<MicroKernel> forms = FormsOfIntegers(lanes, target.traits.integer_matmuls), kernels;
  if (target.name == target.level) {
    const std::vector<MicroKernel> floats = FormsOfFloats(lanes);
    forms.insert(forms.begin(), floats.begin(), floats.end());
  }
  for (const MicroKernel& form : forms) AddTiles(target.traits, form, kernels);
  if (target.name == target.level) AddRowsInLanes(lanes, kernels);
  return kernels;
}

}  // namespace tailor::prebuilt

// Packs constants into the layout that kernels read: panels for the rhs of matmuls, else row-major.
#ifndef TAILOR_CODEGEN_DRIVER_PACK_CONSTANTS_H_
#define TAILOR_CODEGEN_DRIVER_PACK_CONSTANTS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "codegen/contract/panels.h"
#include "codegen/lower/lowered_program.h"

namespace tailor::driver {

// A batch of row-major matrices; with `transposed` they are stored [columns][rows].
struct PanelSource {
  const std::byte* data;
  int64_t batch, rows, columns;
  int element_bytes;
  bool transposed;
  int word_rows = 1;        // that are interleaved in words of 4 bytes (kWordPanels16); 1: none
  bool winograd = false;    // nine f32 rows become 16 points (kWinogradPanels16)
  bool taps_first = false;  // with winograd: the rows are [3, 3, C], not [C, 3, 3]
  int64_t matrices() const { return winograd ? batch * int64_t{kWinogradPoints} : batch; }
  int64_t panels() const { return (columns + kPanelColumns - 1) / kPanelColumns; }
  int64_t panel_rows() const {
    return winograd ? rows / (int64_t{kWinogradWindow} * kWinogradWindow) : WholeWords(rows, word_rows);
  }
  int64_t panel_bytes() const { return panel_rows() * kPanelColumns * element_bytes; }
};

// Fills panels [begin, end) of [matrices][panels][panel_rows][16], or [batch][panels][panel_rows / word_rows][16]
// [word_rows], numbered over all matrices. Zero-pads the last columns and rows.
void PackPanels(const PanelSource& source, int64_t begin, int64_t end, std::byte* out);

struct PackedConstants {
  std::vector<ProgramConstant> constants;            // in the order of LoweredProgram::constants
  std::vector<std::shared_ptr<const void>> storage;  // owners of their bytes, by constant
};

// Row-major constants are not copied: they reference the graph's bytes. Makes names unique. `report` gets the share
// done (0 to 1) after each MiB; its failure ends the work.
absl::StatusOr<PackedConstants> PackConstants(const lower::LoweredProgram& program, int threads,
                                              const std::function<absl::Status(double)>& report);

}  // namespace tailor::driver

#endif  // TAILOR_CODEGEN_DRIVER_PACK_CONSTANTS_H_

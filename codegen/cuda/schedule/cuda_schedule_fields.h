// The fields of a CudaSchedule's versions, for its text (codegen/plan/record_text.h).
#ifndef TAILOR_CODEGEN_CUDA_SCHEDULE_CUDA_SCHEDULE_FIELDS_H_
#define TAILOR_CODEGEN_CUDA_SCHEDULE_CUDA_SCHEDULE_FIELDS_H_

#include <array>
#include <tuple>
#include <type_traits>

#include "codegen/contract/tensor_map.h"
#include "codegen/cuda/schedule/cuda_schedule.h"
#include "codegen/plan/record_text.h"
#include "codegen/plan/schedule_fields.h"

namespace tailor {

constexpr auto FieldsOf(std::type_identity<TensorMapFactor>) {
  return std::tuple{Field{"dim", &TensorMapFactor::dim}, Field{"slot", &TensorMapFactor::slot},
                    Field{"number", &TensorMapFactor::number}};
}

constexpr auto FieldsOf(std::type_identity<TensorMap>) {
  return std::tuple{Field{"address", &TensorMap::address}, Field{"factors", &TensorMap::factors},
                    Field{"box", &TensorMap::box}, Field{"swizzle_bytes", &TensorMap::swizzle_bytes}};
}

}  // namespace tailor

namespace tailor::cuda {

constexpr auto NamesOf(std::type_identity<MatmulTile::Kind>) {
  return std::array{"multiply_add", "matrix", "panel_stream", "matrix_stream", "warpgroup"};
}

constexpr auto FieldsOf(std::type_identity<MatmulTile>) {
  return std::tuple{Field{"kind", &MatmulTile::kind},
                    Field{"rows", &MatmulTile::rows},
                    Field{"columns", &MatmulTile::columns},
                    Field{"depth", &MatmulTile::depth},
                    Field{"part_rows", &MatmulTile::part_rows},
                    Field{"part_columns", &MatmulTile::part_columns},
                    Field{"stages", &MatmulTile::stages},
                    Field{"slices", &MatmulTile::slices},
                    Field{"pass_rows", &MatmulTile::pass_rows},
                    Field{"resident_blocks", &MatmulTile::resident_blocks},
                    Field{"copying_warps", &MatmulTile::copying_warps},
                    Field{"rounds_sums", &MatmulTile::rounds_sums}};
}

constexpr auto NamesOf(std::type_identity<AttentionTile::Kind>) { return std::array{"matrix", "multiply_add"}; }

constexpr auto FieldsOf(std::type_identity<AttentionTile>) {
  return std::tuple{Field{"kind", &AttentionTile::kind},       Field{"rows", &AttentionTile::rows},
                    Field{"keys", &AttentionTile::keys},       Field{"depth", &AttentionTile::depth},
                    Field{"columns", &AttentionTile::columns}, Field{"slices", &AttentionTile::slices},
                    Field{"stages", &AttentionTile::stages},   Field{"skips", &AttentionTile::skips}};
}

constexpr auto NamesOf(std::type_identity<CudaVersion::Shape>) {
  return std::array{"thread_per_element", "rows", "columns", "transposed", "matmul_tile", "attention_tile"};
}

constexpr auto FieldsOf(std::type_identity<CudaVersion>) {
  return std::tuple{Field{"version", &CudaVersion::version},
                    Field{"shape", &CudaVersion::shape},
                    Field{"threads", &CudaVersion::threads},
                    Field{"row_threads", &CudaVersion::row_threads},
                    Field{"lanes", &CudaVersion::lanes},
                    Field{"lane_axis", &CudaVersion::lane_axis},
                    Field{"vectors_per_thread", &CudaVersion::vectors_per_thread},
                    Field{"tile", &CudaVersion::tile},
                    Field{"attention", &CudaVersion::attention},
                    Field{"blocks", &CudaVersion::blocks},
                    Field{"resident_blocks", &CudaVersion::resident_blocks},
                    Field{"persistent", &CudaVersion::persistent},
                    Field{"cooperative", &CudaVersion::cooperative},
                    Field{"parts", &CudaVersion::parts},
                    Field{"shared_bytes", &CudaVersion::shared_bytes},
                    Field{"rows_in_shared", &CudaVersion::rows_in_shared},
                    Field{"partial_bytes", &CudaVersion::partial_bytes},
                    Field{"scratch_bytes", &CudaVersion::scratch_bytes},
                    Field{"maps", &CudaVersion::maps},
                    Field{"clocks", &CudaVersion::clocks}};
}

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_SCHEDULE_CUDA_SCHEDULE_FIELDS_H_

// The fields of a Schedule, for its text (codegen/plan/record_text.h).
#ifndef TAILOR_CODEGEN_PLAN_SCHEDULE_FIELDS_H_
#define TAILOR_CODEGEN_PLAN_SCHEDULE_FIELDS_H_

#include <tuple>
#include <type_traits>

#include "codegen/plan/record_text.h"
#include "codegen/plan/schedule.h"

namespace tailor {

constexpr auto FieldsOf(std::type_identity<PartTasks>) {
  return std::tuple{Field{"count", &PartTasks::count},   Field{"axis", &PartTasks::axis},
                    Field{"phases", &PartTasks::phases}, Field{"serial", &PartTasks::serial},
                    Field{"tasks", &PartTasks::tasks},   Field{"scratch_bytes", &PartTasks::scratch_bytes}};
}

constexpr auto FieldsOf(std::type_identity<Version>) {
  return std::tuple{Field{"guards", &Version::guards},         Field{"no_broadcast", &Version::no_broadcast},
                    Field{"streams", &Version::streams},       Field{"short_rows", &Version::short_rows},
                    Field{"packs_rows", &Version::packs_rows}, Field{"parts", &Version::parts}};
}

constexpr auto FieldsOf(std::type_identity<MatmulTiling>) {
  return std::tuple{Field{"rows", &MatmulTiling::rows},
                    Field{"panels", &MatmulTiling::panels},
                    Field{"whole_rows", &MatmulTiling::whole_rows},
                    Field{"whole_panels", &MatmulTiling::whole_panels},
                    Field{"task_rows", &MatmulTiling::task_rows},
                    Field{"task_panels", &MatmulTiling::task_panels},
                    Field{"least_m", &MatmulTiling::least_m},
                    Field{"most_m", &MatmulTiling::most_m}};
}

constexpr auto FieldsOf(std::type_identity<ContractionTile>) {
  return std::tuple{Field{"rows", &ContractionTile::rows},
                    Field{"panels", &ContractionTile::panels},
                    Field{"tall_rows", &ContractionTile::tall_rows},
                    Field{"tall_panels", &ContractionTile::tall_panels},
                    Field{"task_rows", &ContractionTile::task_rows},
                    Field{"task_panels", &ContractionTile::task_panels},
                    Field{"depth", &ContractionTile::depth},
                    Field{"winograd_tiles", &ContractionTile::winograd_tiles},
                    Field{"rows_in_lanes", &ContractionTile::rows_in_lanes},
                    Field{"squares", &ContractionTile::squares},
                    Field{"packed_rows", &ContractionTile::packed_rows},
                    Field{"packed_panels", &ContractionTile::packed_panels},
                    Field{"copies_rows", &ContractionTile::copies_rows},
                    Field{"split_words", &ContractionTile::split_words},
                    Field{"chooses", &ContractionTile::chooses},
                    Field{"tilings", &ContractionTile::tilings}};
}

constexpr auto FieldsOf(std::type_identity<Schedule>) {
  return std::tuple{Field{"lanes", &Schedule::lanes},
                    Field{"lane_axis", &Schedule::lane_axis},
                    Field{"lane_chunk", &Schedule::lane_chunk},
                    Field{"cross_axis", &Schedule::cross_axis},
                    Field{"cross_chunk", &Schedule::cross_chunk},
                    Field{"unroll", &Schedule::unroll},
                    Field{"interleaved_rows", &Schedule::interleaved_rows},
                    Field{"max_interleaved_elements", &Schedule::max_interleaved_elements},
                    Field{"overlap_stage", &Schedule::overlap_stage},
                    Field{"max_overlap_elements", &Schedule::max_overlap_elements},
                    Field{"defer_last_stage", &Schedule::defer_last_stage},
                    Field{"block_rows", &Schedule::block_rows},
                    Field{"windows", &Schedule::windows},
                    Field{"tile", &Schedule::tile},
                    Field{"row_blocks", &Schedule::row_blocks},
                    Field{"tasks", &Schedule::tasks},
                    Field{"tasks_per_chunk", &Schedule::tasks_per_chunk},
                    Field{"scratch_bytes", &Schedule::scratch_bytes},
                    Field{"versions", &Schedule::versions},
                    Field{"links", &Schedule::links}};
}

}  // namespace tailor

#endif  // TAILOR_CODEGEN_PLAN_SCHEDULE_FIELDS_H_

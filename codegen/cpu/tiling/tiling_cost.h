// Predicted time of a tiling (MikPoly section 3.4, equations 2 to 4), as one formula for numbers and for generated
// code. V is a float, or a vector in IR with one lane per candidate. V has + - * /, Floor, Ceil, Min, Max and Choose:
// Choose(x, then, otherwise) is `then` where x > 0. All values are integers or nanoseconds. Dim sizes beyond 2^24 are
// rounded: the error is below that of the prediction, and tile sizes remain valid entries of the table.
#ifndef TAILOR_CODEGEN_CPU_TILING_TILING_COST_H_
#define TAILOR_CODEGEN_CPU_TILING_TILING_COST_H_

namespace tailor::gemm {

// The fields of a MatmulTiling.
template <typename V>
struct TilingTerms {
  V rows, panels, whole_rows, whole_panels, task_rows, task_panels, least_m, most_m;
};

// The matmul to split, and the number of threads that compute it.
template <typename V>
struct ShapeTerms {
  V m, n, panels, k, batch, threads;
  V depth;  // ContractionTile::depth
};

// The fields of a TileCost (TileTerms) and of a CostProfile (MachineTerms).
template <typename V>
struct TileTerms {
  V fixed, near_step, far_step;
};
template <typename V>
struct MachineTerms {
  V near_depth, cached_bytes, line_ns, fetch_overlap, chunk_ns, fork_ns;
};

// Tasks of a launch, and tasks per chunk.
template <typename V>
struct TaskTerms {
  V tasks, tasks_per_chunk, turns;  // turns: chunks of the busiest thread
};

// The tiles of one axis: `larges` tiles of size `large`, then `smalls` of size `small`. `large` may be limit + 1, but
// only if `larges` is 0.
template <typename V>
struct AxisTiles {
  V large, larges, small, smalls;
  AxisTiles(V dim_size, V limit, V whole) {
    const V tiles = Ceil(dim_size / limit);
    const V base = Floor(dim_size / Max(tiles, V(1)));
    larges = Choose(whole, Floor(dim_size / limit), dim_size - base * tiles);
    large = Choose(whole, limit, Min(base, limit) + V(1));
    small = Min(Max(Choose(whole, dim_size - limit * larges, base), V(1)), limit);
    smalls = tiles - larges;
  }
};

// A thread takes several small tasks at a time, a chunk of at least about this work, so that fetching it pays off.
inline constexpr int kChunkMultiplyAdds = 1 << 19;

// Chunks are sized so that every thread that gets one gets equally many (section 4: max-min allocation).
template <typename V>
TaskTerms<V> TasksOf(const TilingTerms<V>& tiling, const ShapeTerms<V>& shape) {
  constexpr float kReadingRows = 8, kPanelColumns = 16;
  TaskTerms<V> t;
  t.tasks = Ceil(shape.m / tiling.task_rows) * Ceil(shape.panels / tiling.task_panels) * shape.batch;
  const V columns = Min(shape.n, tiling.task_panels * V(kPanelColumns));
  const V work = (Min(shape.m, tiling.task_rows) + V(kReadingRows)) * columns * shape.k + V(1);
  const V least = Max(V(1), Floor(V(float{kChunkMultiplyAdds}) / work)), chunks = Ceil(t.tasks / least);
  t.turns = Ceil(chunks / shape.threads);
  t.tasks_per_chunk = Max(V(1), Ceil(t.tasks / Max(V(1), t.turns * Min(shape.threads, chunks))));
  return t;
}

// `tile_of(rows, panels)` returns TileTerms. All row tiles of a task run past a group of panels. The first tile waits
// until the panels have arrived, except for what the tiles before it prefetched.
template <typename V, typename TileOf>
V PredictedTime(const TilingTerms<V>& tiling, const ShapeTerms<V>& shape, const MachineTerms<V>& machine,
                TileOf tile_of) {
  constexpr float kLineBytes = 64, kNever = 1e30f;
  const V near = Min(shape.k, machine.near_depth), far = shape.k - near, visits = Ceil(shape.k / shape.depth);
  const auto tile = [&](V rows, V panels) {
    const TileTerms<V> cost = tile_of(rows, panels);
    return visits * cost.fixed + near * cost.near_step + far * cost.far_step;
  };
  const AxisTiles<V> rows(shape.m, tiling.rows, tiling.whole_rows),
      groups(shape.panels, tiling.panels, tiling.whole_panels);
  const V bytes = shape.panels * shape.k * V(kLineBytes);
  const V arrival = Choose(bytes - machine.cached_bytes, shape.k * machine.line_ns, V(0));
  const auto group = [&](V panels) {
    const V large = tile(rows.large, panels), small = tile(rows.small, panels);
    const V all = rows.larges * large + rows.smalls * small;
    const V first = Choose(rows.larges, large, small);
    return all + Max(V(0), panels * arrival - first - machine.fetch_overlap * (all - first));
  };
  const V total = shape.batch * (groups.larges * group(groups.large) + groups.smalls * group(groups.small));

  const TaskTerms<V> t = TasksOf(tiling, shape);
  const V busiest = Min(total, t.turns * t.tasks_per_chunk * (total / Max(V(1), t.tasks)));
  const V shared = busiest + machine.fork_ns + t.turns * machine.chunk_ns;
  const V time = Choose(shape.threads - V(1), Choose(t.tasks - t.tasks_per_chunk, shared, total), total);
  return Choose(Max(tiling.least_m - shape.m, shape.m - tiling.most_m), V(kNever), time);
}

}  // namespace tailor::gemm

#endif  // TAILOR_CODEGEN_CPU_TILING_TILING_COST_H_

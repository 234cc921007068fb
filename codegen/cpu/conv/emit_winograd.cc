// Task functions of Winograd convolutions. A task is one block of tiles of one image times one block of columns. Per
// channel, or per block of channels of an image channels last, it fills the staging buffer with its part of the image
// and transforms that into points. Then, one group of panels at a time, micro-kernels multiply the points by those of
// the weights, the products are transformed into results, and the epilogue (TileEpilogue) runs over them. Blocks of
// tiles run fastest, so that consecutive tasks find the weights in cache.
#include "codegen/cpu/conv/emit_winograd.h"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/cpu/conv/winograd.h"
#include "codegen/cpu/gemm/fill_staging.h"
#include "codegen/cpu/gemm/micro_kernels.h"
#include "codegen/cpu/gemm/tile_epilogue.h"
#include "codegen/cpu/tiling/even_tiling.h"
#include "codegen/cpu/tiling/tile_shapes.h"
#include "codegen/ir/emit_loop.h"
#include "codegen/scalar/scalar_emitter.h"

namespace tailor::gemm {
namespace {

using llvm::Value;
using Side = std::array<Value*, kWinogradSide>;
using TileElements = std::array<Side, kWinogradSide>;  // by row, then column of a tile

class WinogradEmitter {
 public:
  WinogradEmitter(const KernelPlan& plan, const Contraction& contraction, const Schedule& schedule,
                  const EmitTarget& target, llvm::Module& module)
      : plan_(plan),
        c_(contraction),
        schedule_(schedule),
        tile_(schedule.tile),
        target_(target),
        module_(module),
        b_(module.getContext()),
        pieces_(kPanelColumns / schedule.lanes),
        image_(WinogradImageOf(contraction)),
        dilation_(contraction.dilation),
        supertile_results_(WinogradSupertileResults(contraction)),
        scratch_(ScratchOfWinograd(plan, contraction, schedule.tile)),
        element_(b_.getFloatTy()),
        lanes_(llvm::FixedVectorType::get(element_, schedule.lanes)),
        micro_kernels_(WinogradMicroKernels(plan, schedule)) {}

  void EmitFunction(const std::string& name) {
    frame_ = OpenKernelFunction(b_, module_, plan_, KernelSignature::OnHost(plan_, schedule_), name);
    llvm::Function* function = b_.GetInsertBlock()->getParent();
    ScalarEmitter scalars(b_, target_, plan_, frame_);
    scalars_ = &scalars;
    TileEpilogue epilogue(b_, plan_, c_, schedule_, frame_, scalars);
    epilogue_ = &epilogue;
    EmitTilings();
    EmitLoop(b_, function->getArg(1), function->getArg(2), 1, "task", [&](Value* task) { EmitTask(task); });
    b_.CreateRetVoid();
    scalars_ = nullptr;
    epilogue_ = nullptr;
  }

 private:
  // The tiling of one side of the image.
  struct Tiling {
    Value* results;
    EvenTiling blocks;  // of supertiles
  };
  // The current task's block along one side.
  struct Block {
    Value* start;  // the first result, in the image
    Value* tiles;
    Value* results;      // clipped to the image
    Value* all_results;  // not clipped
  };

  Value* I64(int64_t value) { return b_.getInt64(value); }
  Value* AtLeastOne(Value* value) { return b_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, value, I64(1)); }
  Value* Smaller(Value* x, Value* y) { return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, x, y); }
  Value* Times(Value* value, int64_t factor) { return b_.CreateMul(value, I64(factor)); }
  Value* DimSize(const tailor::DimSize& dim_size) { return frame_.DimSizeValue(b_, dim_size); }
  // The first result of tile `tile` of one side.
  Value* ResultOf(Value* tile) {
    if (dilation_ == 1) return Times(tile, kWinogradResults);
    Value* supertile = b_.CreateUDiv(tile, I64(dilation_));
    return b_.CreateAdd(Times(supertile, supertile_results_), b_.CreateURem(tile, I64(dilation_)));
  }
  Value* Scratch(int64_t offset) { return b_.CreateConstInBoundsGEP1_64(element_, frame_.scratch, offset); }
  Value* At(Value* base, Value* offset) { return b_.CreateInBoundsGEP(element_, base, offset); }
  Value* Load(Value* address, int align) { return b_.CreateAlignedLoad(lanes_, address, llvm::Align(align)); }
  int VectorBytes() const { return schedule_.lanes * SizeOf(DType::kF32); }

  // Tilings of this launch's images; ScheduleWinograd counts the same blocks.
  void EmitTilings() {
    const auto results = [&](size_t dim) {
      Value* inside = b_.CreateSub(DimSize(plan_.buffers[c_.lhs.ref].dims[dim]), I64(WinogradHalo(c_)));
      return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, inside, I64(0), nullptr, "results");
    };
    const auto supertiles = [&](Value* results) {
      return EmitCeilDiv(b_, results, I64(supertile_results_), "supertiles");
    };
    Value *across = results(image_.width), *down = results(image_.height),
          *blocks_down = frame_.Get(KernelParameter::kRowBlocks);
    if (blocks_down == nullptr) blocks_down = I64(0);  // Schedule::row_blocks is the constant 0: there are no tasks
    across_ = {across, EvenTiling::Emit(b_, supertiles(across), I64(scratch_.supertiles))};
    down_ = {down, EvenTiling::OfCount(b_, supertiles(down), blocks_down)};
    Value* n = DimSize(plan_.axes[c_.n].dim_size);
    panels_ = EmitCeilDiv(b_, n, I64(kPanelColumns), "panels");
    panel_blocks_ = AtLeastOne(EmitCeilDiv(b_, n, I64(tile_.task_panels * kPanelColumns), "panel.blocks"));
    channels_ = I64(tile_.depth);
    panel_stride_ = Times(channels_, kPanelColumns);
    point_stride_ = b_.CreateMul(panels_, panel_stride_, "point.stride");
  }

  Block BlockOf(const Tiling& tiling, Value* index) {
    Value* supertiles = tiling.blocks.Size(b_, index);
    Block block{.start = Times(tiling.blocks.Start(b_, index), supertile_results_),
                .tiles = Times(supertiles, dilation_),
                .all_results = Times(supertiles, supertile_results_)};
    block.results = Smaller(b_.CreateSub(tiling.results, block.start), block.all_results);
    return block;
  }

  void EmitTask(Value* task) {
    Value *blocks_across = AtLeastOne(across_.blocks.tiles), *blocks_down = AtLeastOne(down_.blocks.tiles);
    x_ = BlockOf(across_, b_.CreateURem(task, blocks_across, "x.block"));
    Value* rest = b_.CreateUDiv(task, blocks_across);
    y_ = BlockOf(down_, b_.CreateURem(rest, blocks_down, "y.block"));
    rest = b_.CreateUDiv(rest, blocks_down);
    for (int i = static_cast<int>(c_.batch.size()) - 1; i >= 0; --i) {
      Value* dim_size = AtLeastOne(DimSize(plan_.axes[c_.batch[i]].dim_size));
      scalars_->SetAxis(c_.batch[i], b_.CreateURem(rest, dim_size, "batch.index"));
      rest = b_.CreateUDiv(rest, dim_size);
    }
    Value* panel_block = rest;

    Value* tiles = b_.CreateMul(y_.tiles, x_.tiles, "tiles");
    const RuleLimits limits = RuleLimits::Emit(b_, tiles, tile_, pieces_);
    rows_ = EvenTiling::Emit(b_, tiles, limits.rows);
    groups_ = EvenTiling::Emit(b_, panels_, limits.panels);
    EmitImage();
    Value* end = groups_.BlockStart(b_, b_.CreateAdd(panel_block, I64(1)), panel_blocks_);
    EmitLoop(b_, groups_.BlockStart(b_, panel_block, panel_blocks_), end, 1, "group", [&](Value* group) {
      TileSums results;
      results.panel = groups_.Start(b_, group);
      results.panels = groups_.Size(b_, group);
      Value* width = Times(results.panels, kPanelColumns);
      EmitLoop(b_, I64(0), I64(kWinogradPoints), 1, "point", [&](Value* point) { EmitPoint(group, point, width); });
      EmitResults(width);
      EmitEpilogue(results, width);
    });
  }

  // ---- The image ----

  // Points of all channels: [16][C][tiles], or [16][tiles][C]. Elements beyond the image, and beyond a channel's tiles
  // or a tile's channels, are arbitrary: no existing result depends on them.
  void EmitImage() {
    const auto range = [&](const Block& block) {
      return IndexRange{block.start, b_.CreateAdd(block.start, b_.CreateAdd(block.results, I64(WinogradHalo(c_) - 1)))};
    };
    scalars_->SetAxis(c_.m, I64(0));
    scalars_->SetAxis(c_.k, I64(0));
    std::vector<IndexRange> ranges(c_.lhs.args.size());
    for (size_t dim = 0; dim + 3 < ranges.size(); ++dim) {
      Value* index = scalars_->Emit(c_.lhs.args[dim]);
      ranges[dim] = {index, index};
    }
    ranges[image_.height] = range(y_);
    ranges[image_.width] = range(x_);
    if (c_.channels_last) {
      EmitLoop(b_, I64(0), channels_, kWinogradStagedChannels, "channels", [&](Value* first) {
        Value* count = Smaller(b_.CreateSub(channels_, first), I64(kWinogradStagedChannels));
        ranges[image_.channels] = {first, b_.CreateSub(b_.CreateAdd(first, count), I64(1))};
        EmitChannelsLast(ranges, first, count);
      });
    } else {
      EmitLoop(b_, I64(0), channels_, 1, "channel", [&](Value* channel) {
        ranges[image_.channels] = {channel, channel};
        EmitChannel(ranges, channel);
      });
    }
  }

  // Fills the staging buffer, of the given strides between rows and columns of the image.
  void EmitStaging(const std::vector<IndexRange>& ranges, Value* row_stride, int64_t column_stride) {
    StagingBuffer buffer{.base = Scratch(scratch_.staging), .strides = std::vector<Value*>(ranges.size(), I64(0))};
    for (const IndexRange& indices : ranges) buffer.starts.push_back(indices.low);
    if (c_.channels_last) buffer.strides[image_.channels] = I64(1);
    buffer.strides[image_.height] = row_stride;
    buffer.strides[image_.width] = I64(column_stride);
    EmitFillStaging(b_, plan_, c_, frame_, *scalars_, schedule_.lanes, ranges, buffer);
  }

  void EmitChannel(const std::vector<IndexRange>& ranges, Value* channel) {
    Value* columns = b_.CreateAdd(x_.all_results, I64(WinogradStagingMargin(c_)), "staging.columns");
    EmitStaging(ranges, columns, 1);
    Value* points = At(Scratch(scratch_.image), Times(channel, scratch_.channel_stride));
    EmitLoop(b_, I64(0), y_.tiles, 1, "tile.row", [&](Value* row) {
      Value* from = At(Scratch(scratch_.staging), b_.CreateMul(ResultOf(row), columns));
      Value* to = At(points, b_.CreateMul(row, x_.tiles));
      EmitLoop(b_, I64(0), x_.tiles, schedule_.lanes, "tile", [&](Value* tile) {
        EmitPoints(AdjacentTiles(At(from, Times(tile, kWinogradResults)), columns), At(to, tile));
      });
    });
  }

  // `count` channels of an image channels last.
  void EmitChannelsLast(const std::vector<IndexRange>& ranges, Value* first, Value* count) {
    Value* columns = b_.CreateAdd(x_.all_results, I64(WinogradHalo(c_)), "staging.columns");
    Value* row_stride = Times(columns, kWinogradStagedChannels);
    EmitStaging(ranges, row_stride, kWinogradStagedChannels);
    EmitLoop(b_, I64(0), y_.tiles, 1, "tile.row", [&](Value* row) {
      Value* from_row = At(Scratch(scratch_.staging), b_.CreateMul(ResultOf(row), row_stride));
      EmitLoop(b_, I64(0), x_.tiles, 1, "tile", [&](Value* tile) {
        Value* from = At(from_row, Times(ResultOf(tile), kWinogradStagedChannels));
        Value* number = b_.CreateAdd(b_.CreateMul(row, x_.tiles), tile);
        Value* to = At(Scratch(scratch_.image), b_.CreateAdd(Times(number, scratch_.tile_stride), first));
        EmitLoop(b_, I64(0), count, schedule_.lanes, "lanes",
                 [&](Value* channel) { EmitPoints(AdjacentChannels(At(from, channel), row_stride), At(to, channel)); });
      });
    });
  }

  // `lanes` adjacent channels of a tile.
  TileElements AdjacentChannels(Value* from, Value* row_stride) {
    TileElements d;
    for (int row = 0; row < kWinogradSide; ++row) {
      Value* at = At(from, Times(row_stride, row * dilation_));
      for (int column = 0; column < kWinogradSide; ++column) {
        const int64_t offset = column * dilation_ * kWinogradStagedChannels;
        d[row][column] = Load(b_.CreateConstGEP1_64(element_, at, offset), VectorBytes());
      }
    }
    return d;
  }

  // `lanes` adjacent tiles of a channel, which are whole supertiles wide.
  TileElements AdjacentTiles(Value* from, Value* columns) {
    TileElements d;
    for (int row = 0; row < kWinogradSide; ++row) {
      Value* at = At(from, Times(columns, row * dilation_));
      for (int pair = 0; pair < kWinogradSide; pair += 2) {
        const int64_t start = int64_t{pair} * dilation_;
        Value* low = Load(b_.CreateConstGEP1_64(element_, at, start), SizeOf(DType::kF32));
        Value* high = Load(b_.CreateConstGEP1_64(element_, at, start + schedule_.lanes), SizeOf(DType::kF32));
        for (int odd = 0; odd < 2; ++odd) {
          llvm::SmallVector<int, kPanelColumns> picked;
          for (int lane = 0; lane < schedule_.lanes; ++lane) {
            picked.push_back(lane / dilation_ * 2 * dilation_ + lane % dilation_ + odd * dilation_);
          }
          d[row][pair + odd] = b_.CreateShuffleVector(low, high, picked);
        }
      }
    }
    return d;
  }

  // Stores the points of 4 x 4 tiles d: B^T d B.
  void EmitPoints(TileElements d, Value* to) {
    for (int column = 0; column < kWinogradSide; ++column) {
      const Side side = PointsOfSide({d[0][column], d[1][column], d[2][column], d[3][column]});
      for (int row = 0; row < kWinogradSide; ++row) d[row][column] = side[row];
    }
    for (int row = 0; row < kWinogradSide; ++row) {
      const Side side = PointsOfSide(d[row]);
      for (int column = 0; column < kWinogradSide; ++column) {
        const int64_t point = row * kWinogradSide + column;
        Value* address = b_.CreateConstGEP1_64(element_, to, point * scratch_.image_stride);
        b_.CreateAlignedStore(side[column], address, llvm::Align(SizeOf(DType::kF32)));
      }
    }
  }

  Side PointsOfSide(const Side& d) {
    return {b_.CreateFSub(d[0], d[2]), b_.CreateFAdd(d[1], d[2]), b_.CreateFSub(d[2], d[1]), b_.CreateFSub(d[1], d[3])};
  }

  // ---- Products and results ----

  // products[point][tile][panels * 16] = points of the tiles times points of the weights.
  void EmitPoint(Value* group, Value* point, Value* width) {
    Value* panel = groups_.Start(b_, group);
    Value* weights = frame_.buffers[c_.rhs.ref];
    const auto panels_of = [&](Value* point, Value* panel) {
      return b_.CreateAdd(b_.CreateMul(point, point_stride_), b_.CreateMul(panel, panel_stride_));
    };
    Value* next_point = b_.CreateAdd(point, I64(1));
    Value* done = b_.CreateICmpEQ(next_point, I64(kWinogradPoints), "group.done");
    Value* next = panels_of(b_.CreateSelect(done, I64(0), next_point),
                            b_.CreateSelect(done, groups_.Start(b_, b_.CreateAdd(group, I64(1))), panel));
    Value* log_tiles = b_.CreateSub(
        I64(63), b_.CreateIntrinsic(llvm::Intrinsic::ctlz, {b_.getInt64Ty()}, {rows_.tiles, b_.getTrue()}));
    // The row tiles share the prefetch of the next panels.
    Value* step = b_.CreateLShr(I64(kPanelColumns * SizeOf(DType::kF32)), log_tiles, "ahead.step");
    Value* share = b_.CreateMul(channels_, step);
    Value* rhs = At(weights, panels_of(point, panel));
    Value* ahead = b_.CreateGEP(element_, weights, next);
    Value* lhs = At(Scratch(scratch_.image), Times(point, scratch_.image_stride));
    Value* products = At(Scratch(scratch_.products), Times(point, scratch_.product_stride));
    EmitLoop(b_, I64(0), rows_.tiles, 1, "row.tile", [&](Value* index) {
      Value* row = rows_.Start(b_, index);
      EmitMicroKernelCall(
          b_, micro_kernels_, rows_.Size(b_, index), groups_.Size(b_, group), /*is_half=*/b_.getFalse(),
          {At(lhs, Times(row, scratch_.tile_stride)), I64(scratch_.tile_stride), I64(scratch_.channel_stride), rhs,
           panel_stride_, channels_, At(products, b_.CreateMul(row, width)), b_.getFalse(),
           b_.CreateGEP(b_.getInt8Ty(), ahead, b_.CreateMul(index, share)), Times(panel_stride_, SizeOf(DType::kF32)),
           step});
    });
  }

  // results[ResultOf(tile row) + i * dilation][ResultOf(tile) + j * dilation][panels * 16] = A^T products A.
  void EmitResults(Value* width) {
    Value* row_stride = b_.CreateMul(x_.all_results, width, "row.stride");
    EmitLoop(b_, I64(0), y_.tiles, 1, "results.row", [&](Value* row) {
      Value* results_row = At(Scratch(scratch_.results), b_.CreateMul(ResultOf(row), row_stride));
      EmitLoop(b_, I64(0), x_.tiles, 1, "results.tile", [&](Value* tile) {
        Value* from =
            At(Scratch(scratch_.products), b_.CreateMul(b_.CreateAdd(b_.CreateMul(row, x_.tiles), tile), width));
        Value* to = At(results_row, b_.CreateMul(ResultOf(tile), width));
        EmitLoop(b_, I64(0), width, schedule_.lanes, "results.lanes",
                 [&](Value* column) { EmitTileOfResults(At(from, column), At(to, column), row_stride, width); });
      });
    });
  }

  void EmitTileOfResults(Value* from, Value* to, Value* row_stride, Value* width) {
    std::array<Side, kWinogradResults> sums;  // by row of results, then column of products
    for (int column = 0; column < kWinogradSide; ++column) {
      Side products;
      for (int row = 0; row < kWinogradSide; ++row) {
        const int64_t point = row * kWinogradSide + column;
        products[row] = Load(b_.CreateConstGEP1_64(element_, from, point * scratch_.product_stride), VectorBytes());
      }
      const auto [first, second] = ResultsOfSide(products);
      sums[0][column] = first;
      sums[1][column] = second;
    }
    for (int row = 0; row < kWinogradResults; ++row) {
      const auto [first, second] = ResultsOfSide(sums[row]);
      Value* at = At(to, Times(row_stride, row * dilation_));
      b_.CreateAlignedStore(first, at, llvm::Align(VectorBytes()));
      b_.CreateAlignedStore(second, At(at, Times(width, dilation_)), llvm::Align(VectorBytes()));
    }
  }

  std::pair<Value*, Value*> ResultsOfSide(const Side& m) {
    return {b_.CreateFAdd(b_.CreateFAdd(m[0], m[1]), m[2]), b_.CreateFSub(b_.CreateFSub(m[1], m[2]), m[3])};
  }

  // Runs the epilogue per image row, or once where the block spans whole image rows, which are then contiguous.
  void EmitEpilogue(TileSums& results, Value* width) {
    Value* stride = x_.all_results;
    Value* at_once = b_.CreateICmpEQ(stride, across_.results, "at.once");
    Value* length = b_.CreateSelect(at_once, b_.CreateMul(y_.results, stride), x_.results, "run");
    Value* runs = b_.CreateSelect(at_once, I64(1), y_.results, "runs");
    EmitLoop(b_, I64(0), runs, 1, "run", [&](Value* run) {
      Value* y = b_.CreateAdd(y_.start, run);
      results.row = b_.CreateAdd(b_.CreateMul(y, across_.results), x_.start, "row");
      results.rows = length;
      results.address = At(Scratch(scratch_.results), b_.CreateMul(b_.CreateMul(run, stride), width));
      epilogue_->Emit(results);
    });
  }

  const KernelPlan& plan_;
  const Contraction& c_;
  const Schedule& schedule_;
  const ContractionTile& tile_;
  const EmitTarget& target_;
  llvm::Module& module_;
  llvm::IRBuilder<> b_;
  const int pieces_;  // registers per 16 sums
  const WinogradImage image_;
  const int dilation_;
  const int64_t supertile_results_;  // of one side
  const WinogradScratch scratch_;
  llvm::Type* element_;
  llvm::Type* lanes_;
  const std::vector<MicroKernel> micro_kernels_;

  // Values of the function being emitted.
  KernelFrame frame_;
  ScalarEmitter* scalars_ = nullptr;
  TileEpilogue* epilogue_ = nullptr;
  Tiling across_, down_;
  Value *panels_ = nullptr, *panel_blocks_ = nullptr;
  Value *channels_ = nullptr, *panel_stride_ = nullptr, *point_stride_ = nullptr;
  // State of the current task.
  Block x_, y_;
  EvenTiling rows_, groups_;
};

}  // namespace

std::vector<MicroKernel> WinogradMicroKernels(const KernelPlan& plan, const Schedule& schedule) {
  const ContractionTile& tile = schedule.tile;
  const DimSizeRange tiles{.max = tile.winograd_tiles, .divisor = 1, .fixed = false};
  const Contraction contraction = ContractionOf(plan);
  const DimSizeRange n = RangeOfDimSize(plan, plan.axes[contraction.n].dim_size);
  std::vector<MicroKernel> kernels;
  for (const auto& [rows, panels] : ReachableTiles(tiles, n, tile, kPanelColumns / schedule.lanes)) {
    kernels.push_back({.rows = rows,
                       .panels = panels,
                       .lanes = schedule.lanes,
                       .unit_depth_stride = contraction.channels_last,
                       .fetch_ahead = true});
  }
  return kernels;
}

absl::Status EmitWinograd(const KernelPlan& plan, const Schedule& schedule, const EmitTarget& target,
                          const std::string& name, llvm::Module& module) {
  const Contraction contraction = ContractionOf(plan);
  WinogradEmitter emitter(plan, contraction, schedule, target, module);
  for (size_t i = 0; i < schedule.versions.size(); ++i) emitter.EmitFunction(absl::StrCat(name, "_v", i));
  return absl::OkStatus();
}

}  // namespace tailor::gemm

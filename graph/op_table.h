// The op table: one row is the whole definition of a simple op. Expand it by defining TAILOR_OP and calling
// TAILOR_OP_TABLE(TAILOR_OP). Columns:
//   id          stable number, never reused
//   kind        OpKind::k<kind>
//   text        spelling in graph text, C functions (tailor_graph_<text>) and bindings
//   operands    names; `xs...` takes one or more, `xs*` none or more
//   attributes  name:type[:default]; types i64, i64s, f64, string, dtype, dims. An attribute with a
//               default is optional everywhere. Every dim size is a `dims` entry, so it may be symbolic.
//   shape       rule for the result's shape (ShapeRule)
//   dtype       rule for operand and result types (DTypeRule)
//   fusion      how fusion may treat the op (FusionClass)
//   lowering    scalar emitter in codegen/scalar_ops; unexpanded elsewhere, so graph/ never sees LLVM
#ifndef TAILOR_GRAPH_OP_TABLE_H_
#define TAILOR_GRAPH_OP_TABLE_H_

// clang-format off
#define TAILOR_OP_TABLE(TAILOR_OP) \
/*        id  kind        text          operands                        attributes                                  shape        dtype        fusion        lowering */ \
TAILOR_OP( 1, Input,      "input",      (),                             (name:string, dtype:dtype, shape:dims),     kInput,      kAttribute,  kStructural,  None) \
TAILOR_OP( 2, Constant,   "constant",   (),                             (name:string, dtype:dtype, shape:dims),     kInput,      kAttribute,  kStructural,  None) \
TAILOR_OP(10, Neg,        "neg",        (x),                            (),                                         kSameAs0,    kNumeric,    kElementwise, Neg) \
TAILOR_OP(11, Abs,        "abs",        (x),                            (),                                         kSameAs0,    kNumeric,    kElementwise, Abs) \
TAILOR_OP(12, Exp,        "exp",        (x),                            (),                                         kSameAs0,    kFloat,      kElementwise, Exp) \
TAILOR_OP(13, Log,        "log",        (x),                            (),                                         kSameAs0,    kFloat,      kElementwise, Log) \
TAILOR_OP(14, Tanh,       "tanh",       (x),                            (),                                         kSameAs0,    kFloat,      kElementwise, Tanh) \
TAILOR_OP(15, Erf,        "erf",        (x),                            (),                                         kSameAs0,    kFloat,      kElementwise, Erf) \
TAILOR_OP(16, Sqrt,       "sqrt",       (x),                            (),                                         kSameAs0,    kFloat,      kElementwise, Sqrt) \
TAILOR_OP(17, Rsqrt,      "rsqrt",      (x),                            (),                                         kSameAs0,    kFloat,      kElementwise, Rsqrt) \
TAILOR_OP(18, Sigmoid,    "sigmoid",    (x),                            (),                                         kSameAs0,    kFloat,      kElementwise, Sigmoid) \
TAILOR_OP(19, Not,        "not",        (x),                            (),                                         kSameAs0,    kLogic,      kElementwise, Not) \
TAILOR_OP(20, Cast,       "cast",       (x),                            (dtype:dtype),                              kSameAs0,    kAttribute,  kElementwise, Cast) \
TAILOR_OP(21, Floor,     "floor",      (x),                            (),                                         kSameAs0,    kFloat,      kElementwise, Floor) \
TAILOR_OP(22, Ceil,      "ceil",       (x),                            (),                                         kSameAs0,    kFloat,      kElementwise, Ceil) \
TAILOR_OP(23, Round,     "round",      (x),                            (),                                         kSameAs0,    kFloat,      kElementwise, Round) \
TAILOR_OP(24, Trunc,     "trunc",      (x),                            (),                                         kSameAs0,    kFloat,      kElementwise, Trunc) \
TAILOR_OP(25, Sin,       "sin",        (x),                            (),                                         kSameAs0,    kFloat,      kElementwise, Sin) \
TAILOR_OP(26, Cos,       "cos",        (x),                            (),                                         kSameAs0,    kFloat,      kElementwise, Cos) \
TAILOR_OP(27, Tan,       "tan",        (x),                            (),                                         kSameAs0,    kFloat,      kElementwise, Tan) \
TAILOR_OP(28, Asin,      "asin",       (x),                            (),                                         kSameAs0,    kFloat,      kElementwise, Asin) \
TAILOR_OP(29, Acos,      "acos",       (x),                            (),                                         kSameAs0,    kFloat,      kElementwise, Acos) \
TAILOR_OP(39, Bitcast,    "bitcast",    (x),                            (dtype:dtype),                              kSameAs0,    kBitcast,    kElementwise, Bitcast) \
TAILOR_OP(51, Atan,      "atan",       (x),                            (),                                         kSameAs0,    kFloat,      kElementwise, Atan) \
TAILOR_OP(30, Add,        "add",        (lhs, rhs),                     (),                                         kBroadcast,  kNumeric,    kElementwise, Add) \
TAILOR_OP(31, Sub,        "sub",        (lhs, rhs),                     (),                                         kBroadcast,  kNumeric,    kElementwise, Sub) \
TAILOR_OP(32, Mul,        "mul",        (lhs, rhs),                     (),                                         kBroadcast,  kNumeric,    kElementwise, Mul) \
TAILOR_OP(33, Div,        "div",        (lhs, rhs),                     (),                                         kBroadcast,  kNumeric,    kElementwise, Div) \
TAILOR_OP(34, Pow,        "pow",        (lhs, rhs),                     (),                                         kBroadcast,  kFloat,      kElementwise, Pow) \
TAILOR_OP(35, Max,        "max",        (lhs, rhs),                     (),                                         kBroadcast,  kNumeric,    kElementwise, Max) \
TAILOR_OP(36, Min,        "min",        (lhs, rhs),                     (),                                         kBroadcast,  kNumeric,    kElementwise, Min) \
TAILOR_OP(37, Mod,       "mod",        (lhs, rhs),                     (),                                         kBroadcast,  kNumeric,    kElementwise, Mod) \
TAILOR_OP(38, Rem,       "rem",        (lhs, rhs),                     (),                                         kBroadcast,  kNumeric,    kElementwise, Rem) \
TAILOR_OP(40, Eq,         "eq",         (lhs, rhs),                     (),                                         kBroadcast,  kCompare,    kElementwise, Eq) \
TAILOR_OP(41, Ne,         "ne",         (lhs, rhs),                     (),                                         kBroadcast,  kCompare,    kElementwise, Ne) \
TAILOR_OP(42, Lt,         "lt",         (lhs, rhs),                     (),                                         kBroadcast,  kCompare,    kElementwise, Lt) \
TAILOR_OP(43, Le,         "le",         (lhs, rhs),                     (),                                         kBroadcast,  kCompare,    kElementwise, Le) \
TAILOR_OP(44, Gt,         "gt",         (lhs, rhs),                     (),                                         kBroadcast,  kCompare,    kElementwise, Gt) \
TAILOR_OP(45, Ge,         "ge",         (lhs, rhs),                     (),                                         kBroadcast,  kCompare,    kElementwise, Ge) \
TAILOR_OP(46, And,        "and",        (lhs, rhs),                     (),                                         kBroadcast,  kLogic,      kElementwise, And) \
TAILOR_OP(47, Or,         "or",         (lhs, rhs),                     (),                                         kBroadcast,  kLogic,      kElementwise, Or) \
TAILOR_OP(48, Xor,        "xor",        (lhs, rhs),                     (),                                         kBroadcast,  kLogic,      kElementwise, Xor) \
TAILOR_OP(52, ShiftLeft, "shift_left", (lhs, rhs),                     (),                                         kBroadcast,  kInteger,    kElementwise, ShiftLeft) \
TAILOR_OP(53, ShiftRight,"shift_right",(lhs, rhs),                     (),                                         kBroadcast,  kInteger,    kElementwise, ShiftRight) \
TAILOR_OP(50, Select,     "select",     (condition, on_true, on_false), (),                                         kBroadcast,  kSelect,     kElementwise, Select) \
TAILOR_OP(60, ReduceSum,  "reduce_sum", (x),                            (axes:i64s, keep_dims:i64:0),               kReduce,     kNumeric,    kReduction,   Add) \
TAILOR_OP(61, ReduceMax,  "reduce_max", (x),                            (axes:i64s, keep_dims:i64:0),               kReduce,     kNumeric,    kReduction,   Max) \
TAILOR_OP(62, ReduceMin,  "reduce_min", (x),                            (axes:i64s, keep_dims:i64:0),               kReduce,     kNumeric,    kReduction,   Min) \
TAILOR_OP(63, ReduceMean, "reduce_mean",(x),                            (axes:i64s, keep_dims:i64:0),               kReduce,     kFloat,      kReduction,   Add) \
TAILOR_OP(64, ReduceProd,"reduce_prod",(x),                            (axes:i64s, keep_dims:i64:0),               kReduce,     kNumeric,    kReduction,   Mul) \
TAILOR_OP(65, Scan,       "scan",       (x),                            (axis:i64, combiner:string, reverse:i64:0, exclusive:i64:0),kAlongAxis,kScan,   kScan,        None) \
TAILOR_OP(70, Broadcast,  "broadcast",  (x),                            (shape:dims),                               kBroadcastTo,kAny,        kView,        None) \
TAILOR_OP(71, Reshape,    "reshape",    (x),                            (shape:dims),                               kReshape,    kAny,        kView,        None) \
TAILOR_OP(72, Transpose,  "transpose",  (x),                            (permutation:i64s),                         kTranspose,  kAny,        kView,        None) \
TAILOR_OP(73, Slice,      "slice",      (x),                            (starts:dims, sizes:dims, steps:i64s:[]),   kSlice,      kAny,        kView,        None) \
TAILOR_OP(74, Concat,     "concat",     (xs...),                        (axis:i64),                                 kConcat,     kAny,        kIndexed,     None) \
TAILOR_OP(75, Gather,     "gather",     (x, indices),                   (axis:i64:0),                               kGather,     kGather,     kIndexed,     None) \
TAILOR_OP(76, Iota,       "iota",       (),                             (shape:dims, axis:i64, dtype:dtype),        kFromShape,  kAttribute,  kIndexed,     None) \
TAILOR_OP(77, Pad,       "pad",        (x, value),                     (low:dims, high:dims, interior:i64s:[]),    kPad,        kAny,        kIndexed,     None) \
TAILOR_OP(78, Window,    "window",     (x),                            (axes:i64s, sizes:dims, strides:i64s:[], dilations:i64s:[]),kWindow,     kAny,        kView,        None) \
TAILOR_OP(79, Scatter,    "scatter",    (x, indices, updates),          (combiner:string),                          kScatter,    kScatter,    kScatter,     None) \
TAILOR_OP(80, Dot,        "dot",        (lhs, rhs),                     (transpose_lhs:i64:0, transpose_rhs:i64:0), kContract,   kDot,        kContraction, None) \
TAILOR_OP(90, While,      "while",      (carried...),                   (shapes:dims:[]),                           kRegion,     kRegion,     kControl,     None) \
TAILOR_OP(91, If,         "if",         (condition, captured*),         (shapes:dims:[]),                           kRegion,     kRegion,     kControl,     None) \
TAILOR_OP(92, Bind,       "bind",       (count),                        (extent:dims),                              kBind,       kDimSize,     kControl,     None) \
TAILOR_OP(93, Continuation, "continuation",       (values*),                      (extents:dims:[], counts:i64s:[], outputs:i64s:[]),kRegion, kRegion,  kControl,     None)
// clang-format on

#endif  // TAILOR_GRAPH_OP_TABLE_H_

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
//   lowering    scalar emitter in codegen/scalar/scalar_ops.cc; unexpanded elsewhere, so graph/ never sees LLVM
//   cost        estimated cycles per vector of results; 0 for views, which only change indices
//   formula     the result, for the documentation of all languages; "": the call says it
#ifndef TAILOR_GRAPH_OP_TABLE_H_
#define TAILOR_GRAPH_OP_TABLE_H_

// clang-format off
#define TAILOR_OP_TABLE(TAILOR_OP) \
/*        id  kind        text          operands                        attributes                                  shape        dtype        fusion        lowering    cost formula */ \
TAILOR_OP( 1, Input,      "input",      (),                             (name:string, dtype:dtype, shape:dims),     kInput,      kAttribute,  kStructural,  None,         1, "") \
TAILOR_OP( 2, Constant,   "constant",   (),                             (name:string, dtype:dtype, shape:dims),     kInput,      kAttribute,  kStructural,  None,         1, "") \
TAILOR_OP(10, Neg,        "neg",        (x),                            (),                                         kSameAs0,    kNumeric,    kElementwise, Neg,          1, "-x") \
TAILOR_OP(11, Abs,        "abs",        (x),                            (),                                         kSameAs0,    kNumeric,    kElementwise, Abs,          1, "|x|") \
TAILOR_OP(12, Exp,        "exp",        (x),                            (),                                         kSameAs0,    kFloat,      kElementwise, Exp,         12, "e^x") \
TAILOR_OP(13, Log,        "log",        (x),                            (),                                         kSameAs0,    kFloat,      kElementwise, Log,         12, "the natural logarithm of x; NaN below 0, -inf at 0") \
TAILOR_OP(14, Tanh,       "tanh",       (x),                            (),                                         kSameAs0,    kFloat,      kElementwise, Tanh,        12, "") \
TAILOR_OP(15, Erf,        "erf",        (x),                            (),                                         kSameAs0,    kFloat,      kElementwise, Erf,         12, "2/sqrt(pi) times the integral of e^(-t^2) for t from 0 to x") \
TAILOR_OP(16, Sqrt,       "sqrt",       (x),                            (),                                         kSameAs0,    kFloat,      kElementwise, Sqrt,        12, "the square root of x; NaN below 0") \
TAILOR_OP(17, Rsqrt,      "rsqrt",      (x),                            (),                                         kSameAs0,    kFloat,      kElementwise, Rsqrt,       12, "1 / sqrt(x)") \
TAILOR_OP(18, Sigmoid,    "sigmoid",    (x),                            (),                                         kSameAs0,    kFloat,      kElementwise, Sigmoid,     12, "1 / (1 + e^-x)") \
TAILOR_OP(19, Not,        "not",        (x),                            (),                                         kSameAs0,    kLogic,      kElementwise, Not,          1, "logical not of a bool, all bits flipped of an integer") \
TAILOR_OP(20, Cast,       "cast",       (x),                            (dtype:dtype),                              kSameAs0,    kAttribute,  kElementwise, Cast,         1, "x as `dtype`; float to integer truncates and saturates, NaN gives 0; integers wrap; any number but 0 is true") \
TAILOR_OP(21, Floor,      "floor",      (x),                            (),                                         kSameAs0,    kFloat,      kElementwise, Floor,        1, "the greatest whole number that is at most x") \
TAILOR_OP(22, Ceil,       "ceil",       (x),                            (),                                         kSameAs0,    kFloat,      kElementwise, Ceil,         1, "the least whole number that is at least x") \
TAILOR_OP(23, Round,      "round",      (x),                            (),                                         kSameAs0,    kFloat,      kElementwise, Round,        1, "the whole number nearest to x, of two the even one") \
TAILOR_OP(24, Trunc,      "trunc",      (x),                            (),                                         kSameAs0,    kFloat,      kElementwise, Trunc,        1, "x without its fraction") \
TAILOR_OP(25, Sin,        "sin",        (x),                            (),                                         kSameAs0,    kFloat,      kElementwise, Sin,         12, "the sine of x, as accurate at large x as at small ones; NaN at infinities") \
TAILOR_OP(26, Cos,        "cos",        (x),                            (),                                         kSameAs0,    kFloat,      kElementwise, Cos,         12, "the cosine of x, as accurate at large x as at small ones; NaN at infinities") \
TAILOR_OP(27, Tan,        "tan",        (x),                            (),                                         kSameAs0,    kFloat,      kElementwise, Tan,         12, "the tangent of x, as accurate at large x as at small ones; NaN at infinities") \
TAILOR_OP(28, Asin,       "asin",       (x),                            (),                                         kSameAs0,    kFloat,      kElementwise, Asin,        12, "the angle in [-pi/2, pi/2] whose sine is x; NaN beyond 1 and -1") \
TAILOR_OP(29, Acos,       "acos",       (x),                            (),                                         kSameAs0,    kFloat,      kElementwise, Acos,        12, "the angle in [0, pi] whose cosine is x; NaN beyond 1 and -1") \
TAILOR_OP(39, Bitcast,    "bitcast",    (x),                            (dtype:dtype),                              kSameAs0,    kBitcast,    kElementwise, Bitcast,      1, "the bytes of x as `dtype`; a byte other than 0 is true") \
TAILOR_OP(51, Atan,       "atan",       (x),                            (),                                         kSameAs0,    kFloat,      kElementwise, Atan,        12, "the angle in [-pi/2, pi/2] whose tangent is x") \
TAILOR_OP(30, Add,        "add",        (lhs, rhs),                     (),                                         kBroadcast,  kNumeric,    kElementwise, Add,          1, "lhs + rhs; integers wrap") \
TAILOR_OP(31, Sub,        "sub",        (lhs, rhs),                     (),                                         kBroadcast,  kNumeric,    kElementwise, Sub,          1, "lhs - rhs; integers wrap") \
TAILOR_OP(32, Mul,        "mul",        (lhs, rhs),                     (),                                         kBroadcast,  kNumeric,    kElementwise, Mul,          1, "lhs * rhs; integers wrap") \
TAILOR_OP(33, Div,        "div",        (lhs, rhs),                     (),                                         kBroadcast,  kNumeric,    kElementwise, Div,         12, "lhs / rhs; integers truncate, x / 0 is 0 and the least value / -1 is itself") \
TAILOR_OP(34, Pow,        "pow",        (lhs, rhs),                     (),                                         kBroadcast,  kFloat,      kElementwise, Pow,         12, "lhs to the power rhs") \
TAILOR_OP(35, Max,        "max",        (lhs, rhs),                     (),                                         kBroadcast,  kNumeric,    kElementwise, Max,          1, "the larger of lhs and rhs; NaN if either is") \
TAILOR_OP(36, Min,        "min",        (lhs, rhs),                     (),                                         kBroadcast,  kNumeric,    kElementwise, Min,          1, "the smaller of lhs and rhs; NaN if either is") \
TAILOR_OP(37, Mod,        "mod",        (lhs, rhs),                     (),                                         kBroadcast,  kNumeric,    kElementwise, Mod,         12, "the remainder of lhs / rhs with the sign of rhs, as in Python; of integers x mod 0 is 0, of floats NaN") \
TAILOR_OP(38, Rem,        "rem",        (lhs, rhs),                     (),                                         kBroadcast,  kNumeric,    kElementwise, Rem,         12, "the remainder of lhs / rhs with the sign of lhs, as fmod in C; of integers x rem 0 is 0, of floats NaN") \
TAILOR_OP(40, Eq,         "eq",         (lhs, rhs),                     (),                                         kBroadcast,  kCompare,    kElementwise, Eq,           1, "lhs == rhs; false where either is NaN") \
TAILOR_OP(41, Ne,         "ne",         (lhs, rhs),                     (),                                         kBroadcast,  kCompare,    kElementwise, Ne,           1, "lhs != rhs; true where either is NaN") \
TAILOR_OP(42, Lt,         "lt",         (lhs, rhs),                     (),                                         kBroadcast,  kCompare,    kElementwise, Lt,           1, "lhs < rhs; false where either is NaN") \
TAILOR_OP(43, Le,         "le",         (lhs, rhs),                     (),                                         kBroadcast,  kCompare,    kElementwise, Le,           1, "lhs <= rhs; false where either is NaN") \
TAILOR_OP(44, Gt,         "gt",         (lhs, rhs),                     (),                                         kBroadcast,  kCompare,    kElementwise, Gt,           1, "lhs > rhs; false where either is NaN") \
TAILOR_OP(45, Ge,         "ge",         (lhs, rhs),                     (),                                         kBroadcast,  kCompare,    kElementwise, Ge,           1, "lhs >= rhs; false where either is NaN") \
TAILOR_OP(46, And,        "and",        (lhs, rhs),                     (),                                         kBroadcast,  kLogic,      kElementwise, And,          1, "lhs and rhs, bit by bit") \
TAILOR_OP(47, Or,         "or",         (lhs, rhs),                     (),                                         kBroadcast,  kLogic,      kElementwise, Or,           1, "lhs or rhs, bit by bit") \
TAILOR_OP(48, Xor,        "xor",        (lhs, rhs),                     (),                                         kBroadcast,  kLogic,      kElementwise, Xor,          1, "lhs exclusive-or rhs, bit by bit") \
TAILOR_OP(52, ShiftLeft,  "shift_left", (lhs, rhs),                     (),                                         kBroadcast,  kInteger,    kElementwise, ShiftLeft,    1, "lhs shifted left by rhs bits, a count that is taken modulo the width") \
TAILOR_OP(53, ShiftRight, "shift_right", (lhs, rhs),                     (),                                         kBroadcast,  kInteger,    kElementwise, ShiftRight,   1, \
              "lhs shifted right by rhs bits, a count that is taken modulo the width; copies of the sign bit enter signed " \
              "numbers, zeros unsigned ones") \
TAILOR_OP(50, Select,     "select",     (condition, on_true, on_false), (),                                         kBroadcast,  kSelect,     kElementwise, Select,       1, "on_true where condition holds, else on_false") \
TAILOR_OP(60, ReduceSum,  "reduce_sum", (x),                            (axes:i64s, keep_dims:i64:0),               kReduce,     kNumeric,    kReduction,   Add,          1, "the sum of x over `axes`; 0 over no elements") \
TAILOR_OP(61, ReduceMax,  "reduce_max", (x),                            (axes:i64s, keep_dims:i64:0),               kReduce,     kNumeric,    kReduction,   Max,          1, "the largest of x over `axes`, NaN if any is; the least value or -inf over no elements") \
TAILOR_OP(62, ReduceMin,  "reduce_min", (x),                            (axes:i64s, keep_dims:i64:0),               kReduce,     kNumeric,    kReduction,   Min,          1, "the smallest of x over `axes`, NaN if any is; the largest value or inf over no elements") \
TAILOR_OP(63, ReduceMean, "reduce_mean", (x),                            (axes:i64s, keep_dims:i64:0),               kReduce,     kFloat,      kReduction,   Add,          1, "the sum of x over `axes`, divided by their element count; NaN over no elements") \
TAILOR_OP(64, ReduceProd, "reduce_prod", (x),                            (axes:i64s, keep_dims:i64:0),               kReduce,     kNumeric,    kReduction,   Mul,          1, "the product of x over `axes`; 1 over no elements") \
TAILOR_OP(65, Scan,       "scan",       (x),                            (axis:i64, combiner:string, reverse:i64:0, exclusive:i64:0), kAlongAxis,  kScan,       kScan,        None,         1, \
              "each element of x combined with all before it along `axis` (after it with `reverse`): their sum, product, " \
              "maximum or minimum; with `exclusive` without the element itself, beginning with 0, 1, or the least or the " \
              "largest value (-inf, inf)") \
TAILOR_OP(70, Broadcast,  "broadcast",  (x),                            (shape:dims),                               kBroadcastTo, kAny,        kView,        None,         0, "x repeated along every dim where it has size 1 or none") \
TAILOR_OP(71, Reshape,    "reshape",    (x),                            (shape:dims),                               kReshape,    kAny,        kView,        None,         0, "the elements of x in row-major order, in the given shape") \
TAILOR_OP(72, Transpose,  "transpose",  (x),                            (permutation:i64s),                         kTranspose,  kAny,        kView,        None,         0, "x with its dims in the order of `permutation`") \
TAILOR_OP(73, Slice,      "slice",      (x),                            (starts:dims, sizes:dims, steps:i64s:[]),   kSlice,      kAny,        kView,        None,         0, "out[i, ...] = x[starts[0] + i * steps[0], ...]") \
TAILOR_OP(74, Concat,     "concat",     (xs...),                        (axis:i64),                                 kConcat,     kAny,        kIndexed,     None,         1, "the operands one after the other along `axis`") \
TAILOR_OP(75, Gather,     "gather",     (x, indices),                   (axis:i64:0),                               kGather,     kGather,     kIndexed,     None,         3, \
              "out[..., i..., ...] = x[..., indices[i...], ...] at `axis`; an index below 0 counts from the end, others out " \
              "of range fail the run. Indices are checked where they are read: one that no element of an output takes its " \
              "value from, as where the result is empty because another dim of x is 0, is not checked") \
TAILOR_OP(76, Iota,       "iota",       (),                             (shape:dims, axis:i64, dtype:dtype),        kFromShape,  kAttribute,  kIndexed,     None,         1, "each element's own index along `axis`") \
TAILOR_OP(77, Pad,        "pad",        (x, value),                     (low:dims, high:dims, interior:i64s:[]),    kPad,        kAny,        kIndexed,     None,         1, \
              "x, each dim between `low` elements before and `high` elements after it and with `interior` of them between " \
              "its neighbours, all equal to value; negative low and high crop. An empty dim has no neighbours") \
TAILOR_OP(78, Window,     "window",     (x),                            (axes:i64s, sizes:dims, strides:i64s:[], dilations:i64s:[]), kWindow,     kAny,        kView,        None,         0, \
              "the windows of x, `sizes` wide, `strides` apart, with `dilations` from one element to the next: out[..., o, " \
              "..., k] = x[..., o * stride + k * dilation, ...]") \
TAILOR_OP(79, Scatter,    "scatter",    (x, indices, updates),          (combiner:string),                          kScatter,    kScatter,    kScatter,     None,         1, \
              "a copy of x where, for each i in row-major order, out[indices[i..., 0], indices[i..., 1], ..., ...] is " \
              "combined with updates[i..., ...]: set to it, or their sum, product, max or min; of several set there the last " \
              "one stays. An index below 0 counts from the end, others out of range fail the run. Indices are checked where " \
              "they are read: those of updates without elements are not") \
TAILOR_OP(80, Dot,        "dot",        (lhs, rhs),                     (transpose_lhs:i64:0, transpose_rhs:i64:0), kContract,   kDot,        kContraction, None,         1, "out[..., m, n] = sum over k of lhs[..., m, k] * rhs[..., k, n]") \
TAILOR_OP(90, While,      "while",      (carried...),                   (shapes:dims:[]),                           kRegion,     kRegion,     kControl,     None,         1, "") \
TAILOR_OP(91, If,         "if",         (condition, captured*),         (shapes:dims:[]),                           kRegion,     kRegion,     kControl,     None,         1, "") \
TAILOR_OP(92, Bind,       "bind",       (count),                        (extent:dims),                              kBind,       kDimSize,    kControl,     None,         1, "") \
TAILOR_OP(93, Continuation, "continuation", (values*),                      (extents:dims:[], counts:i64s:[], outputs:i64s:[]), kRegion,     kRegion,     kControl,     None,         1, "") \
TAILOR_OP(94, Custom,     "custom",     (operands*),                    (name:string, attributes:string, pure:i64, dtypes:string, ranks:i64s, shapes:dims), kStated,     kStated,     kControl,     None,         1, "")
// clang-format on

#endif  // TAILOR_GRAPH_OP_TABLE_H_

# ruff: noqa: E501
"""StableHLO programs in MLIR's notation: text, inputs and result types."""

import numpy as np
from tests.runtime.cases import f32, f64, i32, numbers

VERSIONS = ("0.9.0", "1.13.7")
"""Of StableHLO: the oldest that is still read, whose bytecode is older too, and the one of TensorFlow 2.21."""
_TYPES = {"float32": "f32", "float64": "f64", "int32": "i32", "int64": "i64", "bool": "i1", "uint32": "ui32", "int8": "i8", "uint64": "ui64", "float16": "f16"}  # fmt: skip


def kind_of(array):
    return "tensor<" + "".join(f"{n}x" for n in array.shape) + _TYPES[array.dtype.name] + ">"


def program(body, results, *inputs, more=""):
    """A function of these inputs: `%0`, `%1`… in the body are its arguments, `%r`… its results."""
    args = ", ".join(f"%a{i}: {kind_of(x)}" for i, x in enumerate(inputs))
    kinds = [kind.strip() for kind in results.split(";")]
    names = ["%r", "%s", "%t"][: len(kinds)]
    text = f"""module @jit_f attributes {{mhlo.num_partitions = 1 : i32}} {{
  func.func public @main({args}) -> ({", ".join(kinds)}) {{
    {body}
    return {", ".join(names)} : {", ".join(kinds)}
  }}
  {more}
}}"""
    return text, inputs, kinds


def one(op, *inputs, result=None, attrs=""):
    """A single op in MLIR's generic notation."""
    kinds = ", ".join(kind_of(x) for x in inputs)
    result = result or kind_of(inputs[0])
    names = ", ".join(f"%a{i}" for i in range(len(inputs)))
    return program(f'%r = "stablehlo.{op}"({names}) {{{attrs}}} : ({kinds}) -> {result}', result, *inputs)


def region(op, kind="f32", out=None):
    out = out or kind
    return (
        f"({{ ^bb0(%x: tensor<{kind}>, %y: tensor<{kind}>): %z = {op} "
        f'"stablehlo.return"(%z) : (tensor<{out}>) -> () }})'
    )


ADD = region("stablehlo.add %x, %y : tensor<f32>")
ODD = (
    "({ ^bb0(%x: tensor<f32>, %y: tensor<f32>): %q = stablehlo.multiply %y, %y : tensor<f32> "
    "%z = stablehlo.add %x, %q : tensor<f32> stablehlo.return %z : tensor<f32> })"
)
X, Y = numbers(3, 4), numbers(3, 4, seed=1)
POSITIVE = numbers(3, 4, low=0.1, high=3)
SOME = i32(-7, 7, 5, -(2**31), 3, 0, 1)
BY = i32(2, -2, 0, -1, 31, 32, 40)
EDGES = f32(np.nan, np.inf, -np.inf, -0.0, 2.5, -2.5, 3e9, 0.5)
PROGRAMS = {
    **{
        op: one(op, X)
        for op in [
            "abs",
            "ceil",
            "cosine",
            "exponential",
            "exponential_minus_one",
            "floor",
            "logistic",
            "negate",
            "sign",
            "sine",
            "tanh",
            "round_nearest_even",
            "round_nearest_afz",
            "cbrt",
        ]
    },
    **{op: one(op, POSITIVE) for op in ["log", "log_plus_one", "rsqrt", "sqrt"]},
    **{
        op: one(op, X, Y)
        for op in ["add", "subtract", "multiply", "divide", "maximum", "minimum", "atan2", "remainder"]
    },
    "power": one("power", POSITIVE, Y),
    **{
        f"{op} of integers": one(op, SOME, BY)
        for op in [
            "add",
            "multiply",
            "divide",
            "remainder",
            "maximum",
            "and",
            "or",
            "xor",
            "shift_left",
            "shift_right_arithmetic",
            "shift_right_logical",
            "power",
        ]
    },
    **{
        f"{op} of integers": one(op, SOME)
        for op in ["not", "popcnt", "count_leading_zeros", "abs", "sign", "negate"]
    },
    **{
        f"{op} at the edges": one(op, EDGES)
        for op in ["sign", "round_nearest_afz", "round_nearest_even", "abs"]
    },
    "is_finite": one("is_finite", EDGES, result="tensor<8xi1>"),
    **{
        f"convert to {t}": one("convert", EDGES, result=f"tensor<8x{t}>")
        for t in ("i32", "i8", "ui32", "f64", "i1", "f16")
    },
    **{
        f"compare {d}": one(
            "compare",
            EDGES,
            EDGES[::-1].copy(),
            result="tensor<8xi1>",
            attrs=f"comparison_direction = #stablehlo<comparison_direction {d}>",
        )
        for d in ("EQ", "NE", "GE", "GT", "LE", "LT")
    },
    "compare in total order": one(
        "compare",
        EDGES,
        EDGES[::-1].copy(),
        result="tensor<8xi1>",
        attrs="comparison_direction = #stablehlo<comparison_direction LT>, compare_type = #stablehlo<comparison_type TOTALORDER>",
    ),
    "select": one("select", np.array([True, False]), f32(1, 2), f32(3, 4), result="tensor<2xf32>"),
    "clamp": program(
        "%r = stablehlo.clamp %a0, %a1, %a2 : (tensor<f32>, tensor<3x4xf32>, tensor<f32>) -> tensor<3x4xf32>",
        "tensor<3x4xf32>",
        np.float32(-0.5).reshape(()),
        X,
        np.float32(1).reshape(()),
    ),
    "constants": program(
        "%r = stablehlo.constant dense<[[1, -2], [3, 4]]> : tensor<2x2xi32> %s = stablehlo.constant dense<2.5> : tensor<2x3xf32> %t = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>",
        "tensor<2x2xi32>; tensor<2x3xf32>; tensor<3xi1>",
    ),
    "reshape and transpose": program(
        "%b = stablehlo.reshape %a0 : (tensor<3x4xf32>) -> tensor<2x6xf32> %r = stablehlo.transpose %b, dims = [1, 0] : (tensor<2x6xf32>) -> tensor<6x2xf32>",
        "tensor<6x2xf32>",
        X,
    ),
    "broadcast_in_dim": program(
        "%r = stablehlo.broadcast_in_dim %a0, dims = [1] : (tensor<3xf32>) -> tensor<2x3x4xf32>",
        "tensor<2x3x4xf32>",
        f32(1, 2, 3),
    ),
    "iota": program("%r = stablehlo.iota dim = 1 : tensor<2x5xi32>", "tensor<2x5xi32>"),
    "concatenate": program(
        "%r = stablehlo.concatenate %a0, %a1, dim = 1 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x8xf32>",
        "tensor<3x8xf32>",
        X,
        Y,
    ),
    "slice": program(
        "%r = stablehlo.slice %a0 [1:3, 0:4:2] : (tensor<3x4xf32>) -> tensor<2x2xf32>", "tensor<2x2xf32>", X
    ),
    "dynamic_slice": program(
        "%r = stablehlo.dynamic_slice %a0, %a1, %a2, sizes = [2, 2] : (tensor<3x4xf32>, tensor<i32>, tensor<i32>) -> tensor<2x2xf32>",
        "tensor<2x2xf32>",
        X,
        np.array(2, np.int32),
        np.array(-1, np.int32),
    ),
    "dynamic_update_slice": program(
        "%r = stablehlo.dynamic_update_slice %a0, %a1, %a2, %a2 : (tensor<3x4xf32>, tensor<2x2xf32>, tensor<i32>, tensor<i32>) -> tensor<3x4xf32>",
        "tensor<3x4xf32>",
        X,
        f32([1, 2], [3, 4]),
        np.array(2, np.int32),
    ),
    "pad": program(
        "%r = stablehlo.pad %a0, %a1, low = [1, -1], high = [0, 2], interior = [1, 0] : (tensor<3x4xf32>, tensor<f32>) -> tensor<6x5xf32>",
        "tensor<6x5xf32>",
        X,
        np.float32(9).reshape(()),
    ),
    "reverse": program("%r = stablehlo.reverse %a0, dims = [0, 1] : tensor<3x4xf32>", "tensor<3x4xf32>", X),
    "bitcast_convert": program(
        "%r = stablehlo.bitcast_convert %a0 : (tensor<3x4xf32>) -> tensor<3x4xi32>", "tensor<3x4xi32>", X
    ),
    "reduce_precision": program(
        "%r = stablehlo.reduce_precision %a0, format = e5m10 : tensor<3x4xf32>", "tensor<3x4xf32>", X
    ),
    "dot_general": program(
        "%r = stablehlo.dot_general %a0, %a1, batching_dims = [0] x [1], contracting_dims = [2] x [0] : (tensor<2x3x4xf32>, tensor<4x2x5xf32>) -> tensor<2x3x5xf32>",
        "tensor<2x3x5xf32>",
        numbers(2, 3, 4),
        numbers(4, 2, 5),
    ),
    "convolution": program(
        "%r = stablehlo.convolution(%a0, %a1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 1], pad = [[1, 0], [1, 1]], rhs_dilate = [1, 2]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<2x5x6x4xf32>, tensor<3x2x2x6xf32>) -> tensor<2x2x6x6xf32>",
        "tensor<2x2x6x6xf32>",
        numbers(2, 5, 6, 4),
        numbers(3, 2, 2, 6),
    ),
    "gather": program(
        '%r = "stablehlo.gather"(%a0, %a1) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 4>} : (tensor<3x4xf32>, tensor<2x1xi32>) -> tensor<2x4xf32>',
        "tensor<2x4xf32>",
        X,
        i32([2], [0]),
    ),
    **{
        f"reduce {name}": program(
            f'%i = stablehlo.constant dense<{start}> : tensor<f32> %r = "stablehlo.reduce"(%a0, %i) {body} {{dimensions = array<i64: 1>}} : (tensor<3x4xf32>, tensor<f32>) -> tensor<3xf32>',
            "tensor<3xf32>",
            X,
        )
        for name, body, start in (
            ("add", ADD, "0.5"),
            ("max", region("stablehlo.maximum %x, %y : tensor<f32>"), "0xFF800000"),
            ("odd", ODD, "0.0"),
        )
    },
    "argmax": program(
        "%i = stablehlo.iota dim = 1 : tensor<3x4xi32> %m = stablehlo.constant dense<0xFF800000> : tensor<f32> %n = stablehlo.constant dense<0> : tensor<i32> "
        '%r, %s = "stablehlo.reduce"(%a0, %i, %m, %n) ({ ^bb0(%x: tensor<f32>, %p: tensor<i32>, %y: tensor<f32>, %q: tensor<i32>): %c = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1> '
        "%z = stablehlo.select %c, %x, %y : tensor<i1>, tensor<f32> %w = stablehlo.select %c, %p, %q : tensor<i1>, tensor<i32> stablehlo.return %z, %w : tensor<f32>, tensor<i32> }) "
        "{dimensions = array<i64: 1>} : (tensor<3x4xf32>, tensor<3x4xi32>, tensor<f32>, tensor<i32>) -> (tensor<3xf32>, tensor<3xi32>)",
        "tensor<3xf32>; tensor<3xi32>",
        X,
    ),
    "reduce_window": program(
        f'%i = stablehlo.constant dense<0.0> : tensor<f32> %r = "stablehlo.reduce_window"(%a0, %i) {ADD} {{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 1, 2>, padding = dense<[[1, 0], [0, 1]]> : tensor<2x2xi64>}} : (tensor<3x4xf32>, tensor<f32>) -> tensor<3x2xf32>',
        "tensor<3x2xf32>",
        X,
    ),
    "scatter": program(
        f'%r = "stablehlo.scatter"(%a0, %a1, %a2) {ADD} {{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}} : (tensor<3x4xf32>, tensor<2x1xi32>, tensor<2x4xf32>) -> tensor<3x4xf32>',
        "tensor<3x4xf32>",
        X,
        i32([2], [2]),
        numbers(2, 4),
    ),
    "select_and_scatter": program(
        '%i = stablehlo.constant dense<0.0> : tensor<f32> %r = "stablehlo.select_and_scatter"(%a0, %a1, %i) '
        + region("stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>", "f32", "i1")[:-1]
        + ", "
        + ADD[1:]
        + " {window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>, padding = dense<0> : tensor<2x2xi64>} : (tensor<3x4xf32>, tensor<3x2xf32>, tensor<f32>) -> tensor<3x4xf32>",
        "tensor<3x4xf32>",
        X,
        numbers(3, 2),
    ),
    **{
        f"sort {d}": program(
            '%r, %s = "stablehlo.sort"(%a0, %a1) ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>, %p: tensor<i32>, %q: tensor<i32>): %z = stablehlo.compare '
            + d
            + ", %x, %y, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1> stablehlo.return %z : tensor<i1> }) {dimension = 1 : i64, is_stable = true} : (tensor<3x4xf32>, tensor<3x4xi32>) -> (tensor<3x4xf32>, tensor<3x4xi32>)",
            "tensor<3x4xf32>; tensor<3x4xi32>",
            X,
            np.arange(12, dtype=np.int32).reshape(3, 4),
        )
        for d in ("LT", "GT")
    },
    "while": program(
        "%i = stablehlo.constant dense<0> : tensor<i32> %n = stablehlo.constant dense<5> : tensor<i32> %d = stablehlo.constant dense<1> : tensor<i32> %s, %r = stablehlo.while(%k = %i, %v = %a0) : tensor<i32>, tensor<3x4xf32> cond { %c = stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> tensor<i1> stablehlo.return %c : tensor<i1> } do { %m = stablehlo.add %k, %d : tensor<i32> %w = stablehlo.add %v, %a1 : tensor<3x4xf32> stablehlo.return %m, %w : tensor<i32>, tensor<3x4xf32> }",
        "tensor<3x4xf32>; tensor<i32>",
        X,
        Y,
    ),
    "case": program(
        '%r = "stablehlo.case"(%a0) ({ %b = stablehlo.negate %a1 : tensor<3x4xf32> stablehlo.return %b : tensor<3x4xf32> }, { stablehlo.return %a1 : tensor<3x4xf32> }) : (tensor<i32>) -> tensor<3x4xf32>',
        "tensor<3x4xf32>",
        np.array(0, np.int32),
        X,
    ),
    "call": program(
        "%b = func.call @double(%a0) : (tensor<3x4xf32>) -> tensor<3x4xf32> %r = func.call @double(%b) : (tensor<3x4xf32>) -> tensor<3x4xf32>",
        "tensor<3x4xf32>",
        X,
        more="func.func private @double(%x: tensor<3x4xf32>) -> tensor<3x4xf32> { %0 = stablehlo.add %x, %x : tensor<3x4xf32> return %0 : tensor<3x4xf32> }",
    ),
    "map that calls a function, empty": program(
        '%r = "stablehlo.map"(%a0) ({ ^bb0(%x: tensor<f32>): %y = func.call @twice(%x) : (tensor<f32>) -> tensor<f32> stablehlo.return %y : tensor<f32> }) {dimensions = array<i64: 0>} : (tensor<0xf32>) -> tensor<0xf32>',
        "tensor<0xf32>",
        np.zeros(0, np.float32),
        more="func.func private @twice(%x: tensor<f32>) -> tensor<f32> { %y = stablehlo.add %x, %x : tensor<f32> return %y : tensor<f32> }",
    ),
    "custom calls": program(
        '%r = stablehlo.custom_call @Sharding(%a0) {mhlo.sharding = "{replicated}"} : (tensor<3x4xf32>) -> tensor<3x4xf32> %s = stablehlo.custom_call @mhlo.erf(%a0) {mhlo.attributes = {}, mhlo.version = 1 : i64} : (tensor<3x4xf32>) -> tensor<3x4xf32>',
        "tensor<3x4xf32>; tensor<3x4xf32>",
        X,
    ),
    "the largest of each row": program(
        "%r, %s = stablehlo.custom_call @mhlo.topk(%a0) {mhlo.attributes = {k = 2 : i64, largest = true}, mhlo.version = 1 : i64} : (tensor<3x4xf32>) -> (tensor<3x2xf32>, tensor<3x2xi32>)",
        "tensor<3x2xf32>; tensor<3x2xi32>",
        X,
    ),
    "set_dimension_size": program(
        "%n = stablehlo.constant dense<3> : tensor<i32> %r = stablehlo.set_dimension_size %a0, %n, dim = 0 : (tensor<3x4xf32>, tensor<i32>) -> tensor<3x4xf32>",
        "tensor<3x4xf32>",
        X,
    ),
    "random bits of a short state": program(
        "%r, %s = stablehlo.rng_bit_generator %a0, algorithm = PHILOX : (tensor<2xui64>) -> (tensor<2xui64>, tensor<5xui32>)",
        "tensor<2xui64>; tensor<5xui32>",
        np.array([1, 2], np.uint64),
    ),
    "batched product of complex numbers": program(
        "%x = stablehlo.complex %a0, %a1 : tensor<2x3x4xcomplex<f32>> %y = stablehlo.complex %a1, %a0 : tensor<2x3x4xcomplex<f32>> "
        "%z = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x3x4xcomplex<f32>>, tensor<2x3x4xcomplex<f32>>) -> tensor<2x3x3xcomplex<f32>> "
        "%r = stablehlo.real %z : (tensor<2x3x3xcomplex<f32>>) -> tensor<2x3x3xf32> %s = stablehlo.imag %z : (tensor<2x3x3xcomplex<f32>>) -> tensor<2x3x3xf32>",
        "tensor<2x3x3xf32>; tensor<2x3x3xf32>",
        numbers(2, 3, 4),
        numbers(2, 3, 4, seed=1),
    ),
    "random bits": program(
        "%r, %s = stablehlo.rng_bit_generator %a0, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x4xui32>)",
        "tensor<2xui64>; tensor<3x4xui32>",
        np.array([5, 6], np.uint64),
    ),
    "cholesky": program(
        "%r = stablehlo.cholesky %a0, lower = true : tensor<2x2xf64>", "tensor<2x2xf64>", f64([4, 1], [1, 3])
    ),
    "triangular_solve": program(
        '%r = "stablehlo.triangular_solve"(%a0, %a1) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose TRANSPOSE>} : (tensor<2x2xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>',
        "tensor<2x3xf64>",
        f64([4, 0], [1, 3]),
        f64([1, 2, 3], [4, 5, 6]),
    ),
    "softmax": program(
        f'%i = stablehlo.constant dense<0xFF800000> : tensor<f32> %o = stablehlo.constant dense<0.0> : tensor<f32> %m = "stablehlo.reduce"(%a0, %i) {region("stablehlo.maximum %x, %y : tensor<f32>")} {{dimensions = array<i64: 1>}} : (tensor<3x4xf32>, tensor<f32>) -> tensor<3xf32> %b = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<3xf32>) -> tensor<3x4xf32> %c = stablehlo.subtract %a0, %b : tensor<3x4xf32> %e = stablehlo.exponential %c : tensor<3x4xf32> %n = "stablehlo.reduce"(%e, %o) {ADD} {{dimensions = array<i64: 1>}} : (tensor<3x4xf32>, tensor<f32>) -> tensor<3xf32> %d = stablehlo.broadcast_in_dim %n, dims = [0] : (tensor<3xf32>) -> tensor<3x4xf32> %r = stablehlo.divide %e, %d : tensor<3x4xf32>',
        "tensor<3x4xf32>",
        X,
    ),
}
POOLED = numbers(1, 5, 6, 2)
POOLED[0, :3, :3, 1] = -np.inf
MAX = region("stablehlo.maximum %x, %y : tensor<f32>")
ARG_MAX = (
    "({ ^bb0(%x: tensor<f32>, %p: tensor<i32>, %y: tensor<f32>, %q: tensor<i32>): "
    "%c = stablehlo.compare GT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1> "
    "%u = stablehlo.compare NE, %x, %x : (tensor<f32>, tensor<f32>) -> tensor<i1> "
    "%k = stablehlo.or %c, %u : tensor<i1> "
    "%e = stablehlo.compare EQ, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1> "
    "%l = stablehlo.compare LT, %p, %q : (tensor<i32>, tensor<i32>) -> tensor<i1> "
    "%a = stablehlo.and %e, %l : tensor<i1> %o = stablehlo.or %k, %a : tensor<i1> "
    "%z = stablehlo.select %k, %x, %y : tensor<i1>, tensor<f32> "
    "%w = stablehlo.select %o, %p, %q : tensor<i1>, tensor<i32> "
    "stablehlo.return %z, %w : tensor<f32>, tensor<i32> })"
)
TWO_KEYS = (
    "({ ^bb0(%x: tensor<i32>, %y: tensor<i32>, %p: tensor<f32>, %q: tensor<f32>): "
    "%a = stablehlo.compare LT, %x, %y : (tensor<i32>, tensor<i32>) -> tensor<i1> "
    "%b = stablehlo.compare EQ, %x, %y : (tensor<i32>, tensor<i32>) -> tensor<i1> "
    "%c = stablehlo.compare GT, %p, %q, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1> "
    "%d = stablehlo.and %b, %c : tensor<i1> %e = stablehlo.or %a, %d : tensor<i1> "
    "stablehlo.return %e : tensor<i1> })"
)
PROGRAMS |= {
    "gather of windows": program(
        '%r = "stablehlo.gather"(%a0, %a1) {dimension_numbers = #stablehlo.gather<offset_dims = [0, 2], start_index_map = [1, 0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 2, 3>} : (tensor<3x4xf32>, tensor<4x2xi32>) -> tensor<2x4x3xf32>',
        "tensor<2x4x3xf32>",
        X,
        i32([0, 0], [1, 1], [9, -9], [0, 5]),
    ),
    "gather in batches": program(
        '%r = "stablehlo.gather"(%a0, %a1) {dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>} : (tensor<3x4xf32>, tensor<3x2x1xi32>) -> tensor<3x2xf32>',
        "tensor<3x2xf32>",
        X,
        i32([[0], [3]], [[1], [7]], [[2], [2]]),
    ),
    "scatter over itself and beyond": program(
        '%r = "stablehlo.scatter"(%a0, %a1, %a2) ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>): stablehlo.return %y : tensor<f32> }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false} : (tensor<3x4xf32>, tensor<4x2xi32>, tensor<4x2xf32>) -> tensor<3x4xf32>',
        "tensor<3x4xf32>",
        X,
        i32([1, 0], [1, 1], [2, 3], [-1, 0]),
        numbers(4, 2),
    ),
    "scatter of maxima": program(
        f'%r = "stablehlo.scatter"(%a0, %a1, %a2) {MAX} {{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}} : (tensor<3x4xf32>, tensor<3x2xi32>, tensor<3xf32>) -> tensor<3x4xf32>',
        "tensor<3x4xf32>",
        X,
        i32([0, 0], [0, 0], [2, 9]),
        f32(0.25, 5, 7),
    ),
    "maxima of an image": program(
        f'%i = stablehlo.constant dense<0xFF800000> : tensor<f32> %r = "stablehlo.reduce_window"(%a0, %i) {MAX} {{window_dimensions = array<i64: 1, 2, 3, 1>, window_strides = array<i64: 1, 2, 1, 1>, padding = dense<[[0, 0], [1, 0], [0, 1], [0, 0]]> : tensor<4x2xi64>}} : (tensor<1x5x6x2xf32>, tensor<f32>) -> tensor<1x3x5x2xf32>',
        "tensor<1x3x5x2xf32>",
        POOLED,
    ),
    "sums of long windows": program(
        f'%i = stablehlo.constant dense<0.0> : tensor<f32> %r = "stablehlo.reduce_window"(%a0, %i) {ADD} {{window_dimensions = array<i64: 11>, window_strides = array<i64: 3>, window_dilations = array<i64: 2>, padding = dense<[[4, 2]]> : tensor<1x2xi64>}} : (tensor<24xf32>, tensor<f32>) -> tensor<4xf32>',
        "tensor<4xf32>",
        numbers(24),
    ),
    **{
        f"cumulative sum {name}": program(
            f'%i = stablehlo.constant dense<0.0> : tensor<f32> %r = "stablehlo.reduce_window"(%a0, %i) {ADD} {{window_dimensions = array<i64: 1, 4>, window_strides = array<i64: 1, 1>, padding = dense<[[0, 0], [{pads}]]> : tensor<2x2xi64>}} : (tensor<3x4xf32>, tensor<f32>) -> tensor<3x4xf32>',
            "tensor<3x4xf32>",
            X,
        )
        for name, pads in (("forward", "3, 0"), ("backward", "0, 3"))
    },
    "transposed convolution": program(
        "%r = stablehlo.convolution(%a0, %a1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, f, 0, 1], window = {pad = [[1, 2], [-1, 1]], lhs_dilate = [2, 1], reverse = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x3x5x2xf32>, tensor<3x2x2x4xf32>) -> tensor<2x4x6x4xf32>",
        "tensor<2x4x6x4xf32>",
        numbers(2, 3, 5, 2),
        numbers(3, 2, 2, 4),
    ),
    "convolution of each channel, channels first": program(
        "%r = stablehlo.convolution(%a0, %a1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 2], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 3 : i64} : (tensor<2x3x6x6xf32>, tensor<6x1x3x3xf32>) -> tensor<2x6x3x3xf32>",
        "tensor<2x6x3x3xf32>",
        numbers(2, 3, 6, 6),
        numbers(6, 1, 3, 3),
    ),
    "convolution over one axis": program(
        "%r = stablehlo.convolution(%a0, %a1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2], pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x7x3xf32>, tensor<3x3x4xf32>) -> tensor<2x4x4xf32>",
        "tensor<2x4x4xf32>",
        numbers(2, 7, 3),
        numbers(3, 3, 4),
    ),
    "convolution over three axes": program(
        "%r = stablehlo.convolution(%a0, %a1) dim_numbers = [b, 0, 1, 2, f]x[0, 1, 2, i, o]->[b, 0, 1, 2, f], window = {stride = [1, 2, 1], pad = [[0, 0], [1, 0], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x4x4x2xf32>, tensor<2x2x3x2x2xf32>) -> tensor<1x2x2x4x2xf32>",
        "tensor<1x2x2x4x2xf32>",
        numbers(1, 3, 4, 4, 2),
        numbers(2, 2, 3, 2, 2),
    ),
    "products over two axes, and of vectors": program(
        "%r = stablehlo.dot_general %a0, %a1, contracting_dims = [0, 2] x [1, 0] : (tensor<2x3x4xf32>, tensor<4x2x5xf32>) -> tensor<3x5xf32> %s = stablehlo.dot_general %a2, %a2, contracting_dims = [0] x [0] : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32> %t = stablehlo.dot_general %a2, %a2, contracting_dims = [] x [] : (tensor<3xf32>, tensor<3xf32>) -> tensor<3x3xf32>",
        "tensor<3x5xf32>; tensor<f32>; tensor<3x3xf32>",
        numbers(2, 3, 4),
        numbers(4, 2, 5),
        f32(1, 2, 3),
    ),
    "largest of many": program(
        "%i = stablehlo.iota dim = 1 : tensor<2x21xi32> %m = stablehlo.constant dense<0xFF800000> : tensor<f32> %n = stablehlo.constant dense<0> : tensor<i32> "
        f'%r, %s = "stablehlo.reduce"(%a0, %i, %m, %n) {ARG_MAX} {{dimensions = array<i64: 1>}} : (tensor<2x21xf32>, tensor<2x21xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)',
        "tensor<2xf32>; tensor<2xi32>",
        np.round(numbers(2, 21) * 2).astype(np.float32),
    ),
    "sum of nothing": program(
        f'%i = stablehlo.constant dense<0.5> : tensor<f32> %r = "stablehlo.reduce"(%a0, %i) {ADD} {{dimensions = array<i64: 1>}} : (tensor<3x0xf32>, tensor<f32>) -> tensor<3xf32>',
        "tensor<3xf32>",
        np.zeros((3, 0), np.float32),
    ),
    "sort by two keys": program(
        f'%r, %s = "stablehlo.sort"(%a0, %a1) {TWO_KEYS} {{dimension = 0 : i64, is_stable = true}} : (tensor<7xi32>, tensor<7xf32>) -> (tensor<7xi32>, tensor<7xf32>)',
        "tensor<7xi32>; tensor<7xf32>",
        i32(3, 1, 3, 1, 2, 3, 1),
        f32(1, 2, 3, 4, 5, 2, -1),
    ),
    "if": program(
        '%r = "stablehlo.if"(%a0) ({ %b = stablehlo.negate %a1 : tensor<3x4xf32> stablehlo.return %b : tensor<3x4xf32> }, { stablehlo.return %a1 : tensor<3x4xf32> }) : (tensor<i1>) -> tensor<3x4xf32>',
        "tensor<3x4xf32>",
        np.array(True),
        X,
    ),
    "the last of three branches": program(
        '%r = "stablehlo.case"(%a0) ({ %b = stablehlo.negate %a1 : tensor<3x4xf32> stablehlo.return %b : tensor<3x4xf32> }, { stablehlo.return %a1 : tensor<3x4xf32> }, { %b = stablehlo.add %a1, %a1 : tensor<3x4xf32> stablehlo.return %b : tensor<3x4xf32> }) : (tensor<i32>) -> tensor<3x4xf32>',
        "tensor<3x4xf32>",
        np.array(-7, np.int32),
        X,
    ),
    "fft": program(
        "%z = stablehlo.fft %a0, type = RFFT, length = [4] : (tensor<3x4xf32>) -> tensor<3x3xcomplex<f32>> %r = stablehlo.abs %z : (tensor<3x3xcomplex<f32>>) -> tensor<3x3xf32> %s = stablehlo.fft %z, type = IRFFT, length = [4] : (tensor<3x3xcomplex<f32>>) -> tensor<3x4xf32>",
        "tensor<3x3xf32>; tensor<3x4xf32>",
        X,
    ),
}
DYNAMIC = """module attributes {jax.uses_shape_polymorphism = true} {
  func.func public @main(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>
    %n1 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
    %four = stablehlo.constant dense<4> : tensor<1xi32>
    %two = stablehlo.constant dense<2> : tensor<1xi32>
    %shape = stablehlo.concatenate %n1, %four, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %zero = stablehlo.constant dense<0.5> : tensor<f32>
    %b = stablehlo.dynamic_broadcast_in_dim %zero, %shape, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x4xf32>
    %i = stablehlo.dynamic_iota %shape, dim = 0 : (tensor<2xi32>) -> tensor<?x4xf32>
    %s = stablehlo.add %x, %b : tensor<?x4xf32>
    %t = stablehlo.add %s, %i : tensor<?x4xf32>
    %rows = stablehlo.multiply %n1, %two : tensor<1xi32>
    %flat = stablehlo.concatenate %rows, %two, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %r = stablehlo.dynamic_reshape %t, %flat : (tensor<?x4xf32>, tensor<2xi32>) -> tensor<?x2xf32>
    %u = stablehlo.dynamic_reshape %r, %shape : (tensor<?x2xf32>, tensor<2xi32>) -> tensor<?x4xf32>
    return %u : tensor<?x4xf32>
  }
}"""
PROGRAMS["shapes that only a run tells"] = (DYNAMIC, (X,), ["tensor<3x4xf32>"])
KINDS = {v: k for k, v in _TYPES.items()}

"""XLA ops, compared with the answers of `tests.live.record_xla_ops`."""

from textwrap import dedent

import numpy as np
import pytest
from tests.runtime.cases import (
    bf16,
    boolean,
    case,
    check,
    checks,
    f16,
    f32,
    f64,
    graph_case,
    i32,
    i64,
    numbers,
    run,
    scalar,
    u64,
)

import tfport
from tfport.graph.dtypes import DType

FLOAT, INT32, UINT32, UINT64 = (DType.parse(n) for n in ("float32", "int32", "uint32", "uint64"))


def message(**fields):
    """A message with lists of small integers in these fields, `f3=[0, 1]`."""
    out = b""
    for name, values in fields.items():
        number = int(name[1:])
        if isinstance(values, int):
            out += bytes([number << 3, values])
        elif values:
            out += bytes([number << 3 | 2, len(values), *values])
    return out.decode()


def dot(lhs, rhs, batch=((), ())):
    return message(f1=lhs, f2=rhs, f3=batch[0], f4=batch[1])


NCHW = message(f7=0, f8=1, f11=[2, 3], f3=1, f4=0, f6=[2, 3], f9=0, f10=1, f12=[2, 3])
NHWC = message(f7=0, f8=3, f11=[1, 2], f3=2, f4=3, f6=[0, 1], f9=0, f10=3, f12=[1, 2])
MIXED = message(f7=3, f8=0, f11=[1, 2], f3=0, f4=3, f6=[1, 2], f9=1, f10=2, f12=[3, 0])


def conv(
    lhs,
    rhs,
    strides=(1, 1),
    padding=((0, 0), (0, 0)),
    lhs_dilation=(1, 1),
    rhs_dilation=(1, 1),
    groups=1,
    layout=NCHW,
    op="XlaConv",
    **options,
):
    inputs = (i32(*strides), i32(*padding), i32(*lhs_dilation), i32(*rhs_dilation), scalar(groups))
    return case(op, lhs, rhs, *inputs, dimension_numbers=layout, precision_config="", rtol=1e-4, **options)


def gather(operand, indices, sizes, offset, collapsed, axes, vector, **options):
    fields = message(f1=offset, f2=collapsed, f3=axes, f4=vector)
    return case(
        "XlaGather",
        operand,
        indices,
        i32(*sizes),
        dimension_numbers=fields,
        indices_are_sorted=False,
        **options,
    )


OPERATIONS = {
    "add": "m = AddV2(x, y) {T=$}", "mul": "m = Mul(x, y) {T=$}", "max": "m = Maximum(x, y) {T=$}",
    "min": "m = Minimum(x, y) {T=$}", "second": "m = Identity(y) {T=$}", "first": "m = Identity(x) {T=$}",
    "odd": "s = Square(y) {T=$}\n  m = AddV2(x, s) {T=$}", "and": "m = LogicalAnd(x, y)",
    "ge": "m = GreaterEqual(x, y) {T=$}", "lt": "m = Less(x, y) {T=$}", "gt": "m = Greater(x, y) {T=$}",
}  # fmt: skip


def function(name, operation, kind, out=None):
    body = OPERATIONS[operation].replace("$", kind)
    return f"def {name}(x: {kind}, y: {kind}) -> (z: {out or kind}):\n  {body}\n  return z=m\n"


def listed(a):
    return ", ".join(map(str, a.reshape(-1).tolist()))


def calling(op, attrs, functions, shapes=(), fetches="y:0", **feeds):
    """A node that calls functions; feeds in the order of its inputs."""
    lines = [
        f"{n} = Placeholder() {{dtype={a.dtype}, shape={tuple(a.shape) if a.ndim != 1 else f'({a.size})'}}}"
        for n, a in feeds.items()
        if n not in shapes
    ]
    for name in shapes:
        a = feeds[name]
        lines.append(f"{name} = Const() {{dtype=int32, value=int32{a.shape}[{listed(a)}]}}")
    lines.append(f"y = {op}({', '.join(feeds)}) {{{attrs}}}")
    text = "\n".join(lines) + "\n\n" + "\n".join(functions)
    return graph_case(text, fetches=fetches, name=op, **{n: a for n, a in feeds.items() if n not in shapes})


def reduced(operation, x, start, axes, kind="float32"):
    return calling(
        "XlaReduce",
        f"T={kind}, dimensions_to_reduce={list(axes)}, reducer=@f",
        [function("f", operation, kind)],
        x=x,
        start=scalar(start, x.dtype),
    )


def windowed(operation, x, start, size, strides, padding, base=(1, 1), dilation=(1, 1)):
    inputs = {"w": i32(*size), "s": i32(*strides), "b": i32(*base), "d": i32(*dilation), "p": i32(*padding)}
    return calling(
        "XlaReduceWindow",
        "T=float32, Tindices=int32, computation=@f",
        [function("f", operation, "float32")],
        tuple(inputs),
        x=x,
        start=scalar(start, np.float32),
        **inputs,
    )


def scattered(operation, x, indices, new, window, inserted, axes, vector, kind="float32"):
    fields = message(f1=window, f2=inserted, f3=axes, f4=vector)
    escaped = "".join(f"\\\\x{b:02x}" for b in fields.encode()).replace("\\\\", "\\")
    attrs = f'T={kind}, Tindices=int32, dimension_numbers=b"{escaped}", update_computation=@f'
    attrs += ", indices_are_sorted=false"
    return calling("XlaScatter", attrs, [function("f", operation, kind)], x=x, i=indices, u=new)


A, B = numbers(2, 3, 4), numbers(4, 3, 5, seed=1)
IMAGE, KERNEL = numbers(2, 4, 5, 6), numbers(6, 4, 3, 2, seed=2)
X2 = numbers(3, 4)

CASES = [
    case("XlaDot", numbers(2, 3), numbers(3, 4), dimension_numbers=dot([1], [0]), precision_config=""),
    case("XlaDot", A, B, dimension_numbers=dot([2, 1], [0, 1]), precision_config=""),
    case(
        "XlaDot",
        numbers(5, 2, 3),
        numbers(3, 5, 4),
        dimension_numbers=dot([2], [0], ([0], [1])),
        precision_config="",
    ),
    case("XlaDot", numbers(3), numbers(2), dimension_numbers=dot([], []), precision_config=""),
    case(
        "XlaDot",
        i32([1, 2], [3, 4]),
        i32([5, 6], [7, 2**30]),
        dimension_numbers=dot([1], [0]),
        precision_config="",
    ),
    case(
        "XlaDot",
        numbers(2, 3, kind=np.float16),
        numbers(3, 2, kind=np.float16),
        dimension_numbers=dot([1], [0]),
        precision_config="",
    ),
    case(
        "XlaDotV2",
        bf16([1, 2, 3]),
        bf16([1], [0.5], [3]),
        dimension_numbers=dot([1], [0]),
        precision_config="",
        preferred_element_type=FLOAT,
    ),
    case(
        "XlaDotV2",
        np.array([[100, 100]], np.int8),
        np.array([[100], [100]], np.int8),
        dimension_numbers=dot([1], [0]),
        precision_config="",
        preferred_element_type=INT32,
    ),
    conv(IMAGE, KERNEL),
    conv(IMAGE, KERNEL, (2, 1), ((1, 2), (0, 1)), (2, 1), (1, 2)),
    conv(IMAGE, KERNEL, (1, 1), ((-1, 0), (2, -1))),
    conv(IMAGE, numbers(6, 2, 3, 2), groups=2),
    conv(IMAGE, numbers(8, 1, 3, 2), (1, 2), groups=4),
    conv(numbers(2, 5, 6, 4), numbers(3, 2, 4, 6), (2, 2), ((1, 1), (1, 1)), layout=NHWC),
    conv(numbers(4, 5, 6, 2), numbers(4, 3, 2, 6), layout=MIXED),
    conv(IMAGE, KERNEL, op="XlaConvV2", preferred_element_type=FLOAT, batch_group_count=1),
    conv(
        numbers(4, 3, 5, 6),
        numbers(6, 3, 3, 2),
        op="XlaConvV2",
        preferred_element_type=FLOAT,
        batch_group_count=2,
    ),
    case("XlaEinsum", numbers(2, 3, 4), numbers(4, 5), equation="abc,cd->abd"),
    case("XlaDynamicSlice", numbers(5, 6), i32(1, 2), i32(2, 3)),
    case("XlaDynamicSlice", numbers(5, 6), i32(4, -3), i32(2, 3)),
    case("XlaDynamicSlice", numbers(5, 6), i32(0, 0), i32(6, 3), fails=True),
    case("XlaDynamicUpdateSlice", numbers(5, 6), numbers(2, 3, seed=3), i32(4, -3)),
    case("XlaDynamicUpdateSlice", i32(1, 2, 3), i32(9), i64(1)),
    case("XlaPad", numbers(2, 3), scalar(7, np.float32), i32(1, 0), i32(0, 2), i32(0, 1)),
    case("XlaPad", numbers(4, 5), scalar(7, np.float32), i32(-1, 2), i32(1, -3), i32(2, 0)),
    case("XlaPad", i32(1, 2, 3), scalar(7), i32(0), i32(0), i32(0)),
    gather(numbers(5, 4), i32([0], [3], [9]), (1, 4), [1], [0], [0], 1),
    gather(numbers(5, 4), i32(0, 3, -1), (1, 4), [1], [0], [0], 1),
    gather(numbers(5, 4), i32([0, 1], [3, 3], [4, 2]), (2, 2), [1, 2], [], [0, 1], 1),
    gather(numbers(5, 4, 3), i32([0, 1], [2, 1], [4, 0]), (1, 4, 2), [0, 2], [0], [0, 2], 1),
    case("XlaSort", f32([3, 1, 2, -1], [np.inf, np.nan, -np.inf, 0])),
    case("XlaSort", i32(3, 1, 2, -7)),
    case("XlaSort", np.array([3, 1, 200], np.uint8)),
    case("XlaKeyValueSort", f32([3, 1, 2], [9, 8, 10]), i32([0, 1, 2], [3, 4, 5])),
    *(
        case(
            "XlaReducePrecision",
            f32(1.2345678, -3e38, 1e-40, np.nan, np.inf, 65519, 65520, 6e-5, 1e-8),
            exponent_bits=e,
            mantissa_bits=m,
        )
        for e, m in ((5, 10), (8, 7), (4, 3), (8, 23))
    ),
    case("XlaReducePrecision", f64(1.2345678, 1e300), exponent_bits=8, mantissa_bits=23),
    case("XlaReducePrecision", f16(1.2345678, 300), exponent_bits=4, mantissa_bits=3),
    case("XlaBroadcastHelper", numbers(2, 3, 4), numbers(3), i32(1)),
    case("XlaBroadcastHelper", numbers(3, 4), numbers(2, 3, 4), i32(1, 2)),
    case("XlaBroadcastHelper", numbers(3, 4), numbers(3, 4), i32()),
    case("XlaBroadcastHelper", scalar(2, np.float32), numbers(3, 4), i32()),
    case("XlaSetDynamicDimensionSize", numbers(3, 4), scalar(1), scalar(2)),
    case("XlaRemoveDynamicDimensionSize", numbers(3, 4), scalar(1)),
    case("XlaSharding", numbers(3), sharding="", unspecified_dims=[]),
    case("XlaOptimizationBarrier", [numbers(3), i32(1)]),
    *(
        case("XlaRngBitGenerator", scalar(a), s, i32(2, 3), dtype=t)
        for a, s in ((1, u64(5, 6, 7)), (2, u64(5, 6)))
        for t in (UINT32, UINT64)
    ),
    case("XlaRngBitGenerator", scalar(1), u64(5, 2**64 - 1, 7), i32(7), dtype=UINT32),
    case("XlaRngBitGenerator", scalar(2), u64(5, 2**64 - 1), i32(3, 5), dtype=UINT32),
    case("XlaRngBitGenerator", scalar(2), u64(5, 2**64 - 1), i32(3), dtype=UINT64),
    *(
        reduced(o, numbers(3, 4, 2), s, axes)
        for o, s in (("add", 0), ("mul", 2), ("max", -9), ("min", 0.5), ("odd", 1))
        for axes in ([0], [1, 2], [0, 1, 2])
    ),
    reduced("add", i32([2**30, 2**30], [2**30, 1]), 5, [0], "int32"),
    reduced("and", boolean([True, False], [True, True]), True, [1], "bool"),
    reduced("add", np.zeros((0, 3), np.float32), 7, [0]),
    calling(
        "XlaVariadicReduceV2",
        "T=[float32, int32], dimensions_to_reduce=[1], reducer=@f",
        [
            "def f(a: float32, i: int32, b: float32, j: int32) -> (c: float32, k: int32):\n"
            "  t = GreaterEqual(a, b) {T=float32}\n"
            "  m = SelectV2(t, a, b) {T=float32}\n  n = SelectV2(t, i, j) {T=int32}\n  return c=m, k=n\n"
        ],
        fetches=["y:0", "y:1"],
        x=X2,
        i=np.arange(12, dtype=np.int32).reshape(3, 4),
        s=scalar(-100, np.float32),
        t=scalar(-1),
    ),
    windowed("add", numbers(5, 6), 0, (2, 3), (1, 2), ((0, 0), (1, 1))),
    windowed("max", numbers(5, 6), -np.inf, (3, 2), (2, 1), ((1, 1), (0, 1)), dilation=(1, 2)),
    windowed("add", numbers(3, 4), 0, (2, 2), (1, 1), ((1, 0), (0, 1)), base=(2, 1)),
    windowed("odd", numbers(5, 6), 0, (2, 2), (2, 2), ((0, 0), (0, 0))),
    *(
        scattered(o, numbers(5, 3), i32([0], [4], [0], [7]), numbers(4, 3, seed=4), [1], [0], [0], 1)
        for o in ("add", "max", "second", "odd", "mul")
    ),
    scattered(
        "add", numbers(5, 3), i32([0, 1], [4, 2], [3, 1]), numbers(3, 2, 1, seed=4), [1, 2], [], [0, 1], 1
    ),
    scattered("second", i32(1, 2, 3, 4), i32(2, 0), i32(8, 9), [], [0], [0], 1, "int32"),
    calling(
        "XlaSelectAndScatter",
        "T=float32, Tindices=int32, select=@g, scatter=@f",
        [function("g", "ge", "float32", "bool"), function("f", "add", "float32")],
        ("w", "s", "p"),
        x=numbers(4, 6),
        w=i32(2, 3),
        s=i32(2, 2),
        p=i32([0, 0], [0, 1]),
        u=numbers(2, 3, seed=5),
        start=scalar(0.5, np.float32),
    ),
    *(
        calling(
            "XlaVariadicSort",
            "T=[float32, int32], comparator=@f, is_stable=true",
            [f"def f(a: float32, b: float32, i: int32, j: int32) -> (c: bool):\n  {body}\n  return c=m\n"],
            ("axis",),
            fetches=["y:0", "y:1"],
            x=f32([3, 1, 2, 1], [0, -1, 5, 5]),
            i=i32([0, 1, 2, 3], [4, 5, 6, 7]),
            axis=scalar(axis),
        )
        for axis in (0, 1)
        for body in (
            "m = Less(a, b) {T=float32}",
            "m = Greater(a, b) {T=float32}",
            "s = Square(a) {T=float32}\n  t = Square(b) {T=float32}\n  m = Less(s, t) {T=float32}",
            "m = Greater(i, j) {T=int32}",
        )
    ),
]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_xla(c, ways):
    check("xla", c, ways)


def run_text(text, fetches, **feeds):
    return run(graph_case(text, fetches=fetches, **feeds), "engine")


def test_branches_loops_and_clusters_are_what_they_are_elsewhere():
    text = """
        c = Placeholder() {dtype=bool, shape=()}
        x = Placeholder() {dtype=float32, shape=(2)}
        a = XlaIf(c, x, x) {Tcond=bool, Tin=[float32, float32], Tout=[float32], TWO}
        b = XlaWhile(x) {T=[float32], cond=@small, body=@double}
        d = XlaLaunch(x, x) {Tconstants=[], Targs=[float32, float32], Nresources=0, ONE}

        def small(x: float32) -> (z: bool):
          axis = Const() {dtype=int32, value=int32(1,)[0]}
          most = Max(x, axis) {T=float32, Tidx=int32, keep_dims=false}
          end = Const() {dtype=float32, value=float32()[100.0]}
          m = Less(most, end) {T=float32}
          return z=m

        def double(x: float32) -> (z: float32):
          m = AddV2(x, x) {T=float32}
          return z=m
    """
    text = text.replace("TWO", "then_branch=@f, else_branch=@g").replace(
        "ONE", "Tresults=[float32], function=@f"
    )
    text = dedent(text) + "\n" + function("f", "add", "float32") + "\n" + function("g", "mul", "float32")
    arrays = run_text(text, ["a:0", "b:0", "d:0"], c=np.array(True), x=f32(3, 4))
    assert [a.tolist() for a in arrays] == [[6, 8], [96, 128], [6, 8]]
    assert run_text(text, ["a:0"], c=np.array(False), x=f32(3, 4))[0].tolist() == [9, 16]


def test_factors_of_a_matrix_give_it_back():
    a = numbers(2, 4, 3)
    s, u, v = run(case("XlaSvd", a, max_iter=100, epsilon=1e-6, precision_config=""), "engine")
    np.testing.assert_allclose(np.einsum("bij,bj,bkj->bik", u, s, v), a, atol=1e-5)
    square = a[:, :3] + a[:, :3].swapaxes(1, 2)
    w, v = run(case("XlaSelfAdjointEig", square, lower=True, max_iter=100, epsilon=1e-6), "engine")
    np.testing.assert_allclose(np.einsum("bij,bj,bkj->bik", v, w, v), square, atol=1e-5)


def test_what_a_dynamic_size_cut_off_is_not_made_up():
    text = """
        x = Placeholder() {dtype=float32, shape=(3)}
        i = Const() {dtype=int32, value=int32()[0]}
        n = Const() {dtype=int32, value=int32()[2]}
        y = XlaSetDynamicDimensionSize(x, i, n) {T=float32}
        z = XlaRemoveDynamicDimensionSize(y, i) {T=float32}
    """
    assert run_text(dedent(text), ["y:0"], x=f32(1, 2, 3))[0].tolist() == [1, 2]
    with pytest.raises(tfport.Error, match="dynamic size"):
        run_text(dedent(text), ["z:0"], x=f32(1, 2, 3))

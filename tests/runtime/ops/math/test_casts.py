import ml_dtypes
import numpy as np
import pytest
from tests.runtime.cases import case, check, checks, f32, f64, graph_case, i32, i64, scalar, u8

from tfport.graph.dtypes import DType

NAN, INF = np.nan, np.inf
PLAIN = (
    "bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 "
    "complex128"
)
WIDE = np.array(
    [
        NAN,
        INF,
        -INF,
        -1,
        -1.9,
        1.9,
        127.5,
        128,
        200,
        255.9,
        256,
        300,
        -129,
        40000,
        65536,
        3e9,
        5e9,
        -3e9,
        1.7e19,
        -1e19,
    ]
)
ROUNDED = f32(1.0009765, 1.0039, 1.99999, -1.0005, 1e6, 6e4, 65519, 65520, 1e-7, NAN, INF, 460, 0.3)


def to(array, name, truncate=False, **options):
    name_of = DType.parse
    return case("Cast", array, DstT=name_of(name), Truncate=truncate, **options)


def of(name, values):
    with np.errstate(all="ignore"):  # what does not fit is infinite
        return np.asarray(values).astype(getattr(ml_dtypes, name, None) or name)


def there_and_back(name, array, through, truncate):
    text = f"""
        x = Placeholder() {{dtype={name}, shape=(?)}}
        y = Cast(x) {{SrcT={name}, DstT={through}, Truncate={truncate}}}
        z = Cast(y) {{SrcT={through}, DstT={name}, Truncate=false}}
    """
    return graph_case(text, fetches="z:0", name="Cast", x=array)


CASES = [
    *(to(of(have, [0, 1, 5, 100]), want) for have in PLAIN.split() for want in PLAIN.split()),
    *(
        to(of(have, WIDE), want)
        for have in ("float32", "float64", "float16", "bfloat16")
        for want in ("int8", "uint8", "int16", "uint16", "uint32", "int32", "int64", "uint64", "bool")
        # what of these is above 32767 TensorFlow makes 0 in some places and 255 in others
        if not (want == "uint8" and have in ("float64", "float16"))
    ),
    *(
        to(np.repeat(of("float32", WIDE[:13]), 8), want)
        for want in ("int8", "uint8", "int16", "uint16", "uint32")
    ),
    *(to(np.array([-1, 256, 300, -(2**31), 2**40]), want) for want in PLAIN.split()),
    *(to(np.array([2**64 - 1, 2**63, 5], np.uint64), want) for want in PLAIN.split()),
    to(np.array([0, 1j, 1 + 2j, NAN * 1j], np.complex64), "bool"),
    to(np.array([0, 1j, 1 + 2j, NAN * 1j], np.complex64), "int32"),
    to(np.array([0, 1j, 1 + 2j], np.complex128), "float32"),
    *(to(ROUNDED, want, truncate) for want in ("float16", "bfloat16") for truncate in (False, True)),
    to(f64(0.1, 1e39, -0.1), "float32", True),
    *(
        there_and_back("float32", f32(1, 1.99, -1.3, 460, 0.3, 1e-3, NAN), name, cut)
        for name in ("float8_e5m2", "float8_e4m3fn")
        for cut in ("true", "false")
    ),
    there_and_back("float64", f64(1, 1.99, -1.3, 460, 0.3), "float8_e5m2", "false"),
    *(there_and_back("int32", i32(1, -9, 8, 17, -1), name, "false") for name in ("int4", "uint4")),
    to(f64(0.1, 1e39, -0.1), "float32"),
    to(scalar(2.5, np.float32), "int8"),
    to(np.zeros((0, 2), np.float32), "int8"),
    to(f32(1, 2), "float32"),
    case("Bitcast", f32(1, 2), type=DType.parse("uint8")),
    case("Bitcast", u8([1, 2, 3, 4]), type=DType.parse("int32")),
    case("Bitcast", u8([1, 2, 3]), type=DType.parse("int32"), fails=True),
    case("Bitcast", scalar(1, np.uint8), type=DType.parse("int32"), fails=True),
    case("Bitcast", scalar(1, np.float32), type=DType.parse("uint8")),
    case("Bitcast", f32([1, -2], [0, NAN]), type=DType.parse("int32")),
    case("Bitcast", np.zeros((2, 0), np.float32), type=DType.parse("uint16")),
    case("Bitcast", i64(1, 2**40), type=DType.parse("complex64")),
    case("Bitcast", i32([1, 2]), type=DType.parse("float64")),
]


# what is constant in the way `engine` is folded, which the way `host` tells as well
@pytest.mark.parametrize(("c", "ways"), checks(CASES, without="engine"))
def test_casts(c, ways):
    check("casts", c, ways)

import numpy as np
import pytest
from tests.runtime.cases import case, check, checks, i32, numbers, run

from tfport.graph.dtypes import DType

COMPLEX64, COMPLEX128, FLOAT32, FLOAT64 = (
    DType.parse(name) for name in ("complex64", "complex128", "float32", "float64")
)


def mixed(*shape, kind=np.complex64):
    return (numbers(*shape) + 1j * numbers(*shape, seed=1)).astype(kind)


CASES = [
    *(
        case(op, mixed(*shape))
        for op in ("FFT", "IFFT")
        for shape in ((8,), (2, 7), (3, 1), (0,), (2, 0), (0, 4))
    ),
    *(case(op, mixed(*shape)) for op in ("FFT2D", "IFFT2D") for shape in ((4, 6), (2, 3, 5), (0, 3, 4))),
    *(case(op, mixed(*shape)) for op in ("FFT3D", "IFFT3D") for shape in ((2, 4, 3), (2, 2, 3, 5))),
    *(
        case(op, mixed(2, 3, 4, kind=np.complex128))
        for op in ("FFT", "IFFT", "FFT2D", "IFFT2D", "FFT3D", "IFFT3D")
    ),
    case("FFT2D", mixed(4), fails=True),
    *(
        case("RFFT", numbers(*shape), i32(n))
        for shape, n in (((8,), 8), ((2, 7), 7), ((2, 9), 5), ((3, 6), 1), ((0, 8), 4))
    ),
    *(case("RFFT2D", numbers(*shape), i32(*n)) for shape, n in (((4, 6), (4, 6)), ((2, 5, 7), (3, 5)))),
    *(
        case("RFFT3D", numbers(*shape), i32(*n))
        for shape, n in (((2, 4, 6), (2, 4, 6)), ((2, 3, 5, 7), (3, 4, 6)))
    ),
    case("RFFT", numbers(2, 8, kind=np.float64), i32(8), Tcomplex=COMPLEX128),
    case("RFFT2D", numbers(3, 8, kind=np.float64), i32(3, 6), Tcomplex=COMPLEX128),
    case("RFFT", numbers(2, 7), i32(8), fails=True),
    case("RFFT", numbers(2, 7), i32(8, 8), fails=True),
    case("RFFT2D", numbers(7), i32(4, 4), fails=True),
    *(
        case("IRFFT", mixed(*shape), i32(n))
        for shape, n in (((5,), 8), ((2, 4), 7), ((2, 9), 5), ((3, 6), 1), ((0, 8), 4))
    ),
    *(case("IRFFT2D", mixed(*shape), i32(*n)) for shape, n in (((4, 4), (4, 6)), ((2, 5, 7), (3, 5)))),
    *(
        case("IRFFT3D", mixed(*shape), i32(*n))
        for shape, n in (((2, 4, 4), (2, 4, 6)), ((2, 3, 5, 7), (3, 4, 6)))
    ),
    case("IRFFT", mixed(2, 5, kind=np.complex128), i32(8), Treal=FLOAT64),
    case("IRFFT", mixed(2, 4), i32(8), fails=True),
    case("RFFT", numbers(2, 7), i32(-1), fails=True),
]
for c in CASES:
    c.ways = ("engine",)  # there are no lowerings, so that every way is the same


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_transforms(c, ways):
    check("fourier", c, ways)


X = mixed(2, 4, 6)
ONLY_ON_GPUS = [  # TensorFlow has no CPU kernels for these: compared with ops that have one
    (case("BatchFFT", X), case("FFT", X)),
    (case("BatchIFFT", X), case("IFFT", X)),
    (case("BatchFFT2D", X), case("FFT2D", X)),
    (case("BatchIFFT2D", X), case("IFFT2D", X)),
    (case("BatchFFT3D", X), case("FFT3D", X)),
    (case("BatchIFFT3D", X), case("IFFT3D", X)),
    (case("FFTND", X, i32(4, 5), i32(-2, -1)), case("FFT2D", X[..., :5])),
    (case("IFFTND", X, i32(2, 4, 6), i32(0, 1, 2)), case("IFFT3D", X)),
    (case("RFFTND", X.real, i32(4, 5), i32(1, 2)), case("RFFT2D", X.real, i32(4, 5))),
    (case("IRFFTND", X, i32(4, 8), i32(1, 2)), case("IRFFT2D", X, i32(4, 8))),
]


@pytest.mark.parametrize(("gpu_only", "other"), ONLY_ON_GPUS, ids=str)
def test_transforms_without_a_cpu_kernel(gpu_only, other):
    assert np.array_equal(run(gpu_only, "host")[0], run(other, "host")[0])

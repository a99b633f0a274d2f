import itertools

import numpy as np
import pytest
from tests.runtime.cases import case, check, checks, i32, numbers, scalar
from tests.runtime.ops.image.image_samples import SAMPLES

from tfport.graph.dtypes import FLOAT32, DType

UINT8, UINT16, INT64 = (DType.parse(name) for name in ("uint8", "uint16", "int64"))
BROKEN = ("bad", "j_cut", "p_cut", "g_cut", "b_cut", "j_huge", "p_huge", "w_cut")
WHOLE = [name for name in SAMPLES if name not in BROKEN]


def contents(name):
    made = np.empty((), object)
    made[()] = SAMPLES[name]
    return made


def of(letter):
    return [name for name in WHOLE if name.startswith(letter)]


DECODED = [
    *(
        case("DecodeJpeg", contents(n), channels=c, ratio=r, fancy_upscaling=f, dct_method=d)
        for n in of("j")
        if n != "jcmyk"
        for c, r, f, d in [
            (0, 1, True, ""),
            (3, 1, True, "INTEGER_ACCURATE"),
            (3, 1, False, "INTEGER_FAST"),
            (1, 1, True, ""),
            (0, 2, True, ""),
            (0, 4, True, "INTEGER_ACCURATE"),
            (0, 8, False, ""),
            (1, 2, True, "INTEGER_ACCURATE"),
        ]
    ),
    *(case("DecodeJpeg", contents("jcmyk"), channels=c) for c in (0, 3)),
    case("DecodeJpeg", contents("jcmyk"), channels=1, fails=True),
    case("DecodeJpeg", contents("jgray"), channels=4, fails=True),
    case("DecodeJpeg", contents("jgray"), ratio=3, fails=True),
    case("DecodeJpeg", contents("jgray"), dct_method="SLOW", fails=True),
    case("DecodeJpeg", contents("j420_33x17"), try_recover_truncated=True, acceptable_fraction=0.5),
    *(case("DecodeJpeg", contents(n), fails=True) for n in ("bad", "j_cut", "j_huge", "g_three", "b_rgb")),
    *(case("DecodeJpeg", contents(n)) for n in ("p_rgb", "g_one")),
    *(
        case("DecodeAndCropJpeg", contents(n), i32(*window), channels=c)
        for n, window in [
            ("j420_33x17", (3, 5, 9, 11)),
            ("j420_33x17", (0, 17, 17, 16)),
            ("j422_21x18", (1, 1, 5, 20)),
            ("j420_33x17", (5, 16, 4, 13)),
            ("j420_33x17", (2, 16, 4, 14)),
            ("j411", (1, 32, 9, 4)),
            ("j422_21x18", (0, 3, 9, 9)),
            ("jgray", (2, 3, 4, 5)),
            ("jprog", (8, 8, 9, 10)),
            ("j444_21x18", (0, 0, 18, 21)),
        ]
        for c in (0, 1)
    ),
    case("DecodeAndCropJpeg", contents("jgray"), i32(0, 0, 40, 4), fails=True),
    case("DecodeAndCropJpeg", contents("jgray"), i32(0, 0, 0, 4), fails=True),
    case("DecodeAndCropJpeg", contents("p_rgb"), i32(0, 0, 4, 4), fails=True),
    *(
        case("DecodePng", contents(n), channels=c, dtype=t)
        for n, c, t in itertools.product(of("p"), (0, 1, 3, 4), (UINT8, UINT16))
    ),
    *(case("DecodePng", contents(n), fails=True) for n in ("p_cut", "p_huge", "bad", "g_three")),
    *(case("DecodePng", contents(n)) for n in ("j420_33x17", "g_one")),
    *(case("DecodeGif", contents(n)) for n in (*of("g"), "jgray", "p_rgba")),
    *(case("DecodeGif", contents(n), fails=True) for n in ("b_rgb", "bad")),
    *(case("DecodeBmp", contents(n), channels=c) for n in of("b") for c in (0, 3, 4)),
    *(case("DecodeBmp", contents(n), fails=True) for n in ("b_cut", "jgray", "p_rgb", "g_one")),
    case("DecodeBmp", contents("b_rgb"), channels=1, fails=True),
    *(
        case("DecodeImage", contents(n), dtype=t, expand_animations=e)
        for n in ("j420_33x17", "jgray", "p_rgb", "p_pal_t", "p_rgb16", "g_three", "g_partial", "b_rgb")
        for t, e in ((UINT8, True), (UINT16, False), (FLOAT32, True), (FLOAT32, False))
    ),
    case("DecodeImage", contents("bad"), fails=True),
    case("DecodeImage", contents("g_one"), channels=1, fails=True),
    *(case("DecodeWebP", contents(n)) for n in (*of("w"), "p_rgb")),
    *(case("DecodeImage", contents(n), expand_animations=e) for n in of("w") for e in (False, True)),
    *(case(op, contents("w_lossy")) for op in ("DecodeJpeg", "DecodePng", "DecodeBmp", "DecodeGif")),
    case("DecodeWebP", contents("w_lossy"), channels=4, fails=True),
    case("DecodeWebP", contents("w_cut"), fails=True),
    case("DecodeImage", contents("w_lossy"), dtype=FLOAT32, fails=True),
    *(
        case("ExtractJpegShape", contents(n), output_type=t)
        for n in ("jgray", "jcmyk", "j420_33x17")
        for t in (INT64,)
    ),
    case("ExtractJpegShape", contents("bad"), fails=True),
]


def picture(*shape, kind=np.uint8, high=256):
    y, x = np.mgrid[: shape[0], : shape[1]]
    smooth = (0.5 + 0.4 * np.sin(x / 3) * np.cos(y / 5))[..., None] + 0.08 * numbers(*shape)
    return np.clip(smooth * high, 0, high - 1).astype(kind)


ENCODED = [
    *(
        case(
            "EncodeJpeg", picture(13, 17, c), quality=q, progressive=p, optimize_size=o, chroma_downsampling=d
        )
        for c in (1, 3)
        for q, p, o, d in [
            (95, False, False, True),
            (30, False, True, True),
            (80, True, False, False),
            (0, False, False, True),
            (100, False, False, False),
        ]
    ),
    case(
        "EncodeJpeg",
        picture(9, 8, 3),
        format="rgb",
        density_unit="cm",
        x_density=20,
        y_density=30,
        xmp_metadata="<x/>",
    ),
    case("EncodeJpeg", picture(9, 8, 3), format="grayscale", fails=True),
    case("EncodeJpeg", picture(9, 8, 4), fails=True),
    case("EncodeJpeg", picture(9, 8, 3), quality=101, fails=True),
    *(case("EncodeJpegVariableQuality", picture(9, 8, 3), scalar(q)) for q in (5, 60, 100)),
    case("EncodeJpegVariableQuality", picture(9, 8, 3), scalar(200), fails=True),
    *(
        case("EncodePng", picture(11, 9, c, kind=t, high=h))
        for c in (1, 2, 3, 4)
        for t, h in ((np.uint8, 256), (np.uint16, 65536))
    ),
    *(case("EncodePng", picture(80, 90, 3), compression=level) for level in (0, 1, 9)),
    case("EncodePng", picture(1, 9, 3)),
    case("EncodePng", picture(9, 1, 3)),
    case("EncodePng", np.stack([picture(5, 4, 3)] * 2)),
    case("EncodePng", picture(5, 4, 5), fails=True),
    case("EncodePng", picture(5, 4, 3), compression=10, fails=True),
    case("EncodePng", picture(5, 4, 3)[:0], fails=True),
]
CASES = [*DECODED, *ENCODED]
for c in CASES:
    c.ways = ("engine",)  # there are no lowerings, so all ways are the same


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_image_files(c, ways):
    check("image_files", c, ways)

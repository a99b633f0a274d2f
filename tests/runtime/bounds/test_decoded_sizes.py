"""What decoders count before they decode: at least what they then use."""

from __future__ import annotations

import gzip
import io
import tracemalloc
import zlib

import cramjam
import numpy as np
import pytest
from PIL import Image

from tfport.errors import ResourceExhausted, RunFailed
from tfport.runtime.bounds.run_scope import RunLimits, RunScope, bounded
from tfport.runtime.ops.image.kernels import decoding
from tfport.runtime.ops.io.kernels import decode_raw
from tfport.runtime.ops.io.unpacked_sizes import most_unpacked

SIDE = 700


def image(kind: str, mode: str = "RGB", **options) -> bytes:
    noise = np.random.default_rng(0).integers(0, 256, (SIDE, SIDE, 3), np.uint8)
    out = io.BytesIO()
    Image.fromarray(noise).convert(mode).save(out, kind, **options)
    return out.getvalue()


def frames(kind: str) -> bytes:
    out = io.BytesIO()
    pictures = [Image.new("RGB", (SIDE, SIDE), (50 * i, 0, 0)) for i in range(4)]
    pictures[0].save(out, kind, save_all=True, append_images=pictures[1:])
    return out.getvalue()


IMAGES = {
    "gray png": (lambda: image("PNG", "L"), (0, 1, 3, 4)),
    "colored png": (lambda: image("PNG"), (0, 1, 3, 4)),
    "png with alpha": (lambda: image("PNG", "RGBA"), (0, 1, 3, 4)),
    "png with a palette": (lambda: image("PNG", "P"), (0, 1, 3, 4)),
    "png of bits": (lambda: image("PNG", "1"), (0, 1, 3, 4)),
    "deep png": (lambda: image("PNG", "I;16"), (0, 1, 3, 4)),
    "jpeg": (lambda: image("JPEG"), (0, 1, 3)),
    "jpeg, all chroma": (lambda: image("JPEG", subsampling=0), (0, 1, 3)),
    "gray jpeg": (lambda: image("JPEG", "L"), (0, 1, 3)),
    "jpeg of four colors": (lambda: image("JPEG", "CMYK", subsampling=0), (0, 3)),
    "gif": (lambda: frames("GIF"), (0, 3)),
    "bmp": (lambda: image("BMP"), (0, 3, 4)),
    "gray bmp": (lambda: image("BMP", "L"), (0, 3, 4)),
    "webp": (lambda: image("WEBP", lossless=True), (0,)),
    "animated webp": (lambda: frames("WEBP"), (0,)),
}


def most_counted(monkeypatch, run):
    """What a run reserves at most, and what NumPy then allocates at most."""
    counted = [0]

    def reserve(scope, size, node, working=0):
        scope.in_use += size
        counted.append(scope.in_use + working)

    monkeypatch.setattr(RunScope, "reserve", reserve)
    with bounded(limits=RunLimits(max_bytes=2**40)):
        run()  # imports what it needs
        counted[:] = [0]
    with bounded(limits=RunLimits(max_bytes=2**40)):
        tracemalloc.start()
        try:
            run()
            return max(counted), tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
@pytest.mark.parametrize("name", IMAGES)
def test_an_image_counts_what_it_needs(monkeypatch, name, dtype):
    data, channels = IMAGES[name][0](), IMAGES[name][1]
    if "webp" in name and dtype != np.uint8:
        pytest.skip("TensorFlow refuses it")
    for count in channels:
        counted, used = most_counted(
            monkeypatch, lambda count=count: decoding._decode(data, count, dtype, animated=True)
        )
        assert used <= counted + 2 * len(data) + 2**18, f"{count} channels"  # and bands of rows


UNPACKED = {
    "gzip": (gzip.compress, "GZIP"),
    "zlib": (zlib.compress, "ZLIB"),
    "zstd": (lambda data: bytes(cramjam.zstd.compress(data)), "ZSTD"),
}


@pytest.mark.parametrize("name", UNPACKED)
@pytest.mark.parametrize("content", ["zeros", "noise"])
def test_compressed_strings_count_what_they_become(monkeypatch, name, content):
    pack, kind = UNPACKED[name]
    data = bytes(2**20) if content == "zeros" else np.random.default_rng(0).bytes(2**20)
    packed = np.array([pack(data)] * 3, object)

    def run():
        assert decode_raw.decode_compressed(packed, compression_type=kind).tolist() == [data] * 3

    counted, used = most_counted(monkeypatch, run)
    assert 3 * 2**20 <= counted <= 5 * 2**20
    assert used <= counted + 2**19


@pytest.mark.parametrize("name", UNPACKED)
def test_a_limit_holds_for_all_strings_together(name):
    pack, kind = UNPACKED[name]
    packed = np.array([pack(bytes(2**20))] * 8, object)
    with (
        bounded(limits=RunLimits(max_bytes=6 * 2**20)),
        pytest.raises(ResourceExhausted, match=r"^the tensors of this run need .* bytes; the limit is"),
    ):
        decode_raw.decode_compressed(packed, compression_type=kind)


def test_blocks_of_zstandard_are_counted():
    noise = np.random.default_rng(0).bytes(300_000)
    for data in (b"", b"x", bytes(10**6), noise, noise * 2):
        packed = bytes(cramjam.zstd.compress(data))
        skipped = b"\x50\x2a\x4d\x18\x04\x00\x00\x00abcd"
        for times in (1, 3):
            assert len(data) * times <= most_unpacked((skipped + packed) * times)
            assert most_unpacked((skipped + packed) * times) <= (2 * len(data) + 128 * 2**10) * times
    for damaged in (b"x", b"\x28\xb5\x2f\xfd", bytes(cramjam.zstd.compress(noise))[:1000]):
        assert most_unpacked(damaged) <= 400_000


def test_a_jpeg_with_two_sizes_is_refused():
    data = image("JPEG")
    at = data.index(b"\xff\xc0")
    size = int.from_bytes(data[at + 2 : at + 4], "big") + 2
    frame = bytearray(data[at : at + size])
    frame[5:9] = b"\x10\x00\x10\x00"
    with pytest.raises(RunFailed, match="the JPEG has two frame headers"):
        decoding._decode(data[: at + size] + bytes(frame) + data[at + size :], 3)

"""What kernels of strings count before they compute: at least what they then use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.runtime.bounds.test_decoded_sizes import most_counted

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.ops.control.tensor_list import TensorList
from tfport.runtime.ops.shared.arrays import string_array
from tfport.runtime.ops.strings.kernels import format, join, unicode

NUMBERS = np.random.default_rng(0).normal(size=5_000).astype(np.float32)
TEXTS = string_array([b"one of many words, and more", b"x" * 20_000, b"a b " * 5_000] * 5)
WORDS = string_array([b"four"] * 500)
SPLITS = np.array([0, 500])
NO_PADS = {"left_pad": "", "right_pad": "", "pad_width": -1, "preserve_short_sequences": False}


def as_string(numbers: Any, width: int = -1, precision: int = -1) -> Any:
    return format.as_string(
        numbers, precision=precision, scientific=False, shortest=False, width=width, fill=""
    )


def decode(texts: Any, encoding: str = "UTF-8") -> Any:
    return unicode.unicode_decode(
        texts,
        input_encoding=encoding,
        errors="replace",
        replacement_char=65533,
        replace_control_characters=False,
        Tsplits=None,
    )


KERNELS: dict[str, Callable[[], Any]] = {
    "numbers": lambda: as_string(NUMBERS),
    "wide numbers": lambda: as_string(NUMBERS, width=1000),
    "precise numbers": lambda: as_string(NUMBERS, precision=500),
    "a printed tensor": lambda: format.string_format(
        [NUMBERS], template="{}", placeholder="{}", summarize=-1
    ),
    "single bytes": lambda: join.string_split(TEXTS, np.array(b"", object), skip_empty=False),
    "words": lambda: join.string_split(TEXTS, np.array(b" ,x", object), skip_empty=False),
    "words by one separator": lambda: join.string_split_v2(TEXTS, np.array(b"x", object), maxsplit=-1),
    "words between spaces": lambda: join.string_split_v2(TEXTS, np.array(b"", object), maxsplit=-1),
    "n-grams": lambda: join.string_ngrams(WORDS, SPLITS, separator="; ", ngram_widths=[200], **NO_PADS),
    "code points": lambda: decode(TEXTS),
    "code points of bytes": lambda: decode(TEXTS, "latin1"),
    "invalid code points": lambda: decode(string_array([b"\xff" * 50_000])),
    "unset elements of a list": lambda: TensorList([None] * 1000, (1000,), FLOAT32).stack(None),
}


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_counts_what_it_needs(monkeypatch, name):
    counted, used = most_counted(monkeypatch, KERNELS[name])
    assert used <= counted + 2**16
    assert counted <= 8 * used


def test_long_texts_that_are_not_valid_are_decoded():
    text = b"\xff" * 300_000 + "é\U0001f600".encode() + b"\xe2\x82"
    splits, points = decode(string_array([text]))
    assert splits.tolist() == [0, 300_003]
    assert points.tolist() == [65533] * 300_000 + [0xE9, 0x1F600, 65533]

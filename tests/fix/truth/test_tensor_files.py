"""Strings as releases lay them out in tensors."""

import ctypes
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[3] / "tools/atlas"))

import tensors

NEW_LAYOUT, OLD_LAYOUT = object(), type("Library", (), {"TF_StringEncode": None})
TEXTS = [b"", b"a" * 22, b"a" * 23, "Straße ".encode() * 30]


@pytest.mark.parametrize("library", [NEW_LAYOUT, OLD_LAYOUT])
def test_strings_are_read_back(library):
    memory = ctypes.create_string_buffer(tensors.strings(library, TEXTS))
    assert tensors.read_strings(library, ctypes.addressof(memory), len(TEXTS)) == TEXTS


@pytest.mark.parametrize("text", TEXTS, ids=len)
def test_strings_end_in_a_zero_as_some_kernels_read_until_there(text):
    made = tensors.tstring(text)
    if len(text) <= tensors.LONGEST_SMALL:
        assert made[1 : 2 + len(text)] == text + b"\0"
    else:
        assert tensors.KEPT[-1].raw == text + b"\0"

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfport.formats.checkpoint.slices import (
    encode_number,
    encode_signed,
    encode_slice,
    encode_string,
)

INT64 = st.integers(-(2**63), 2**63 - 1)

SIGNED = [  # number, as in the comments of TensorFlow's ordered_code.cc
    (0, "80"),
    (-1, "7f"),
    (63, "bf"),
    (64, "c040"),
    (-64, "40"),
    (-65, "3fbf"),
    (0x424242, "f0424242"),
    (-0x800, "3800"),
    (2**63 - 1, "ffc07fffffffffffffff"),
    (-(2**63), "003f8000000000000000"),
]


@pytest.mark.parametrize(("number", "code"), SIGNED)
def test_signed_numbers(number, code):
    assert encode_signed(number).hex() == code


@pytest.mark.parametrize(
    ("number", "code"), [(0, "00"), (1, "01 01"), (256, "02 01 00"), (2**64 - 1, "08" + "ff" * 8)]
)
def test_numbers(number, code):
    assert encode_number(number) == bytes.fromhex(code)


@pytest.mark.parametrize(
    ("text", "code"), [(b"a", b"a\0\1"), (b"\0", b"\0\xff\0\1"), (b"\xff", b"\xff\0\0\1")]
)
def test_strings(text, code):
    assert encode_string(text) == code


KEYS = [  # the keys that TensorFlow 2.21 wrote for these
    ("t", ((0, -1),), "00 74 0001 0101 80 7f"),
    ("rows", ((4, 3), (0, 2)), "00 726f7773 0001 0102 84 83 80 82"),
]


@pytest.mark.parametrize(("name", "part", "key"), KEYS)
def test_keys_of_slices(name, part, key):
    assert encode_slice(name, part) == bytes.fromhex(key)


@given(INT64, INT64)
def test_codes_of_numbers_sort_as_they_do(a, b):
    assert (encode_signed(a) < encode_signed(b)) == (a < b)


@given(st.binary(), st.binary())
def test_codes_of_strings_sort_as_they_do(a, b):
    assert (encode_string(a) < encode_string(b)) == (a < b)

"""Flexbuffers that the `flatbuffers` package wrote are decoded, and any bytes give a value or an error."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfport.errors import UnreadableFile
from tfport.formats.lite.flexbuffer import custom_options, decode_flexbuffer

WRITTEN = [
    (
        b"a\x00b\x00\x02hi\x00c\x00\x00\x00\x02\x00\x00\x00\x00\x00\xc0?\x00\x00 @\x0e\x0ed\x00e\x00f\x00"
        b"\x02\x05\x04\x02\x01\x02\x01\x00h\x00\x04+*%\x14\x04\x01\x04\x05.$\x0f\x04\x14*$\x08$\x01",
        {"a": 5, "b": "hi", "c": [1.5, 2.5], "d": {"e": True, "f": None}},
    ),
    (b"\x03\x00\x00\x00\x01\x00\x00\x00\xfe\xff\xff\xffp\x11\x01\x00\x06\x06\x06\x0f*\x01", [1, -2, 70000]),
    (
        b"x\x00y\x00z\x00\x02\x00\x01\x03\n\t\x08\x00\x00\x00\x06\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00"
        b"\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x9a\x99\x99\x99\x99\x99\xb9"
        b"\xbf1\x00\x00\x00\x00\x00\x00\x00\x07\x0fd\x1b'\x01",
        {"x": 2**40, "y": -0.1, "z": b"\x00\x01"},
    ),
]


@pytest.mark.parametrize(("data", "value"), WRITTEN)
def test_values_are_decoded(data, value):
    assert decode_flexbuffer(data) == value


def test_an_operator_without_options_has_none():
    assert custom_options(b"") == {}


@given(st.sampled_from([data for data, _ in WRITTEN]), st.integers(0, 200), st.integers(0, 255))
def test_a_changed_byte_gives_a_value_or_an_error(data, place, byte):
    changed = bytearray(data)
    changed[place % len(data)] = byte
    check_decoded(bytes(changed))


@given(st.binary(max_size=64))
def test_any_bytes_give_a_value_or_an_error(data):
    check_decoded(data)


def check_decoded(data):
    try:
        value = decode_flexbuffer(data)
    except UnreadableFile as error:
        message = str(error)
    else:
        message = "" if isinstance(value, dict | list | str | bytes | int | float | None) else repr(value)
    assert message in ("", "the custom options of an operator are not a valid flexbuffer")

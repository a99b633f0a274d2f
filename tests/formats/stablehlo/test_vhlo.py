"""MLIR bytecode: every attribute is read, and damaged bytecode is refused with a one-line error."""

import random
from pathlib import Path

import pytest
from tests.error_messages import reads_or_raises_one_line
from tests.runtime.answers import recorded_answers

import tfport
from tfport.formats.stablehlo.bytecode import read_bytecode
from tfport.formats.stablehlo.vhlo import PROPERTIES, HloBody, read_vhlo

MODULES = Path(__file__).parent / "modules"
NAMES = ("constants", "convolution", "while", "softmax", "gather", "call")


def modules():
    yield (MODULES / "use_orders.mlirbc").read_bytes()  # jax 0.4.35: the order of the users of a value
    for name in NAMES:
        old, new, *_ = recorded_answers("stablehlo")[name]
        yield from (old.tobytes(), new.tobytes())


def read_all(data):
    """All ops of a module with all their attributes."""

    def visit(body: HloBody):
        for op in body.ops:
            names = [name for name in op.attrs.names() if name != "result_accuracy"]
            yield op.name, {name: op.attrs[name] for name in names}
            for region in op.regions:
                yield from visit(region)

    return [op for body in read_vhlo(data).values() for op in visit(body)]


def test_every_attribute_of_a_module_is_read():
    for data in modules():
        assert any(attrs for _, attrs in read_all(data))


def test_a_module_that_ends_early_is_refused():
    for data in modules():
        for length in range(0, len(data), 7):
            with pytest.raises(tfport.UnreadableFile):
                read_all(data[:length])


@pytest.mark.parametrize("seed", range(40))
def test_wrong_bytes_are_refused_or_read(seed):
    dice = random.Random(seed)
    for data in modules():
        for _ in range(10):
            broken = bytearray(data)
            for _ in range(dice.randint(1, 4)):
                broken[dice.randrange(len(broken))] = dice.choice((0, 1, 255, dice.randrange(256)))
            with reads_or_raises_one_line():
                read_all(bytes(broken))


def test_other_bytes_and_newer_versions_are_refused():
    with pytest.raises(tfport.UnreadableFile, match="expected MLIR bytecode, found b'modu'"):
        read_bytecode(b"module {}")
    with pytest.raises(tfport.UnreadableFile, match="version 6 or older, found version 63"):
        read_bytecode(b"ML\xefR\x7f")


def test_properties_are_in_the_order_of_their_names():
    for names in PROPERTIES.values():
        assert names.split() == sorted(names.split())


def test_the_order_of_users_does_not_matter():
    names = [name for name, _ in read_all((MODULES / "use_orders.mlirbc").read_bytes())]
    assert {"sine", "while", "multiply", "add", "subtract"} <= set(names)

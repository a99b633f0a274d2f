"""Lowerings and kernels match the definitions of their ops: inputs in order, attributes by name."""

import inspect
import json
import keyword
from importlib import resources

import pytest

from tfport.atlas.known_ops import known_ops
from tfport.discovery import INDEX
from tfport.frontends.lite.definitions import LiteOpTable
from tfport.runtime.host import inferred_attrs
from tfport.runtime.lower import CONTEXT, KERNELS, LOWERINGS, SHAPES, STRUCTURES

BUILDER = "b"
OPS = LiteOpTable(known_ops())
DECLARED = {*LOWERINGS.all(), *KERNELS.all(), *STRUCTURES.all()}


def declared():
    for table, builder in ((LOWERINGS, 1), (KERNELS, 0)):
        for op, some in sorted(table.all().items()):
            for number, entry in enumerate(some):
                yield pytest.param(op, entry, builder, id=f"{op}-{'lower' if builder else 'host'}-{number}")


def test_every_op_that_is_declared_is_one_of_tensorflow_or_tensorflow_lite():
    assert [op for op in sorted(DECLARED) if OPS.get(op) is None] == []


def modules(catalog):
    """The modules that declare each op, below `runtime.ops`."""
    index = json.loads((resources.files("tfport") / INDEX).read_text())[catalog.kind]
    pairs = [(op, module.removeprefix("runtime.ops.")) for module, ops in index.items() for op in ops.split()]
    return {op: {module for name, module in pairs if name == op} for op, _ in pairs}


def test_a_lowering_is_in_the_file_of_its_kernel():
    """`ops/FAMILY/lowerings/TOPIC.py` beside `ops/FAMILY/kernels/TOPIC.py`."""
    kernels = modules(KERNELS)
    expected = {op: {m.replace(".kernels.", ".lowerings.") for m in kernels[op]} for op in kernels}
    declared_modules = {op: lowerings for op, lowerings in modules(LOWERINGS).items() if op in kernels}
    assert declared_modules == {op: expected[op] for op in declared_modules}


def test_kernels_lowerings_and_shapes_of_an_op_are_in_one_family():
    families = {}
    for catalog in (KERNELS, LOWERINGS, SHAPES):
        for op, declaring in modules(catalog).items():
            families.setdefault(op, set()).update(module.split(".")[0] for module in declaring)
    assert {op: some for op, some in families.items() if len(some) > 1} == {}


@pytest.mark.parametrize(("op", "entry", "skip"), list(declared()))
def test_it_takes_what_the_op_takes(op, entry, skip):
    signature = OPS.get(op)
    parameters = list(inspect.signature(entry.function).parameters.values())[skip:]
    if not any(p.kind is p.VAR_POSITIONAL for p in parameters):  # one function of a table for many ops
        positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        assert len(positional) == len(signature.inputs)
    named = entry.named
    assert named <= set(signature.attr_types), "an attribute that the op does not have"
    left_out = set(signature.attr_types) - named - inferred_attrs(signature)
    assert left_out == set(), "an attribute that the function does not name"
    assert set(entry.constraints) <= set(signature.attr_types)


@pytest.mark.parametrize(("op", "entry", "skip"), list(declared()))
def test_its_inputs_are_called_what_the_op_calls_them(op, entry, skip):
    """Except functions that serve several ops with different names."""
    functions = [d for table in (LOWERINGS, KERNELS) for some in table.all().values() for d in some]
    if sum(d.function is entry.function for d in functions) > 1 or entry.function.__closure__:
        return
    parameters = list(inspect.signature(entry.function).parameters.values())[skip:]
    names = [p.name for p in parameters if p.kind == p.POSITIONAL_OR_KEYWORD]
    expected = [arg.name for arg in OPS.get(op).inputs]
    taken = {BUILDER, CONTEXT, *keyword.kwlist}
    assert names == [f"{name}_" if name in taken and (skip or name != BUILDER) else name for name in expected]

"""A registry of several sources, whole or reduced."""

import pytest

from tfport.formats.proto.graph_pb2 import OpDef
from tfport.registry.kernels import Kernel
from tfport.registry.registry import OpRegistry, Selection


class SampleSource:
    """A source with these ops, each with a kernel on the CPU."""

    def __init__(self, name, *ops, kernels=()):
        self.name, self._ops, self._kernels = name, ops, kernels or ops

    def ops(self):
        return sorted(self._ops)

    def definition(self, op):
        return OpDef(name=op, summary=self.name) if op in self._ops else None

    def kernels(self, op):
        return [Kernel(op, "CPU", label=self.name)] if op in self._kernels else []


STOCK = SampleSource("stock", "MatMul", "Add")
ADDON = SampleSource("addon", "Tokenize", "Add", kernels=("Tokenize", "MatMul"))


def test_ops_of_all_sources_are_there_in_order():
    registry = OpRegistry("both", [STOCK, ADDON])
    assert list(registry) == ["Add", "MatMul", "Tokenize"]
    assert len(registry) == 3
    assert "Tokenize" in registry
    assert "Split" not in registry


def test_the_first_source_defines_an_op_that_several_have():
    registry = OpRegistry("both", [STOCK, ADDON])
    assert registry["Add"].summary == "stock"
    assert registry.provider("Tokenize") is ADDON


def test_kernels_come_from_every_source():
    kernels = OpRegistry("both", [STOCK, ADDON]).kernels("MatMul")
    assert [k.label for k in kernels] == ["stock", "addon"]


def test_a_selection_keeps_only_its_ops():
    registry = OpRegistry("small", [STOCK, ADDON], Selection(ops=frozenset({"Add"})))
    assert list(registry) == ["Add"]
    assert registry.kernels("MatMul") == []
    assert registry.provider("MatMul") is None
    with pytest.raises(KeyError):
        registry["MatMul"]


def test_something_that_is_not_a_name_is_not_in_it():
    assert 7 not in OpRegistry("stock", [STOCK])

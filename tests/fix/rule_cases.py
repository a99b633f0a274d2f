"""Cases for rules: a few lines of a graph, the rule for one of its nodes, and the feeds.

    CASES = [
        rule_case(as_add, "y = AddV2(x, x) {T=float32}", x=f32(1, 2)),
    ]

Each array becomes a placeholder with its dtype and its shape (an unknown one if `open` names the
array); an array named in `constants` becomes a Const. These tests run both graphs in tfport's runtime;
`tests/live/test_fix_rules.py` runs them in TensorFlow, where exact rules must give equal bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest
from tests.recorded_models import graph

import tfport
from tfport.atlas.resolve.targets import resolve_targets
from tfport.fix.engine import complete
from tfport.fix.facts import Facts
from tfport.fix.node_checker import NodeChecker
from tfport.fix.nodes.builder import RuleBuilder
from tfport.fix.nodes.replace import put_in_place, replacement_values
from tfport.fix.rule import EXACT, Rule
from tfport.formats.proto import graph_pb2 as pb
from tfport.graph.build import graph_to_def
from tfport.graph.building.node_builder import Refusal
from tfport.graph.dtypes import STRING, DType
from tfport.graph.graph import Node
from tfport.graph.model import Model
from tfport.graph.tensors import Tensor

RULE_TESTS = Path(__file__).parent / "rules"
NEWEST = "tensorflow==2.21.0"
PRODUCER = 2474


def case_modules() -> list[str]:
    """The test modules with cases for rules."""
    files = (file.relative_to(RULE_TESTS).with_suffix("") for file in RULE_TESTS.rglob("test_*.py"))
    return [".".join(("tests.fix.rules", *file.parts)) for file in sorted(files)]


@dataclass
class RuleCase:
    """One rule on one node, and the feeds of the graph."""

    rule: Rule
    text: str
    feeds: dict[str, Any]
    fetches: list[str]
    open: Sequence[str] = ()
    constants: Sequence[str] = ()
    rtol: float = 1e-6
    atol: float = 1e-6
    answers: str = "tensorflow"
    """What runs the original graph: `tfport` where TensorFlow has no CPU kernel for it."""
    target: str = NEWEST
    types: dict[str, str] = field(default_factory=dict)
    """Dtypes of inputs that differ from those of the arrays."""

    def __str__(self) -> str:
        return f"{self.rule.name}-{' '.join(self.text.split())[:60]}"

    def model(self) -> Model:
        """The original graph."""
        inputs = [self._input(name, np.asarray(array)) for name, array in self.feeds.items()]
        heads = [f"{node.name} = Placeholder() {{dtype={_dtype(node)}}}" for node in inputs]
        made = graph_to_def(graph("\n".join([*heads, dedent(self.text)])))
        made.versions.producer = PRODUCER
        for place, node in enumerate(inputs):
            made.node[place].CopyFrom(node)
        return tfport.load(made.SerializeToString())

    def _input(self, name: str, array: Any) -> pb.NodeDef:
        dtype = DType.parse(self.types[name]) if name in self.types else _type(array)
        if name in self.constants:
            node = pb.NodeDef(name=name, op="Const")
            node.attr["value"].tensor.CopyFrom(Tensor.from_numpy(array, dtype).to_proto())
        else:
            node = pb.NodeDef(name=name, op="Placeholder")
            sizes = [-1 if name in self.open else size for size in array.shape]
            node.attr["shape"].shape.SetInParent()
            for size in sizes:
                node.attr["shape"].shape.dim.add(size=size)
        node.attr["dtype"].type = dtype.number
        return node

    @property
    def fed(self) -> dict[str, Any]:
        return {f"{name}:0": array for name, array in self.feeds.items() if name not in self.constants}


def rule_case(rule: Rule, text: str, *, fetches: str | list[str] = "y:0", **feeds: Any) -> RuleCase:
    """A case; keywords that are not options are feeds."""
    names = ("open", "constants", "rtol", "atol", "answers", "target", "types")
    options = {k: feeds.pop(k) for k in names if k in feeds}
    wanted = [fetches] if isinstance(fetches, str) else fetches
    return RuleCase(rule, text, feeds, wanted, **options)


def _dtype(node: pb.NodeDef) -> DType:
    return DType.of(node.attr["dtype"].type)


def _type(array: Any) -> DType:
    return STRING if array.dtype.kind in "OS" else DType.parse(array.dtype.name)


def node_for(model: Model, rule: Rule) -> Node:
    """The last node to which a rule applies."""
    nodes = [*model.graph, *(n for f in model.graph.library.functions.values() for n in f)]
    matches = [node for node in nodes if node.op in rule.ops]
    return matches[-1] if matches else list(model.graph)[-1]


def apply(rule: Rule, model: Model, target: str = NEWEST) -> list[str]:
    """Apply a rule to its node and return the ops of the new nodes; a refusal leaves the graph unchanged."""
    node = node_for(model, rule)
    complete(node)
    facts, checker = Facts(model), NodeChecker(resolve_targets(target)[0], PRODUCER)
    builder = RuleBuilder(node, facts, checker)
    try:
        values = replacement_values(node, rule.make(builder, node))
    except Refusal:
        builder.undo()
        raise
    ops = [made.op for made in builder.added]
    put_in_place(node, values, builder.added, facts, named=node.graph is model.graph)
    return ops


def rewritten(c: RuleCase) -> Model:
    """The rewritten graph."""
    model = c.model()
    apply(c.rule, model, c.target)
    return tfport.load(graph_to_def(model.graph).SerializeToString())


def answers(model: Model, c: RuleCase) -> list[Any]:
    """The outputs in tfport's runtime."""
    return tfport.Session(model).run(c.fetches, c.fed)


def check(c: RuleCase) -> None:
    """Compare the outputs of both graphs in tfport's runtime."""
    before, after = answers(c.model(), c), answers(rewritten(c), c)
    for ours, theirs in zip(after, before, strict=True):
        assert_alike(ours, theirs, c, exact=False)


def assert_alike(ours: Any, theirs: Any, c: RuleCase, *, exact: bool) -> None:
    """Compare dtype, shape and elements; floats within the tolerance of the case, or exactly."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    if ours.dtype.kind not in "fcV":
        assert ours.tolist() == theirs.tolist()
    elif exact and c.rule.keeps is EXACT:
        same = (ours == theirs) | ((ours != ours) & (theirs != theirs))
        assert same.all(), f"{ours[~same][:5]} for {theirs[~same][:5]}"
    else:
        kind = np.complex128 if ours.dtype.kind == "c" else np.float64
        np.testing.assert_allclose(ours.astype(kind), theirs.astype(kind), rtol=c.rtol, atol=c.atol)


def assert_refuses(rule: Rule, text: str, *, because: str, **options: Any) -> None:
    """Check that a rule refuses a node for this reason and adds no nodes."""
    c = rule_case(rule, text, fetches=[], **options)
    model = c.model()
    names = list(model.graph.nodes)
    with pytest.raises(Refusal) as refused:
        apply(rule, model, c.target)
    assert because in refused.value.why
    assert list(model.graph.nodes) == names

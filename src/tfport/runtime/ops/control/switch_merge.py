"""TF1 control flow: loops and branches recognized among Switch, Merge, Enter, Exit and NextIteration.

A loop is all nodes of one frame: Enter nodes, a condition, loop variables and Exit nodes. A branch
is all merges of one condition. `Structures` finds both among the required nodes. The graph walk then
visits each as one unit, in place of the nodes whose outputs leave it (Exit, Merge); the nodes inside
are visited when the unit is traced.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from tfport.errors import MalformedGraph, RunFailed
from tfport.graph.attrs import Attr
from tfport.graph.dtypes import INT32
from tfport.graph.graph import Node, Value
from tfport.graph.op_facts.kinds import ALL_SWITCHES, ENTERS, EXITS, MERGES, NEXTS, SWITCHES
from tfport.runtime.failures import UnsupportedNode
from tfport.runtime.lower import control_units, structure
from tfport.runtime.operand import Operand
from tfport.runtime.ops.control.branches import choose
from tfport.runtime.ops.control.conditions import Conditions, Literal
from tfport.runtime.ops.control.functional import is_only_stacked
from tfport.runtime.ops.control.loop_body import Loop
from tfport.runtime.ops.control.loops import trace_loop
from tfport.runtime.ops.control.structure_steps import as_predicate, emit
from tfport.runtime.order import ControlUnit, is_ordered
from tfport.runtime.passes.pass_list import run_graph_passes
from tfport.runtime.passes.programs.repeated_parts import SUPPRESSIONS
from tfport.runtime.trace import Tracer
from tfport.startup.dataclass import dataclass, field

Env = dict[Value, Operand]


@dataclass(frozen=True)
class Structures:
    """The branches and loops among some nodes."""

    units: Mapping[Node, ControlUnit]
    """For each node whose output leaves a structure: that structure."""
    conditions: Conditions

    @classmethod
    def of(cls, nodes: set[Node]) -> Structures:
        loops: dict[Node, ControlUnit] = {}
        frames: dict[str, LoopFrame] = {}
        for node in nodes:
            if node.op in ENTERS:
                name = str(node.attrs.get("frame_name"))
                frames.setdefault(name, LoopFrame(name)).enters.append(node)
        for frame in frames.values():
            frame.complete(nodes)
            loops.update(dict.fromkeys(frame.exits, frame))
        loop_merges = {merge for frame in frames.values() for merge in frame.merges}
        exits = {exit_: f.enters for f in frames.values() for exit_ in f.exits}
        conditions = Conditions(nodes, exits, loop_merges)
        merges = [node for node in nodes if node.op in MERGES and node not in loop_merges]
        decided = {
            node: literal.condition
            for node in sorted(merges, key=lambda node: node.name)
            if (literal := conditions.decided_by(node))
        }
        units = {**loops, **_branches(decided, conditions, loops, separate=False)}
        if not is_ordered(decided, units):
            # another branch lies between branches of one condition: they stay separate
            units = {**loops, **_branches(decided, conditions, loops, separate=True)}
        return cls(units, conditions)

    def is_conditional(self, node: Node) -> bool:
        return bool(self.conditions.of(node))


@control_units(" ".join((*ALL_SWITCHES, *ENTERS, *sorted(SUPPRESSIONS))))
def units_to_trace(nodes: set[Node], fetched: Collection[Node]) -> Structures:
    """The branches and loops among some nodes, and loops over repeated parts; some nodes are fetched."""
    plain = Structures.of(nodes)
    units = run_graph_passes(nodes, fetched, plain.conditions)
    return Structures({**plain.units, **units}, plain.conditions)


def _branches(
    decided: Mapping[Node, Value],
    conditions: Conditions,
    loops: Mapping[Node, ControlUnit],
    *,
    separate: bool,
) -> dict[Node, ControlUnit]:
    """Group the merges of one condition that do not depend on each other into one branch."""
    groups: dict[tuple[Value, int], Branch] = {}
    for merge, condition in decided.items():
        key = (condition, conditions.level(merge, None if separate else condition))
        groups.setdefault(key, Branch(merge.name, condition, conditions)).merges.append(merge)
    branches: dict[Node, ControlUnit] = {
        merge: branch for branch in groups.values() for merge in branch.merges
    }
    # inner branches first: outer branches also read their inputs
    for branch in sorted(groups.values(), key=lambda b: -len(conditions.of(b.merges[0]))):
        branch.complete({**loops, **branches})
    return branches


@dataclass(eq=False)
class LoopFrame:
    """One loop: a variable passes Enter, Merge and Switch, then Exit or NextIteration."""

    name: str
    enters: list[Node] = field(default_factory=list)
    merges: list[Node] = field(default_factory=list)
    """One per variable, in the order of `starts`, `nexts` and `switches`."""
    starts: list[Node] = field(default_factory=list)
    nexts: list[Node] = field(default_factory=list)
    switches: list[list[Node]] = field(default_factory=list)
    exits: list[Node] = field(default_factory=list)
    condition: Value | None = None

    def complete(self, nodes: Collection[Node]) -> None:
        """Find the other parts from the Enter nodes, among the required nodes."""
        self.enters.sort(key=lambda node: node.name)
        for enter in self.enters:
            for merge in (user for user in enter.output(0).uses if user.op in MERGES and user in nodes):
                others = [v.node for v in merge.inputs if v.node is not enter]
                if len(others) == 1 and others[0].op in NEXTS:
                    self.merges.append(merge)
                    self.starts.append(enter)
                    self.nexts.append(others[0])
                    self.switches.append(
                        [u for u in merge.output(0).uses if u in nodes and self._is_loop_switch(u)]
                    )
        for switch in (s for several in self.switches for s in several):
            self.condition = switch.inputs[1].node.inputs[0]
            self.exits += [exit_ for exit_ in _exits(switch) if exit_ in nodes]
        if self.condition is None and self.merges:
            raise MalformedGraph(f"loop `{self.name}` has no condition")

    def _is_loop_switch(self, node: Node) -> bool:
        return node.op in SWITCHES and node.inputs[1].node.op == "LoopCond"

    @property
    def inputs(self) -> Iterable[Value]:
        return [value for enter in self.enters for value in enter.inputs]

    @property
    def controls(self) -> Iterable[Node]:
        return [node for enter in self.enters for node in enter.controls]

    def trace(self, tracer: Tracer, env: Env, bindings: Mapping[str, Attr]) -> None:
        entered = {
            enter.output(0): _value(tracer, env, enter.inputs[0], bindings)
            for enter in self.enters
            if enter not in self.starts
        }
        initial = [_value(tracer, env, start.inputs[0], bindings) for start in self.starts]
        assert self.condition is not None
        condition, ends = self.condition, [following.inputs[0] for following in self.nexts]

        def local(values: list[Operand]) -> Env:
            inner = dict(entered)
            for merge, start, switches, value in zip(
                self.merges, self.starts, self.switches, values, strict=True
            ):
                inner[merge.output(0)] = inner[start.output(0)] = value
                for switch in switches:
                    inner[switch.output(0)] = inner[switch.output(1)] = value
            return inner

        def decide(values: list[Operand]) -> Operand:
            inner = local(values)
            tracer.region([condition.node], inner, bindings)
            return inner[condition]

        def iterate(values: list[Operand]) -> list[Operand]:
            inner = local(values)
            controls = [node for following in self.nexts for node in following.controls]
            tracer.region([*(end.node for end in ends if end not in inner), *controls], inner, bindings)
            return [_value(tracer, inner, end, bindings) for end in ends]

        ranks = [merge.output_shape(0).rank if tracer.recorded_ranks else None for merge in self.merges]
        left = [[exit_ for switch in several for exit_ in _exits(switch)] for several in self.switches]
        stackable = [all(is_only_stacked(exit_.output(0)) for exit_ in exits) for exits in left]
        results = trace_loop(tracer, Loop(self.name, "While", initial, decide, iterate, ranks, stackable))
        for exits, result in zip(left, results, strict=True):
            env.update((exit_.output(0), result) for exit_ in exits)


def _exits(switch: Node) -> list[Node]:
    return [user for user in switch.output(0).uses if user.op in EXITS]


def _value(tracer: Tracer, env: Env, value: Value, bindings: Mapping[str, Attr]) -> Operand:
    """The operand of a value; a TF1 variable is read when it enters a structure."""
    (operand,) = tracer.values(value, env, bindings)
    if operand.dtype.is_ref and not _is_table(value):
        return tracer.read_variable(operand, value.node.name, operand.dtype.base)
    return operand


def _is_table(value: Value) -> bool:
    """Whether a reference is a TF1 table handle, which is passed on unchanged."""
    return "HashTable" in value.source((*ENTERS, "RefSwitch", "RefIdentity")).node.op


@dataclass(eq=False)
class Branch:
    """All merges that one condition decides, and the nodes that run on each side."""

    name: str
    condition: Value
    conditions: Conditions
    merges: list[Node] = field(default_factory=list)
    sides: dict[bool, set[Node]] = field(default_factory=dict)
    inputs: list[Value] = field(default_factory=list)
    controls: list[Node] = field(default_factory=list)

    def complete(self, units: Mapping[Node, ControlUnit]) -> None:
        """Find the nodes of each side, and the outer values that they read."""
        outside: dict[Value, None] = {self.condition: None}
        controls: dict[Node, None] = {}
        for side in (True, False):
            inside = self.sides[side] = set()
            roots = [value.node for merge in self.merges for value in self._taken(merge, side)]
            for value in (value for merge in self.merges for value in self._taken(merge, side)):
                if not self._runs(value.node, side):
                    outside[value] = None
            for unit in self._units(roots, side, units):
                inside.update([unit] if isinstance(unit, Node) else _ends(unit))
                outside.update((v, None) for v in unit.inputs if not self._runs(v.node, side))
                controls.update((c, None) for c in unit.controls if not self._runs(c, side))
        for merge in self.merges:
            controls.update(dict.fromkeys(merge.controls))
        self.inputs, self.controls = list(outside), list(controls)

    def _runs(self, node: Node, side: bool) -> bool:
        return Literal(self.condition, side) in self.conditions.of(node)

    def _taken(self, merge: Node, side: bool) -> Iterator[Value]:
        """The inputs of a merge that are live on one side."""
        for value in merge.inputs:
            if Literal(self.condition, side) in self.conditions.of_value(value):
                yield value

    def _units(self, roots: list[Node], side: bool, units: Mapping[Node, ControlUnit]) -> Iterator[Any]:
        seen: set[Any] = set()
        stack = list(roots)
        while stack:
            node = stack.pop()
            if not self._runs(node, side) or (unit := units.get(node, node)) in seen:
                continue
            seen.add(unit)
            yield unit
            stack += [value.node for value in unit.inputs]
            stack += list(unit.controls)

    def trace(self, tracer: Tracer, env: Env, bindings: Mapping[str, Attr]) -> None:
        def trace_side(side: bool) -> list[Operand]:
            inner = dict(env)
            taken = [next(self._taken(merge, side)) for merge in self.merges]
            tracer.region([v.node for v in taken if v not in inner], inner, bindings, inside=self.sides[side])
            indices = [merge.inputs.index(v) for merge, v in zip(self.merges, taken, strict=True)]
            return [
                *(_value(tracer, inner, v, bindings) for v in taken),
                *(Operand(INT32, value=np.array(index, np.int32)) for index in indices),
            ]

        condition = as_predicate(tracer, self.name, _value(tracer, env, self.condition, bindings))
        results = choose(
            tracer, self.name, "If", condition, lambda: trace_side(True), lambda: trace_side(False)
        )
        for i, merge in enumerate(self.merges):
            env[merge.output(0)] = results[i]
            env[merge.output(1)] = results[len(self.merges) + i]


def _ends(unit: LoopFrame | Branch) -> list[Node]:
    return unit.exits if isinstance(unit, LoopFrame) else unit.merges


@structure("Switch RefSwitch")
def switch(tracer: Tracer, node: Node, inputs: list[Operand], attrs: dict[str, Attr]) -> list[Operand]:
    """Pass the input to both outputs: only the nodes of a selected side are traced."""
    return [inputs[0], inputs[0]]


@structure("Merge RefMerge")
def merge(tracer: Tracer, node: Node, inputs: list[Operand], attrs: dict[str, Attr]) -> list[Operand]:
    """Pass on a single input; a merge of several inputs is unsupported unless a condition decides it."""
    if len(inputs) != 1:
        tracer.unsupported.append(UnsupportedNode(node, "no condition decides which input it passes on"))
    return [inputs[0], Operand(INT32, value=np.array(0, np.int32))]


@structure("RefSelect")
def select(tracer: Tracer, node: Node, inputs: list[Operand], attrs: dict[str, Attr]) -> list[Operand]:
    def run(index: Any, *variables: Any) -> Any:
        if not 0 <= int(index) < len(variables):
            raise RunFailed(f"index {int(index)} is out of range for {len(variables)} inputs")
        return variables[int(index)]

    return [emit(tracer, node.name, node.op, inputs, run, (inputs[1].dtype, None))]


@structure("ControlTrigger")
def trigger(tracer: Tracer, node: Node, inputs: list[Operand], attrs: dict[str, Attr]) -> list[Operand]:
    """A trigger runs even if its control inputs do not; only gradients need this."""
    control = tracer.control_units([node])
    if control is not None and any(control.is_conditional(before) for before in node.controls):
        tracer.unsupported.append(UnsupportedNode(node, "it has a control input that runs under a condition"))
    return []


@structure("Enter RefEnter Exit RefExit NextIteration RefNextIteration RefIdentity")
def pass_through(tracer: Tracer, node: Node, inputs: list[Operand], attrs: dict[str, Attr]) -> list[Operand]:
    return inputs

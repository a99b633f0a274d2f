"""Avoid what a release registers, but handles wrongly: `check.release_quirks` says which releases do.

- TensorFlow 1.4 removes transpositions that cancel each other, also if they become neighbors by other
  optimizations, and turns the control inputs of nodes that wait for them into data inputs
  (`check.findings.optimizer`). An Identity that something waits for stays.
- CTCBeamSearchDecoder of some releases subtracts only the largest logit of each step. What is missing is, for
  each sequence, the sum over its steps of log(sum(exp(logits - largest))). The graph subtracts it only if
  decoding a constant shows that the release does not normalize: so it gives the same answer in every release.
- A loop that ends early leaves elements of a TensorArray unwritten: `dynamic_rnn` of later releases stops
  after the longest sequence. Stacking them gives zeros, but fails until TensorFlow 1.4, and TensorFlow.js
  leaves them out. So the written elements are stacked and zeros appended, if the index is the loop's counter:
  0, 1, … in each iteration.
- The optimizer of TensorFlow 1.9 to 1.12 aborts if a slice in a function does not state attributes that have
  their default values (`check.findings.optimizer`). 1.12 aborts when it lowers a loop in a function that a
  PartitionedCall runs (`check.findings.functions`).
- The optimizer of 1.11 to 1.13 aborts on a branch in the condition of a loop, if its predicate compares
  another loop variable with a constant (`confuses_loop_variables`). It does not see what is compared behind
  a LogicalOr.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from tfport.check.findings.functions import loops_lowered_in_calls
from tfport.check.findings.optimizer import unstated_default
from tfport.check.log_probabilities import DECODER, PROBED_SHAPE, uncorrected
from tfport.check.node_contexts import LOWER
from tfport.check.release_quirks import (
    aborts_lowering_loops,
    confuses_loop_variables,
    misreads_control_inputs,
    normalizes_log_probabilities,
    optimizes_functions_as_written,
    reads_unwritten_as_zeros,
)
from tfport.fix.facts import Facts
from tfport.fix.journal import Journal
from tfport.fix.node_checker import NodeChecker
from tfport.fix.nodes.builder import RuleBuilder
from tfport.fix.nodes.replace import put_in_place
from tfport.fix.rule import ROUNDING
from tfport.fix.structure.function_bodies import Site
from tfport.graph.attrs import Attr, decode
from tfport.graph.constants import constant
from tfport.graph.dtypes import INT32, STRING
from tfport.graph.graph import Graph, Node, Value
from tfport.graph.op_facts.kinds import ALL_SWITCHES, ENTERS, EXITS, MERGES, NEXTS
from tfport.graph.reach import every_node

COMPARISONS = frozenset(("Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual"))


def adapt_to_release(
    graph: Graph, checker: NodeChecker, facts: Facts, journal: Journal, tensors: Collection[str]
) -> None:
    """Change the graph so that old sessions run it as new ones do; `tensors` keep their names."""
    target = checker.target
    if not normalizes_log_probabilities(target):
        says = "What log probabilities of decoded paths are too large by on the target is subtracted there."
        changed = normalize_log_probabilities(graph, checker, facts, tensors)
        journal.changed("normalized log probabilities", says, changed, ROUNDING)
    if not reads_unwritten_as_zeros(target):
        says = "Only the elements of an array that a loop wrote are stacked, followed by zeros."
        journal.changed("zeros for unwritten elements", says, append_unwritten(graph))
    if misreads_control_inputs(target):
        says = "Nodes wait for transpositions through an Identity, which the target does not remove."
        journal.changed("waiting apart", says, wait_through_identities(graph))
    if confuses_loop_variables(target):
        says = "Branches in conditions of loops do not show the optimizer what their predicate compares."
        journal.changed("hidden comparisons", says, hide_comparisons(graph))
    if aborts_lowering_loops(target):
        says = "Loops in functions call their functions; the target aborts when it lowers them there."
        journal.changed("loops as they are", says, keep_loops(graph))
    if optimizes_functions_as_written(target):
        says = "Slices in functions state the default attributes that the target's optimizer reads."
        journal.changed("stated defaults", says, state_defaults(graph, checker))


# Waiting for transpositions.


def wait_through_identities(graph: Graph) -> list[tuple[str, str]]:
    """Insert the Identity nodes; returns the nodes that wait for them, with their ops."""
    changed = []
    for node in [node for node in graph if node.op == "Transpose"]:
        if waiting := [user for user in node.users if node in user.controls]:
            passed = _identity(node)
            for user in waiting:
                user.set_controls([passed if control is node else control for control in user.controls])
                changed.append((user.name, user.op))
    return changed


def _identity(node: Node) -> Node:
    value = node.output(0)
    attrs = {"T": value.dtype.base}
    return node.graph.add("Identity", [value], attrs, name=f"{node.name}/done", device=node.device)


# Branches in the conditions of loops.


def hide_comparisons(graph: Graph) -> list[tuple[str, str]]:
    """Compute predicates of branches that read loop variables by LogicalOr; returns the Switch nodes."""
    switches = [node for node in graph if node.op == "Switch"]
    predicates = dict.fromkeys(
        node.inputs[1]
        for node in switches
        if node.inputs[0].node.op in MERGES and node.inputs[1].source().node.op in COMPARISONS
    )
    changed = []
    for predicate in predicates:
        name = f"{predicate.node.name}/hidden"
        hidden = graph.add("LogicalOr", [predicate, predicate], {}, name=name, device=predicate.node.device)
        for node in switches:
            if node.inputs[1] is predicate:
                node.set_inputs([node.inputs[0], hidden.output(0)])
                changed.append((node.name, node.op))
    return changed


# Functions that old sessions break.


def keep_loops(graph: Graph) -> list[tuple[str, str]]:
    """Do not ask to lower loops in functions that a PartitionedCall runs; returns the loops."""
    loops = loops_lowered_in_calls(graph)
    for node in loops:
        del node.attrs[LOWER]
    return [(node.name, node.op) for node in loops]


def state_defaults(graph: Graph, checker: NodeChecker) -> list[tuple[str, str]]:
    """State the defaults of nodes whose absent attributes the optimizer reads; returns the nodes."""
    changed = []
    for function in graph.library.functions.values():
        for node in function:
            definition = checker.definition(node.op) if unstated_default(node) is not None else None
            if definition is not None:
                absent = [a for a in definition.attr if a.name not in node.attrs]
                node.attrs.update(
                    {a.name: decode(a.default_value) for a in absent if a.HasField("default_value")}
                )
                changed.append((node.name, node.op))
    return changed


# Log probabilities of CTCBeamSearchDecoder.

LIKELY = -0.5
"""Above log(1/2), the log probability of one of two equal classes; below 0, which is not normalized."""


def normalize_log_probabilities(
    graph: Graph, checker: NodeChecker, facts: Facts, tensors: Collection[str]
) -> list[tuple[str, str]]:
    """Correct decoders whose log probability is read or among `tensors`, which keep their names.

    Returns the decoders.
    """
    changed, names = [], {tensor.partition(":")[0] for tensor in tensors}
    for node in list(every_node(graph)):
        value, is_main = uncorrected(node), node.graph is graph
        if value is None or not (value.uses or (is_main and value.name in tensors)):
            continue
        changed.append((node.name, node.op))
        op = RuleBuilder(node, facts, checker)
        decoded = op.node(DECODER, *node.inputs, **node.attrs)
        *paths, log_probability = decoded.outputs
        corrected = op.Sub(log_probability, _missing(op, *node.inputs)).output(0)
        put_in_place(node, [*paths, corrected], op.added, facts, named=is_main and node.name in names)
    return changed


def _missing(op: RuleBuilder, logits: Value, lengths: Value) -> Node:
    """What the log probabilities of each sequence are too large by in this release: a column."""
    shifted = op.Sub(logits, op.Max(logits, 2, keep_dims=True))
    steps = op.Log(op.Sum(op.Exp(shifted), 2))
    times = op.Range(0, op.StridedSlice(op.Shape(logits), [0], [1], [1], shrink_axis_mask=1), 1)
    is_step = op.Less(op.ExpandDims(times, 1), op.ExpandDims(lengths, 0))
    is_missing = op.LogicalAnd(_is_not_normalized(op), is_step)
    return op.ExpandDims(op.Sum(op.Select(is_missing, steps, op.ZerosLike(steps)), 0), 1)


def _is_not_normalized(op: RuleBuilder) -> Node:
    """Whether the release that runs the graph does not normalize: a matrix of one element."""
    logits = op.const(np.zeros(PROBED_SHAPE, np.float32))
    probe = op.node(DECODER, logits, op.const([1]), beam_width=1, top_paths=1)
    return op.Greater(probe.outputs[-1], op.const(LIKELY))


# Elements of a TensorArray that a loop did not write.

ADDS = ("Add", "AddV2")


def append_unwritten(graph: Graph) -> list[tuple[str, str]]:
    """Change each node that stacks all elements after a loop; returns the nodes."""
    changed = []
    for node in [node for node in graph if node.op == "TensorArrayGatherV3"]:
        if (size := _stacked_size(node)) is not None and (counter := _counter_of(node)) is not None:
            changed.append((node.name, node.op))
            _append_zeros(node, size, counter)
    return changed


def _stacked_size(node: Node) -> Value | None:
    """The number of elements of the array, if all are stacked in order."""
    indices = node.inputs[1].node
    if indices.op != "Range" or _number(indices.inputs[0]) != 0 or _number(indices.inputs[2]) != 1:
        return None
    size = indices.inputs[1]
    is_own = size.node.op == "TensorArraySizeV3" and size.node.inputs[0] is node.inputs[0]
    if not is_own or size.dtype != INT32:
        return None
    array = node.inputs[0].node
    is_fixed = array.op == "TensorArrayV3" and not array.attrs.get("dynamic_size", False)
    return array.inputs[0] if is_fixed else size  # for TensorFlow.js the size is what was written


def _counter_of(node: Node) -> Node | None:
    """The Switch of the counter by which the loop before writes the array; None if it is not known."""
    merge = _carried(node.inputs[2].source(), EXITS)
    if merge is None or (write := _written(merge)) is None:
        return None
    index = write.inputs[1].source()
    counter = _carried_in(index)
    return index.node if counter is not None and _counts_up(counter, index) else None


def _written(merge: Node) -> Node | None:
    """The only node that changes an array in a loop, once in each iteration."""
    following = merge.inputs[1].node
    write = following.inputs[0].source().node if following.op in NEXTS else following
    if write.op != "TensorArrayWriteV3":
        return None
    return write if _carried_in(write.inputs[3].source()) is merge else None


def _counts_up(merge: Node, index: Value) -> bool:
    """Whether a state of a loop is 0 at first, and increases by 1."""
    first, following = (value.node for value in merge.inputs)
    if first.op not in ENTERS or following.op not in NEXTS or _number(first.inputs[0]) != 0:
        return False
    added = following.inputs[0].source().node
    if added.op not in ADDS:
        return False
    before, step = (value.source() for value in added.inputs)
    return before is index and _number(step) == 1


def _carried(value: Value, ops: tuple[str, ...]) -> Node | None:
    """The Merge of the state that leaves a loop."""
    switch = value.node.inputs[0].node if value.node.op in ops else None
    return _merge_before(switch) if switch is not None else None


def _carried_in(value: Value) -> Node | None:
    """The Merge of the state that an iteration starts with."""
    return _merge_before(value.node) if value.index == 1 else None


def _merge_before(switch: Node) -> Node | None:
    merge = switch.inputs[0].node if switch.op in ALL_SWITCHES else None
    return merge if merge is not None and merge.op in MERGES and len(merge.inputs) == 2 else None


def _number(value: Value) -> int | None:
    """The number that a value is known to be, in a loop too."""
    source = value.source()
    if source.node.op in ENTERS and source.node.inputs:
        source = source.node.inputs[0].source()
    known = constant(source)
    return int(known.numpy()) if known is not None and known.shape.rank == 0 else None


def _append_zeros(node: Node, size: Value, switch: Node) -> None:
    """Stack the written elements, followed by zeros; the node keeps its name."""
    site, (handle, _, flow), dtype = Site.of(node), node.inputs, node.output(0).dtype.base
    count = site.add("Exit", [switch.output(0)], {"T": INT32}, name="written")
    zero, step = (site.constant(n, INT32, count, "number") for n in (0, 1))
    indices = site.add("Range", [zero, count.output(0), step], {"Tidx": INT32}, name="places").output(0)
    stack = site.add(
        node.op, [handle, indices, flow], dict(node.attrs), name="stacked", controls=node.controls
    )
    left = site.add("Sub", [size, count.output(0)], {"T": INT32}, name="left").output(0)
    shape = _with_rows(site, stack.output(0), left, zero, count)
    element = site.constant(b"" if dtype == STRING else 0, dtype, count, "zero")
    zeros = site.add("Fill", [shape, element], {"T": dtype}, name="zeros").output(0)
    node.become("ConcatV2", {"T": dtype, "N": 2, "Tidx": INT32})
    node.set_inputs([stack.output(0), zeros, zero])


def _with_rows(site: Site, like: Value, rows: Value, zero: Value, near: Node) -> Value:
    """The shape of a value, with another number of rows."""
    attrs: dict[str, Attr] = {"T": like.dtype.base, "out_type": INT32}
    shape = site.add("Shape", [like], attrs, name="shape").output(0)
    ends = [site.constant([at], INT32, near, "at") for at in (1, 0, 1)]
    attrs = {"T": INT32, "Index": INT32, "end_mask": 1}
    element = site.add("StridedSlice", [shape, *ends], attrs, name="element").output(0)
    first = site.add("ExpandDims", [rows, zero], {"T": INT32, "Tdim": INT32}, name="rows").output(0)
    attrs = {"T": INT32, "N": 2, "Tidx": INT32}
    return site.add("ConcatV2", [first, element, zero], attrs, name="dims").output(0)

"""Which positions at both ends of an island's tensors nothing reads, because of crops that follow.

A crop is a Slice that leaves out known numbers of positions at the begin and the end of an axis. The layers
before it need not compute these, nor what only these depend on: the margins of a convolution's input are
those of its output without what its windows reach beyond.

Of an axis of unknown size, all crops that are used leave nothing at the same sizes. So an island that crops
has one question to ask about a size: whether its crops leave anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from tfport.graph.dtypes import INT64
from tfport.runtime.onnx.graph import captured_by
from tfport.runtime.operand import Operand
from tfport.runtime.passes.islands.crop_axes import (
    Base,
    Lengths,
    ReadWindow,
    followed_axes,
    sliced_axes,
    window_of,
)
from tfport.runtime.program import OnnxNode
from tfport.startup.dataclass import dataclass, field

Margins = dict[int, tuple[int, int]]
"""For axes, how many positions at the begin and at the end are not read."""
LEAST_CROP = 64
"""Positions that a crop of an unknown size must leave out: of long sequences, fewer may not be worth it."""
_TO_THE_END = 2**31 - 1
"""Ends of slices that are at least so large mean the end of an axis."""


@dataclass
class UnreadMargins:
    """The crops of an island, and what nothing reads because of them."""

    lengths: Lengths
    crops: dict[OnnxNode, Margins] = field(default_factory=dict)
    """What each Slice leaves out."""
    least: dict[Base, int] = field(default_factory=dict)
    """The least size at which the crops of an axis leave something."""
    cuts: dict[Operand, Margins] = field(default_factory=dict)
    """Of what nodes compute, the margins that need not be computed."""


def unread_margins(nodes: Sequence[OnnxNode], wanted: Iterable[Operand]) -> UnreadMargins:
    """The margins that nothing reads of what these nodes compute; `wanted` are the outputs of the island."""
    unread = UnreadMargins(Lengths(nodes))
    _find_crops(nodes, unread)
    if unread.crops:
        _find_cuts(nodes, wanted, unread)
    return unread


def needs_of(node: OnnxNode, cut: Margins) -> dict[int, Margins]:
    """For each input, the margins that a node does not read if its output lacks margins."""
    needs: dict[int, Margins] = {}
    for axis, margin in cut.items():
        for followed in followed_axes(node, axis):
            needs.setdefault(followed.input, {})[followed.axis] = _read_by(window_of(node, axis), margin)
    return needs


def cut_window(window: ReadWindow, margin: tuple[int, int]) -> ReadWindow:
    """A window with the padding that is left where margins of the output are not computed."""
    return ReadWindow(max(0, window.before - margin[0]), max(0, window.after - margin[1]), window.extent)


def _read_by(window: ReadWindow, margin: tuple[int, int]) -> tuple[int, int]:
    return max(0, margin[0] - window.before), max(0, margin[1] - window.after)


def _find_crops(nodes: Sequence[OnnxNode], unread: UnreadMargins) -> None:
    for node in nodes:
        crop = _crop_of(node)
        if crop:
            unread.crops[node] = crop
    leasts: dict[tuple[OnnxNode, int], int] = {}
    for node, crop in unread.crops.items():
        for axis, margin in crop.items():
            base, offset = unread.lengths.of(_cropped(node), axis)
            if base is not None:
                leasts[node, axis] = least = sum(margin) + 1 - offset
                unread.least[base] = max(least, unread.least.get(base, least))
    for (node, axis), least in leasts.items():
        base = unread.lengths.of(_cropped(node), axis).base
        assert base is not None
        if least < unread.least[base]:
            del unread.crops[node][axis]


def _find_cuts(nodes: Sequence[OnnxNode], wanted: Iterable[Operand], unread: UnreadMargins) -> None:
    margins: dict[Operand, Margins] = {operand: {} for operand in wanted}
    for node in reversed(nodes):
        cut: Margins = {}
        if len(node.outputs) == 1:
            known = margins.get(node.outputs[0], {})
            cut = {a: m for a, m in known.items() if any(m) and unread.lengths.followed(node, a)}
            if cut:
                unread.cuts[node.outputs[0]] = cut
        needs = needs_of(node, cut)
        if node in unread.crops:
            needs[0] = {**needs.get(0, {}), **unread.crops[node]}
        for i, operand in enumerate(node.inputs):
            if operand is not None:
                _meet(margins, operand, needs.get(i, {}))
        for operand in captured_by(node):
            _meet(margins, operand, {})


def _meet(margins: dict[Operand, Margins], operand: Operand, needs: Mapping[int, tuple[int, int]]) -> None:
    """Leave of an operand's margins what one more reader does not read."""
    before = margins.get(operand)
    if before is None:
        margins[operand] = dict(needs)
        return
    both = before.keys() & needs.keys()
    margins[operand] = {a: (min(before[a][0], needs[a][0]), min(before[a][1], needs[a][1])) for a in both}


def _cropped(node: OnnxNode) -> Operand:
    x = node.inputs[0]
    assert x is not None
    return x


def _crop_of(node: OnnxNode) -> Margins:
    """What a Slice leaves out at both ends of its axes; not of axes of which that is unknown."""
    if node.op != "Slice" or node.domain or len(node.inputs) < 4:
        return {}
    x, axes = node.inputs[0], sliced_axes(node, node.outputs[0].rank)
    if x is None or x.shape is None or axes is None:
        return {}
    each_step = Operand(INT64, value=np.ones(len(axes), np.int64))
    bounds = [*node.inputs[1:3], node.inputs[4] if len(node.inputs) > 4 else each_step]
    rows = [o.array.reshape(-1).tolist() for o in bounds if o is not None and o.array is not None]
    if len(rows) < len(bounds):
        return {}
    crop = {}
    for axis, start, end, step in zip(axes, *rows, strict=True):
        margin = _margin(start, end, x.shape[axis]) if step == 1 else None
        if margin is not None and any(margin):
            crop[axis] = margin
    return crop


def _margin(start: int, end: int, size: int | None) -> tuple[int, int] | None:
    """What is left out before the start and after the end; None if it is not known, or everything."""
    if size is not None:
        start, end, _ = slice(start, end).indices(size)
        return (start, size - end) if start < end else None
    if start < 0 or 0 <= end < _TO_THE_END:
        return None
    margin = start, -end if end < 0 else 0
    return margin if sum(margin) >= LEAST_CROP else None

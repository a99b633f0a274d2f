"""Convert a flat model to the form of a TensorFlow.js graph model.

A loop that reads variables can be frozen only as part of the graph. What a model runs at load, besides
filling tables, is about variables, which become constants. Axes are counted from the start, a condition
for each row gets the other axes, since TensorFlow.js broadcasts it from the last, and some slices and pools
become others, which it answers as TensorFlow does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tfport.atlas.tfjs.releases import TfjsSource
from tfport.check.tfjs import (
    AXES,
    BATCHED,
    FINDS,
    SELECT,
    has_negative_axis,
    has_refused_window,
    has_unlike_batches,
    is_by_rows,
    is_window_of_one,
)
from tfport.fix.facts import Facts
from tfport.fix.journal import Journal
from tfport.fix.signature_sizes import PLACEHOLDERS
from tfport.fix.structure.function_bodies import Site
from tfport.fix.structure.lower import lower_all
from tfport.fix.structure.signature_outputs import bypass_op
from tfport.graph.attrs import Attr
from tfport.graph.dtypes import BOOL, FLOAT32, INT32, RESOURCE, DType
from tfport.graph.graph import Node, Value
from tfport.graph.model import MAIN_OP, Model
from tfport.graph.op_facts.kinds import ENTERS, FUNCTIONAL
from tfport.graph.reach import needed_by

if TYPE_CHECKING:
    from numpy.typing import NDArray

LOWEST, BYTE = {DType.parse("int8"): -128, DType.parse("uint8"): 0}, 256
FILLS = (
    "InitializeTable",
    "InitializeTableV2",
    "InitializeTableFromTextFile",
    "InitializeTableFromTextFileV2",
    "LookupTableImport",
    "LookupTableImportV2",
)


def to_one_graph(model: Model, journal: Journal) -> None:
    """Lower branches and loops; at load, only tables are filled."""
    lowered = [(node.name, node.op) for node in model.graph if node.op in FUNCTIONAL]
    if lower_all(model.graph):
        says = "Branches and loops are lowered to Switch, Merge, Enter and Exit, as in TF1."
        journal.changed("lowered", says, lowered)
    _bypass_identities(model)
    keep_filling(model)


def start_loops_together(model: Model, journal: Journal) -> None:
    """Let the constants that a loop starts with wait for its other values.

    In TensorFlow.js a counter that needs no input runs ahead of them, through all iterations, and what
    arrives later is lost: the second of two loops in a row fails.
    """
    frames: dict[str, list[Node]] = {}
    for node in model.graph:
        if node.op in ENTERS:
            frames.setdefault(str(node.attrs["frame_name"]), []).append(node)
    changed = []
    for enters in frames.values():
        late = list(dict.fromkeys(e.inputs[0].node for e in enters if not _is_early(e.inputs[0].node)))
        early = [e for e in enters if late and _is_early(e.inputs[0].node) and not e.attrs.get("is_constant")]
        for enter in early:
            start = Site.of(enter).identity(enter.inputs[0], "start", late)
            enter.set_inputs([start.output(0)])
            changed.append((enter.name, enter.op))
    journal.changed("loops with their inputs", "Loops start when all of their values are there.", changed)


def _is_early(node: Node) -> bool:
    """Whether a node needs no input of the model."""
    return not any(before.op in PLACEHOLDERS for before in needed_by([node]))


def keep_filling(model: Model) -> None:
    """Let a model fill its tables at load, and nothing else."""
    filling = [node.name for node in needed_by(model.init_nodes) if node.op in FILLS]
    model.meta.ClearField("collection_def")
    if filling:
        model.meta.collection_def[MAIN_OP].node_list.value.extend(filling)


def _bypass_identities(model: Model) -> None:
    """Read the inputs of IdentityN nodes, which lowered loops leave and which carry variables."""
    bypass_op(model, "IdentityN")
    for node in [node for node in model.graph if node.op == "IdentityN"]:
        for output, value in zip(node.outputs, node.inputs, strict=True):
            output.replace_by(value)
        before = [value.node for value in node.inputs if value.dtype != RESOURCE]
        node.set_inputs(())
        node.set_controls([*node.controls, *before])
        node.become("NoOp", {})


def count_axes_from_start(model: Model, facts: Facts, journal: Journal) -> None:
    """Replace negative axes of ops whose rank is known; `check` reports those that stay."""
    changed = []
    for node in [node for node in model.graph if node.op in AXES and has_negative_axis(node)]:
        index = AXES[node.op]
        axes, rank = facts.constant(node.inputs[index]), facts.rank(node.inputs[0])
        if axes is None or (node.op != "Transpose" and rank is None):
            continue
        positive = axes % (axes.size if node.op == "Transpose" else rank)
        inputs = list(node.inputs)
        inputs[index] = Site.of(node).constant(positive, inputs[index].dtype.base, name="axes")
        node.set_inputs(inputs)
        changed.append((node.name, node.op))
    journal.changed("axes from the start", "Negative axes become the axes that they mean.", changed)


def compare_instead_of_cast(model: Model, journal: Journal) -> None:
    """Replace casts of real numbers to bool: the backend wasm truncates them first, so that 0.5 is false.

    `Where` of real numbers casts them, too.
    """
    changed = []
    for node in [node for node in model.graph if node.op == "Where"]:
        value = node.inputs[0]
        if value.dtype.base == FLOAT32:
            site, dtype = Site.of(node), value.dtype.base
            zero = site.constant(0, dtype, value.node, "zero")
            is_true = site.add("NotEqual", [value, zero], {"T": dtype}, name="is_true")
            node.become("Where", {"T": BOOL})
            node.set_inputs([is_true.output(0)])
            changed.append((node.name, node.op))
    for node in [node for node in model.graph if node.op == "Cast" and node.attrs["DstT"] == BOOL]:
        value = node.inputs[0]
        if value.dtype.base == FLOAT32:
            zero = Site.of(node).constant(0, value.dtype.base, value.node, "zero")
            node.become("NotEqual", {"T": value.dtype.base})
            node.set_inputs([value, zero])
            changed.append((node.name, "Cast"))
    journal.changed("compared with zero", "A number is true if it is not zero.", changed)


def wrap_bytes(model: Model, journal: Journal) -> None:
    """Keep the low bits of integers that become int8 or uint8, for which TensorFlow.js has int32."""
    changed = []
    for node in [node for node in model.graph if node.op == "Cast" and node.attrs["DstT"] in LOWEST]:
        value, lowest, dtype = node.inputs[0], LOWEST[node.attrs["DstT"]], node.inputs[0].dtype.base
        if not dtype.is_integer or dtype == node.attrs["DstT"]:
            continue
        site, known = Site.of(node), {"T": INT32}
        first = site.constant(lowest, INT32, value.node, "lowest")
        count = site.constant(BYTE, INT32, value.node, "count")
        wide = site.add("Cast", [value], {"SrcT": dtype, "DstT": INT32}, name="wide").output(0)
        above = site.add("Sub", [wide, first], known, name="above").output(0)
        turns = site.add("FloorDiv", [above, count], known, name="turns").output(0)
        lost = site.add("Mul", [turns, count], known, name="lost").output(0)
        node.set_inputs([site.add("Sub", [wide, lost], known, name="kept").output(0)])
        node.attrs["SrcT"] = INT32
        changed.append((node.name, node.op))
    journal.changed("bytes that wrap", "Integers keep the bits that a byte has.", changed)


def give_batches_one_shape(model: Model, facts: Facts, journal: Journal) -> None:
    """Repeat matrices whose batches are broadcast: TensorFlow.js repeats only a batch of one matrix."""
    changed = []
    for node in [node for node in model.graph if node.op in BATCHED]:
        shapes = [facts.shape(value).dims or () for value in node.inputs]
        if not has_unlike_batches(*shapes):
            continue
        batches = [[size or 0 for size in dims[:-2]] for dims in shapes]
        rank = max(map(len, batches))
        padded = [[1] * (rank - len(batch)) + batch for batch in batches]
        both = [a if b == 1 else b for a, b in zip(*padded, strict=True)]
        site, repeated = Site.of(node), []
        for value, dims, batch in zip(node.inputs, shapes, batches, strict=True):
            rows, columns = dims[-2:]
            if batch == both or None in (rows, columns):
                repeated.append(value)
                continue
            sizes = site.constant([*both, rows, columns], INT32, value.node, "sizes")
            attrs = {"T": value.dtype.base, "Tidx": INT32}
            repeated.append(site.add("BroadcastTo", [value, sizes], attrs, name="repeated").output(0))
        node.set_inputs(repeated)
        changed.append((node.name, node.op))
    journal.changed("batches of one shape", "Matrices are repeated until both batches are alike.", changed)


def give_conditions_axes(model: Model, facts: Facts, journal: Journal) -> None:
    """Make each Select with a condition for each row a SelectV2, whose condition has all axes.

    So is one whose condition has an unknown rank, as in loops.
    """
    changed = []
    for node in [node for node in model.graph if node.op == SELECT]:
        condition, values = (facts.rank(value) for value in node.inputs[:2])
        if is_by_rows(1 if condition is None else condition, values):
            node.set_inputs([_with_axes(node, condition, values), *node.inputs[1:]])
            node.become("SelectV2", node.attrs)
            changed.append((node.name, SELECT))
    says = "A condition for each row gets the other axes, and Select becomes SelectV2."
    journal.changed("conditions with axes", says, changed)


def _with_axes(node: Node, own_rank: int | None, rank: int | None) -> Value:
    """The condition of a Select, with as many axes as its values; ranks are computed if not known."""
    site, (condition, values, _) = Site.of(node), node.inputs
    near, sizes = condition.node, {"T": BOOL, "out_type": INT32}
    rows = site.add("Shape", [condition], sizes, name="rows").output(0)
    if own_rank is not None and rank is not None:
        other_sizes = site.constant([1] * (rank - 1), INT32, near, "ones")
    else:
        whole = site.add("Rank", [values], {"T": values.dtype.base}, name="rank").output(0)
        size_1 = site.constant(1, INT32, near, "one")
        own = (
            site.add("Rank", [condition], {"T": BOOL}, name="own_rank").output(0)
            if own_rank is None
            else size_1
        )
        count = site.add("Sub", [whole, own], {"T": INT32}, name="others").output(0)
        axis = site.constant(0, INT32, near, "first")
        vector = site.add("ExpandDims", [count, axis], {"T": INT32, "Tdim": INT32}, name="count").output(0)
        other_sizes = site.add(
            "Fill", [vector, size_1], {"T": INT32, "index_type": INT32}, name="ones"
        ).output(0)
    axis = site.constant(0, INT32, near, "axis")
    joined = {"T": INT32, "N": 2, "Tidx": INT32}
    shape = site.add("ConcatV2", [rows, other_sizes, axis], joined, name="shape").output(0)
    return site.add("Reshape", [condition, shape], {"T": BOOL, "Tshape": INT32}, name="condition").output(0)


def restore_shapes_of_found(model: Model, facts: Facts, journal: Journal) -> None:
    """Give what is found in tables the shape of the keys: TensorFlow.js returns a vector."""
    changed = []
    for node in [node for node in model.graph if node.op in FINDS]:
        keys = node.inputs[1]
        if facts.rank(keys) == 1:
            continue
        site, dtype = Site.of(node), node.attrs["Tout"]
        lookup = site.add(node.op, node.inputs, dict(node.attrs), name="found", controls=node.controls)
        sizes = site.add("Shape", [keys], {"T": keys.dtype.base, "out_type": INT32}, name="sizes")
        changed.append((node.name, node.op))
        node.become("Reshape", {"T": dtype, "Tshape": INT32})
        node.set_inputs([lookup.output(0), sizes.output(0)])
        node.set_controls(())
    says = "What is found in a table gets the shape of its keys."
    journal.changed("shapes of what is found", says, changed)


def slice_instead_of_pooling(model: Model, release: TfjsSource, journal: Journal) -> None:
    """Replace pools with a window of one element where the release does not compute them (3.21.0 on wasm)."""
    changed = []
    pools = [node for node in model.graph if is_window_of_one(node)]
    for node in [node for node in pools if has_refused_window(node, release)]:
        value, steps = node.inputs[0], node.attrs["strides"]
        changed.append((node.name, node.op))
        if steps == [1] * len(steps):
            node.become("Identity", {"T": value.dtype.base})
            continue
        site, all_axes = Site.of(node), (1 << len(steps)) - 1
        zeros = site.constant([0] * len(steps), INT32, value.node, "zeros")
        node.become("StridedSlice", _slice_attrs(value, begin_mask=all_axes, end_mask=all_axes))
        node.set_inputs([value, zeros, zeros, site.constant(steps, INT32, value.node, "steps")])
    says = "A pool with a window of one element is a slice with its strides."
    journal.changed("slices instead of pools", says, changed)


def crop_ends_first(model: Model, facts: Facts, journal: Journal) -> None:
    """Crop the end of an axis before its start: TensorFlow.js fails on one that is too short for both."""
    changed = []
    for node in [node for node in model.graph if node.op == "StridedSlice"]:
        bounds = [array for value in node.inputs[1:] if (array := facts.constant(value)) is not None]
        crossing = _crossing(node, facts.shape(node.inputs[0]).dims, bounds) if len(bounds) == 3 else []
        if not crossing:
            continue
        value, kept = node.inputs[0], [i for i in range(bounds[0].size) if not _has(node, "new_axis", i)]
        site, axes = Site.of(node), range(len(kept))
        ends = site.constant([bounds[1][i] for i in kept], INT32, value.node, "ends")
        steps = site.constant([1] * len(kept), INT32, value.node, "steps")
        masks = {
            "begin_mask": _mask(axes),
            "end_mask": _mask(axis for axis in axes if kept[axis] not in crossing),
            "ellipsis_mask": _mask(axis for axis in axes if _has(node, "ellipsis", kept[axis])),
        }
        shorter = site.add(
            "StridedSlice", [value, ends, ends, steps], _slice_attrs(value, **masks), name="without_end"
        )
        node.set_inputs([shorter.output(0), *node.inputs[1:]])
        node.attrs["end_mask"] = int(node.attrs.get("end_mask", 0)) | _mask(crossing)
        changed.append((node.name, node.op))
    journal.changed("cropped at one end", "An axis is cropped at its end, then at its start.", changed)


def drop_axes_after_steps(model: Model, facts: Facts, journal: Journal) -> None:
    """Let Squeeze drop the axes of a slice with steps: TensorFlow.js takes the steps along other axes."""
    changed = []
    for node in [node for node in model.graph if node.op == "StridedSlice"]:
        begin, end, steps = (facts.constant(value) for value in node.inputs[1:])
        dropped = int(node.attrs.get("shrink_axis_mask", 0))
        is_plain = not node.attrs.get("ellipsis_mask") and not node.attrs.get("new_axis_mask")
        if not dropped or not is_plain or begin is None or end is None or steps is None or (steps == 1).all():
            continue
        axes = [axis for axis in range(begin.size) if dropped >> axis & 1]
        ends, to_end = end.copy(), [axis for axis in axes if begin[axis] == -1]
        ends[axes] = begin[axes] + 1
        site, dtype = Site.of(node), node.inputs[0].dtype.base
        inputs = [
            *node.inputs[:2],
            site.constant(ends, node.inputs[2].dtype.base, node.inputs[0].node, "ends"),
            node.inputs[3],
        ]
        masks = {"end_mask": int(node.attrs.get("end_mask", 0)) | _mask(to_end), "shrink_axis_mask": 0}
        kept = site.add("StridedSlice", inputs, {**node.attrs, **masks}, name="with_axes")
        changed.append((node.name, node.op))
        node.become("Squeeze", {"T": dtype, "squeeze_dims": axes})
        node.set_inputs([kept.output(0)])
    says = "A slice with steps keeps its axes; Squeeze drops those of one element."
    journal.changed("axes dropped after steps", says, changed)


def _crossing(node: Node, dims: Sequence[int | None] | None, bounds: Sequence[NDArray[Any]]) -> list[int]:
    """The bounds of a slice, each from the start to before the end, between which nothing may be left."""
    crossing: list[int] = []
    rank = len(dims) if dims is not None else 0
    for i, (begin, end, step) in enumerate(zip(*bounds, strict=True)):
        special = any(_has(node, name, i) for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis"))
        if special or step != 1 or not begin > 0 > end:
            continue
        later = any(_has(node, "ellipsis", j) for j in range(i))
        others = [
            j for j in (range(i, bounds[0].size) if later else range(i)) if not _has(node, "new_axis", j)
        ]
        size = dims[rank - len(others) if later else len(others)] if dims is not None else None
        if size is None or size < begin - end:
            crossing.append(i)
    return crossing


def _slice_attrs(value: Value, **masks: int) -> dict[str, Attr]:
    names = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
    return {"T": value.dtype.base, "Index": INT32, **{name: masks.get(name, 0) for name in names}}


def _has(node: Node, name: str, index: int) -> bool:
    """Whether a mask of a slice has the bit of a bound."""
    return bool(int(node.attrs.get(f"{name}_mask", 0)) >> index & 1)


def _mask(indices: Iterable[int]) -> int:
    return sum(1 << index for index in indices)

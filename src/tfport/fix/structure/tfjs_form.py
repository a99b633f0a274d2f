"""Convert a flat model to the form of a TensorFlow.js graph model.

A loop that reads variables can be frozen only as part of the graph. What a model runs at load, besides
filling tables, is about variables, which become constants. Axes are counted from the start, and a condition
for each row gets the other axes, since TensorFlow.js broadcasts it from the last.
"""

from __future__ import annotations

from tfport.check.tfjs import AXES, SELECT, has_negative_axis, is_by_rows
from tfport.fix.facts import Facts
from tfport.fix.journal import Journal
from tfport.fix.signature_sizes import PLACEHOLDERS
from tfport.fix.structure.function_bodies import Site
from tfport.fix.structure.lower import lower_all
from tfport.fix.structure.signature_outputs import bypass_op
from tfport.graph.dtypes import BOOL, FLOAT32, INT32, RESOURCE
from tfport.graph.graph import Node, Value
from tfport.graph.model import MAIN_OP, Model
from tfport.graph.op_facts.kinds import ENTERS, FUNCTIONAL
from tfport.graph.reach import needed_by

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
    """Replace casts of real numbers to bool: the backend wasm truncates them first, so that 0.5 is false."""
    changed = []
    for node in [node for node in model.graph if node.op == "Cast" and node.attrs["DstT"] == BOOL]:
        value = node.inputs[0]
        if value.dtype.base == FLOAT32:
            zero = Site.of(node).constant(0, value.dtype.base, value.node, "zero")
            node.become("NotEqual", {"T": value.dtype.base})
            node.set_inputs([value, zero])
            changed.append((node.name, "Cast"))
    journal.changed("compared with zero", "A number is true if it is not zero.", changed)


def give_conditions_axes(model: Model, facts: Facts, journal: Journal) -> None:
    """Make each Select with a condition for each row a SelectV2, whose condition has all axes."""
    changed = []
    for node in [node for node in model.graph if node.op == SELECT]:
        condition, values = (facts.rank(value) for value in node.inputs[:2])
        if is_by_rows(condition, values):
            node.set_inputs([_with_axes(node, values), *node.inputs[1:]])
            node.become("SelectV2", node.attrs)
            changed.append((node.name, SELECT))
    says = "A condition for each row gets the other axes, and Select becomes SelectV2."
    journal.changed("conditions with axes", says, changed)


def _with_axes(node: Node, rank: int | None) -> Value:
    """The condition of a Select, with as many axes as its values; their rank is computed if not known."""
    site, (condition, values, _) = Site.of(node), node.inputs
    near, sizes = condition.node, {"T": BOOL, "out_type": INT32}
    rows = site.add("Shape", [condition], sizes, name="rows").output(0)
    if rank is not None:
        other_sizes = site.constant([1] * (rank - 1), INT32, near, "ones")
    else:
        whole = site.add("Rank", [values], {"T": values.dtype.base}, name="rank").output(0)
        size_1 = site.constant(1, INT32, near, "one")
        count = site.add("Sub", [whole, size_1], {"T": INT32}, name="others").output(0)
        axis = site.constant(0, INT32, near, "first")
        vector = site.add("ExpandDims", [count, axis], {"T": INT32, "Tdim": INT32}, name="count").output(0)
        other_sizes = site.add(
            "Fill", [vector, size_1], {"T": INT32, "index_type": INT32}, name="ones"
        ).output(0)
    axis = site.constant(0, INT32, near, "axis")
    joined = {"T": INT32, "N": 2, "Tidx": INT32}
    shape = site.add("ConcatV2", [rows, other_sizes, axis], joined, name="shape").output(0)
    return site.add("Reshape", [condition, shape], {"T": BOOL, "Tshape": INT32}, name="condition").output(0)

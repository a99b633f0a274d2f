"""Convert a flat model to the form of a TensorFlow.js graph model.

A loop that reads variables can be frozen only as part of the graph. What a model runs at load, besides
filling tables, is about variables, which become constants. Axes are counted from the start.
"""

from __future__ import annotations

from tfport.check.tfjs import AXES, has_negative_axis
from tfport.fix.facts import Facts
from tfport.fix.journal import Journal
from tfport.fix.structure.function_bodies import Site
from tfport.fix.structure.lower import lower_all
from tfport.fix.structure.signature_outputs import bypass_op
from tfport.graph.dtypes import RESOURCE
from tfport.graph.model import MAIN_OP, Model
from tfport.graph.op_facts.kinds import FUNCTIONAL
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

"""Is everything filled before a signature reads it, and is everything there that the model names?

Findings 03x.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfport.check.findings import tensorflow_messages as wording
from tfport.check.findings.files import Lapse, has_index, lapse
from tfport.check.findings.finding import Finding, finding
from tfport.check.node_contexts import NodeContexts
from tfport.graph.edit import callee
from tfport.graph.graph import Node, Value
from tfport.graph.model import Model
from tfport.graph.state import VARIABLES, filled_at_load, shared_name

STATIC_TABLES = ("HashTable", "HashTableV2")


@finding("TFP031", "missing-tensor-of-signature")
class MissingTensorOfSignature(Finding):
    """signature {signature} names the tensor `{tensor}`, which is not in the graph

    ## Cause
    The graph was edited, or cut, after the signature was written.
    ## Fix
    Export the model again.
    """

    signature: str
    tensor: str


@finding("TFP036", "fed-and-fetched")
class FedAndFetched(Finding):
    """signature {signature} gives back `{tensor}`, which is one of its inputs: no session does that

    ## Cause
    A session takes no tensor that is both fed and fetched. Python in TensorFlow 2 does not
    mind.
    ## Fix
    Put `tf.identity` between the input and the output, and export again.
    """

    signature: str
    tensor: str

    def says(self) -> str:
        return f"{self.tensor} is both fed and fetched."


@finding("TFP032", "unset-variable")
class UnsetVariable(Finding):
    """variable `{variable}` is read, and nothing sets it when the model is loaded

    ## Cause
    The model was saved without a saver, or with one that does not know the variable.
    ## Fix
    Export again with all variables in the saver, or freeze the model.
    """

    variable: str

    def says(self) -> str:
        return wording.unset_variable(self.variable, self.nodes[0].op, self.on)


@finding("TFP035", "no-saver")
class NoSaver(Finding):
    """the model has variables in its files, and nothing in its graph that restores them

    ## Cause
    It was saved without a saver: `saver_def` is empty.
    ## Fix
    Export the model again, with a saver.
    """


@finding("TFP033", "empty-table")
class EmptyTable(Finding):
    """table `{table}` is read, and nothing fills it when the model is loaded

    ## Cause
    The model was saved without the op that initialises its tables (`legacy_init_op`,
    `main_op`), or two of them are named and only one is run.
    ## Fix
    Export again with `main_op=tf.tables_initializer()`.
    """

    table: str

    def says(self) -> str:
        return "Table not initialized."


@finding("TFP034", "missing-init-op")
class MissingInitOp(Finding):
    """the model is initialised by `{init_op}`, which is not in the graph

    ## Cause
    The graph was edited, or cut, after the model was written.
    ## Fix
    Export the model again.
    """

    init_op: str

    def says(self) -> str:
        return f"PruneForTargets: Some target nodes not found: {self.init_op}"


def state_lapses(model: Model, places: NodeContexts, *, by_signature: bool) -> Iterator[Lapse]:
    """What is wrong, for a loader that may or may not know the signature that initialises."""
    yield from _signatures(model)
    for name in model.missing_init_ops():
        yield lapse(MissingInitOp, init_op=name)
    kept = [node for node in model.graph if node.op in VARIABLES or node.op in STATIC_TABLES]
    if not kept or not model.signatures:
        return
    if has_index(model) and not model.restore_nodes and _reads_variable(model, places):
        yield lapse(NoSaver)
        return
    filled = {shared_name(node) for node in filled_at_load(model, by_signature=by_signature)}
    for node in kept:
        name = shared_name(node)
        if name not in filled and places.is_needed(node) and not _may_be_set(node, places):
            if node.op in STATIC_TABLES:
                yield lapse(EmptyTable, node, table=name)
            else:
                yield lapse(UnsetVariable, node, variable=name)


def _reads_variable(model: Model, places: NodeContexts) -> bool:
    return any(node.op in VARIABLES and places.is_needed(node) for node in model.graph)


def _may_be_set(node: Node, places: NodeContexts) -> bool:
    """Whether something that a signature runs, other than a plain read, takes it; calls are followed."""
    found: set[Value] = set()
    stack = [value for value in node.read_outputs if any(map(places.is_needed, value.uses))]
    while stack:
        value = stack.pop()
        if value in found:
            continue
        found.add(value)
        for user in value.uses:
            if user.graph is node.graph and not places.is_needed(user):
                continue
            if user.op in _HANDS_ON:
                stack += user.read_outputs
            elif (function := callee(user)) is not None:
                args = function.arguments
                stack += [args[i] for i, v in enumerate(user.inputs) if v is value and i < len(args)]
            elif user.op not in _READS:
                return True
    return False


_READS = (
    "ReadVariableOp", "LookupTableFind", "LookupTableFindV2", "ResourceGather", "ResourceGatherNd",
    "VariableShape", "_Retval",
)  # fmt: skip
_HANDS_ON = ("Identity", "DisableCopyOnRead")


def _signatures(model: Model) -> Iterator[Lapse]:
    for name, signature in model.signatures.items():
        fed = {tensor for spec in signature.inputs.values() for tensor in spec.tensors}
        for tensor in sorted(fed & {t for spec in signature.outputs.values() for t in spec.tensors}):
            yield lapse(FedAndFetched, signature=name, tensor=tensor)
        for spec in (*signature.inputs.values(), *signature.outputs.values()):
            for tensor in spec.tensors:
                if not model.has_tensor(tensor):
                    yield lapse(MissingTensorOfSignature, signature=name, tensor=tensor)

"""Is everything set before a signature reads it, and does everything exist that the model names?

Findings 03x.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfport.atlas.target import Target
from tfport.check.checked_model import CheckedModel
from tfport.check.findings import tensorflow_messages
from tfport.check.findings.finding import Finding, check, finding
from tfport.check.loaders import Loader
from tfport.check.node_contexts import NodeContexts
from tfport.check.noticed import AT_LOAD, AT_RUN, FILES, NEVER, Noticed
from tfport.check.release_quirks import knows_init_signature
from tfport.check.saved_parts import has_index
from tfport.graph.graph import Node, Value
from tfport.graph.inline import callee
from tfport.graph.model import Model
from tfport.graph.state import VARIABLES, filled_at_load, shared_name

STATIC_TABLES = ("HashTable", "HashTableV2")
SIGNATURES = Noticed(
    serving=AT_RUN,
    python_2={"0": AT_RUN, "2.0": AT_LOAD},
    objects={"0": AT_RUN, "2.0": AT_LOAD},
    tfport=AT_RUN,
)
"""A session looks up tensors when a signature runs; Python in TensorFlow 2 at load."""
READS = Noticed(serving=AT_RUN, objects=AT_RUN, tfport=AT_RUN)


@finding("TFP031", "missing-tensor-of-signature", noticed=SIGNATURES)
class MissingTensorOfSignature(Finding):
    """signature {signature} names the tensor `{tensor}`, which is not in the graph

    ## Cause
    The graph was edited, or cut, after the signature was written.
    ## Fix
    Export the model again.
    ## Example
        tfport check tests/truth/models/input_missing --on tensorflow==2.8.4 --loader capi
    """

    tensor: str


@finding(
    "TFP036",
    "fed-and-fetched",
    noticed=Noticed(serving=AT_RUN, python_1=NEVER, python_2=NEVER),
)
class FedAndFetched(Finding):
    """signature {signature} returns its input `{tensor}`, which a session cannot do

    ## Cause
    A session does not accept a tensor that is both fed and fetched. Python in
    TensorFlow 2 does.
    ## Fix
    Put `tf.identity` between the input and the output, and export again.
    ## Example
        tfport check tests/truth/models/fed_and_fetched --on tensorflow==2.8.4 --loader capi
    """

    tensor: str

    def says(self) -> str:
        return f"{self.tensor} is both fed and fetched."


@finding(
    "TFP032",
    "unset-variable",
    noticed=Noticed(serving=AT_RUN, objects=NEVER, tfport=AT_RUN, tfport_objects=NEVER),
)
class UnsetVariable(Finding):
    """variable `{variable}` is read, and nothing sets it when the model is loaded

    ## Cause
    The model was saved without a saver, or with one that does not know the variable.
    ## Fix
    Export again with all variables in the saver, or freeze the model.
    ## Example
        tfport check tests/truth/models/variable_never_restored --on tensorflow==2.8.4 \\
            --loader capi
    """

    variable: str

    def says(self) -> str:
        return tensorflow_messages.unset_variable(self.variable, self.nodes[0].op, self.on)


@finding(
    "TFP035",
    "no-saver",
    noticed=Noticed(
        serving={"0": AT_LOAD, "2.4": AT_RUN},
        python_1=AT_RUN,
        python_2=AT_RUN,
        objects=AT_RUN,
        tfport=AT_RUN,
    ),
)
class NoSaver(Finding):
    """the model has variables in its files, and its graph has no op that restores them

    ## Cause
    It was saved without a saver: `saver_def` is empty.
    ## Fix
    Export the model again, with a saver.
    ## Example
        tfport check tests/truth/models/no_saver --on tensorflow==2.8.4 --loader capi
    """


@finding("TFP033", "empty-table", noticed=READS)
class EmptyTable(Finding):
    """table `{table}` is read, and nothing fills it when the model is loaded

    ## Cause
    The model was saved without the op that initializes its tables (`legacy_init_op`,
    `main_op`), or it names two of them and only one runs.
    ## Fix
    Export again with `main_op=tf.tables_initializer()`.
    ## Example
        tfport check tests/truth/models/hash_table_v2_empty --on tensorflow==2.8.4 --loader capi
    """

    table: str

    def says(self) -> str:
        return "Table not initialized."


@finding("TFP034", "missing-init-op", noticed=FILES)
class MissingInitOp(Finding):
    """the model names the initialization op `{init_op}`, which is not in the graph

    ## Cause
    The graph was edited, or cut, after the model was written.
    ## Fix
    Export the model again.
    ## Example
        tfport check tests/truth/models/init_op_missing --on tensorflow==2.8.4 --loader capi
    """

    init_op: str

    def says(self) -> str:
        return f"PruneForTargets: Some target nodes not found: {self.init_op}"


@check
def state_is_set(model: CheckedModel, target: Target, loader: Loader) -> Iterator[Finding]:
    yield from model.once(_state, knows_init_signature(target))


def _state(checked: CheckedModel, by_signature: bool) -> Iterator[Finding]:
    """What is wrong, for a loader that may or may not know the signature that initializes."""
    model, contexts = checked.model, checked.contexts
    yield from _signatures(model)
    for name in model.missing_init_ops():
        yield MissingInitOp(init_op=name)
    stateful = [node for node in model.graph if node.op in VARIABLES or node.op in STATIC_TABLES]
    if not stateful or not model.signatures:
        return
    if has_index(model) and not model.restore_nodes and _reads_variable(model, contexts):
        yield NoSaver()
        return
    filled = {shared_name(node) for node in filled_at_load(model, by_signature=by_signature)}
    for node in stateful:
        name = shared_name(node)
        if name not in filled and contexts.is_needed(node) and not _may_be_set(node, contexts):
            if node.op in STATIC_TABLES:
                yield EmptyTable(nodes=[node], table=name)
            else:
                yield UnsetVariable(nodes=[node], variable=name)


def _reads_variable(model: Model, contexts: NodeContexts) -> bool:
    return any(node.op in VARIABLES and contexts.is_needed(node) for node in model.graph)


def _may_be_set(node: Node, contexts: NodeContexts) -> bool:
    """Whether a signature runs an op on it other than a plain read; calls are followed."""
    seen: set[Value] = set()
    stack = [value for value in node.read_outputs if any(map(contexts.is_needed, value.uses))]
    while stack:
        value = stack.pop()
        if value in seen:
            continue
        seen.add(value)
        for user in value.uses:
            if user.graph is node.graph and not contexts.is_needed(user):
                continue
            if user.op in _PASS_ON:
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
_PASS_ON = ("Identity", "DisableCopyOnRead")


def _signatures(model: Model) -> Iterator[Finding]:
    for name, signature in model.signatures.items():
        fed = {tensor for spec in signature.inputs.values() for tensor in spec.tensors}
        for tensor in sorted(fed & {t for spec in signature.outputs.values() for t in spec.tensors}):
            yield FedAndFetched(signature=name, tensor=tensor)
        for spec in (*signature.inputs.values(), *signature.outputs.values()):
            for tensor in spec.tensors:
                if not model.has_tensor(tensor):
                    yield MissingTensorOfSignature(signature=name, tensor=tensor)

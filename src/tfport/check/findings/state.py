"""Is everything set before a signature reads it, and does everything exist that the model names?

Findings 03x.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tfport.atlas.target import Target
from tfport.check.checked_model import CheckedModel
from tfport.check.findings import tensorflow_messages
from tfport.check.findings.finding import Finding, check, finding
from tfport.check.loader_stages import AT_LOAD, AT_RUN, FILES, NEVER, Noticed
from tfport.check.loaders import Loader, has_index
from tfport.check.node_contexts import NodeContexts
from tfport.check.release_quirks import knows_init_signature
from tfport.errors import UnreadableFile
from tfport.formats.graph_def.signature import GRAPH_DEF
from tfport.graph.dtypes import INVALID, RESOURCE
from tfport.graph.graph import Node, Value
from tfport.graph.inline import callee
from tfport.graph.model import Model
from tfport.graph.op_facts.kinds import WHILES
from tfport.graph.reach import functions_of
from tfport.graph.state import VARIABLES, filled_at_load, shared_name

STATIC_TABLES = ("HashTable", "HashTableV2")
META, INDEX = ".meta", ".index"
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
    """variable `{variable}` is read, but nothing sets it when the model is loaded

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
    """the model's files contain variables, but its graph has no op that restores them

    ## Cause
    It was saved without a saver: `saver_def` is empty.
    ## Fix
    Export the model again, with a saver.
    ## Example
        tfport check tests/truth/models/no_saver --on tensorflow==2.8.4 --loader capi
    """


@finding("TFP033", "empty-table", noticed=READS)
class EmptyTable(Finding):
    """table `{table}` is read, but nothing fills it when the model is loaded

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


@finding("TFP037", "weights-elsewhere", noticed=Noticed(serving=AT_RUN, tfport=AT_RUN))
class WeightsElsewhere(Finding):
    """the outputs need {count} variables, such as `{variable}`, but a GraphDef has no weights

    ## Cause
    A GraphDef contains only nodes; the values of its variables are in a checkpoint. TensorFlow
    imports the graph, but fails when something reads a variable that was not restored.
    ## Fix
    Check the graph and its checkpoint together: `tfport check model.ckpt.meta`, or the
    SavedModel. Or freeze the graph, which turns its variables into constants.
    ## Example
        v = VariableV2() {dtype=float32, shape=(2,)}
        y = Neg(v) {T=float32}
        on tensorflow==2.8.4
    """

    count: int
    variable: str
    beside: Sequence[str] = ()
    """The MetaGraphs and checkpoints in the same folder."""

    def says(self) -> str:
        return tensorflow_messages.unset_variable(self.variable, self.nodes[0].op, self.on)

    def fixes(self) -> list[str]:
        metas = [name for name in self.beside if name.endswith(META)]
        if metas:
            return [f"tfport check {metas[-1]}: the graph with its checkpoint"]
        if self.beside:
            return [f"restore the checkpoint {self.beside[-1]} before running, or freeze the graph with it"]
        return ["restore its checkpoint before running, or freeze the graph"]


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
    if model.format is GRAPH_DEF:
        yield from _weights_elsewhere(checked, [node for node in stateful if node.op in VARIABLES])
    if not stateful or not model.signatures:
        return
    if has_index(model) and not model.restore_nodes and _reads_variable(model, contexts):
        yield NoSaver()
        return
    filled = filled_at_load(model, by_signature=by_signature)
    others = [node for node in stateful if node not in filled and contexts.is_needed(node)]
    names = {shared_name(node) for node in filled} if others else set()
    for node in others:
        name = shared_name(node)
        if name not in names and not _may_be_set(node, contexts):
            if node.op in STATIC_TABLES:
                yield EmptyTable(nodes=[node], table=name)
            else:
                yield UnsetVariable(nodes=[node], variable=name)


def _weights_elsewhere(checked: CheckedModel, variables: Iterable[Node]) -> Iterator[Finding]:
    contexts = checked.contexts
    unset = [node for node in variables if contexts.is_needed(node) and not _may_be_set(node, contexts)]
    if unset:
        variable, beside = shared_name(unset[0]), _checkpoints_beside(checked.model)
        yield WeightsElsewhere(nodes=unset, count=len(unset), variable=variable, beside=beside)


def _checkpoints_beside(model: Model) -> list[str]:
    """The MetaGraphs, or else the checkpoints, in the folder of a model."""
    try:
        names = model.files.list()[0]
    except UnreadableFile:
        return []
    metas = [name for name in names if name.endswith(META)]
    checkpoints = metas or [name.removesuffix(INDEX) for name in names if name.endswith(INDEX)]
    return [model.files.label(name) for name in checkpoints]


def _reads_variable(model: Model, contexts: NodeContexts) -> bool:
    return any(node.op in VARIABLES and contexts.is_needed(node) for node in model.graph)


def _may_be_set(node: Node, contexts: NodeContexts) -> bool:
    """Whether a signature runs an op on it other than a plain read, or perhaps none; calls are followed."""
    seen: set[Value] = set()
    stack = [(value, False) for value in node.read_outputs if any(map(contexts.is_needed, value.uses))]
    is_read = is_in_loop = False  # what only a loop reads may not be read, as loops may not be entered
    while stack:
        value, in_loop = stack.pop()
        if value in seen:
            continue
        seen.add(value)
        for user in value.uses:
            if user.graph is node.graph and not contexts.is_needed(user):
                continue
            if user.op in _PASS_ON:
                stack += [(passed, in_loop) for passed in user.read_outputs]
            elif user.op in WHILES:
                is_in_loop = True
                stack += [(passed, True) for passed in _in_loop(user, value)]
            elif (function := callee(user)) is not None:
                args = function.arguments
                indices = (i for i, v in enumerate(user.inputs) if v is value and i < len(args))
                stack += [(args[index], in_loop) for index in indices]
            elif user.op in _READS:
                is_read = is_read or not in_loop
            elif _can_set(user, value):
                return True
    return is_in_loop and not is_read


def _in_loop(loop: Node, value: Value) -> Iterator[Value]:
    """What a value that is passed to a loop is in its functions and after it."""
    indices = [index for index, passed in enumerate(loop.inputs) if passed is value]
    functions = filter(None, map(loop.graph.library.functions.get, functions_of(loop)))
    for values in (loop.outputs, *(function.arguments for function in functions)):
        yield from (values[index] for index in indices if index < len(values))


def _can_set(user: Node, value: Value) -> bool:
    """Whether an op may write to what it reads: a resource, or a reference that its definition asks for."""
    if value.dtype == value.dtype.base:
        return value.dtype in (RESOURCE, INVALID)
    signature = user.signature
    return signature is None or any(arg.is_ref for arg in signature.inputs)


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

"""Does a node need something of the process that saved the model? Findings 06x.

The op is registered and has a kernel, but a model file holds no Python functions, no state of an
input pipeline, no tensors of a session, and no files of the machine that saved it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tfport.atlas.choose_builds import PYTHON_OPS
from tfport.atlas.target import OURS, Target
from tfport.check.checked_model import CheckedModel
from tfport.check.findings.finding import Finding, check, finding
from tfport.check.loader_stages import WHEN_RUN, Noticed
from tfport.check.loaders import Loader
from tfport.graph.dtypes import STRING
from tfport.graph.graph import Node
from tfport.graph.op_effects import effects_of
from tfport.graph.reach import every_node
from tfport.graph.state import assets, constant_strings, origin, shared_name

RUNS = Noticed(serving=WHEN_RUN)
BRANCH = "it fails only if the branch that contains it is taken"
UNUSED = "its result is unused, so that it may not run"
MAY_EXIST = "the target may have the file"
MAKES = {
    "iterator": (
        "MakeIterator",
        "IteratorFromStringHandle",
        "IteratorFromStringHandleV2",
        "DeserializeIterator",
    ),
    "summary writer": ("CreateSummaryFileWriter", "CreateSummaryDbWriter"),
}
"""The ops that set a resource, by what it is."""
HOLDS = {"Iterator": "iterator", "IteratorV2": "iterator", "SummaryWriter": "summary writer"}
READS = {
    "iterator": ("IteratorGetNext", "IteratorGetNextSync", "IteratorGetNextAsOptional"),
    "summary writer": (
        "WriteSummary", "WriteScalarSummary", "WriteHistogramSummary", "WriteImageSummary",
        "WriteAudioSummary", "WriteGraphSummary", "WriteRawProtoSummary", "FlushSummaryWriter",
    ),
}  # fmt: skip
"""The ops that fail on a resource that was not set."""
LEFT_BEHIND = {
    "GetSessionTensor": "a tensor that a session of the saving process holds",
    "DeleteSessionTensor": "a tensor that a session of the saving process holds",
}
NEED_FILES = frozenset((
    "ReadFile", "InitializeTableFromTextFile", "InitializeTableFromTextFileV2", "LoadAndRemapMatrix",
    "TextLineDataset", "TFRecordDataset", "TFRecordDatasetV2", "FixedLengthRecordDataset",
    "FixedLengthRecordDatasetV2",
))  # fmt: skip
"""The ops that fail without a file; `op_effects` says which input has its name."""


@finding("TFP061", "python-function", noticed=RUNS)
class PythonFunction(Finding):
    """op `{op}` calls the Python function `{token}`, which only the process that saved the model has

    ## Cause
    `tf.py_function`, `tf.numpy_function` and `tf.py_func` leave the Python code where it is: the
    graph contains only the key under which the process registered the function. Any other process
    loads the model but fails when the node runs. Binaries without Python, such as TensorFlow
    Serving, have no kernel for the op.
    ## Fix
    Export the model with TensorFlow ops instead of the Python function, or move the function
    out of the model, before its inputs or after its outputs.
    ## Example
        x = Placeholder() {dtype=float32, shape=(2,)}
        y = PyFunc(x) {token="pyfunc_0", Tin=[float32], Tout=[float32]}
        on tensorflow==2.8.4
    """

    token: str

    def says(self) -> str:
        return f"Could not find callback with key={self.token} in the registry."

    def fixes(self) -> list[str]:
        return ["export the model with TensorFlow ops instead of the Python function"]


@finding("TFP062", "resource-not-made", noticed=RUNS)
class ResourceNotMade(Finding):
    """{what} `{resource}` is used, but nothing in the model creates it

    ## Cause
    The program that saved the model ran the op that creates it, the way training creates an
    iterator over its data. Neither loading the model nor any of its signatures runs such an op.
    ## Fix
    Export a graph that gets its inputs from placeholders, not from an input pipeline, and that
    writes no summaries. Or feed the tensor that the iterator gives.
    ## Example
        x = Placeholder() {dtype=float32, shape=(2,)}
        i = IteratorV2() {shared_name="i", output_types=[float32], output_shapes=[(2,)]}
        n = IteratorGetNext(i) {output_types=[float32], output_shapes=[(2,)]}
        y = AddV2(x, n) {T=float32}
        on tensorflow==2.8.4
    """

    what: str
    resource: str

    def fixes(self) -> list[str]:
        feed = ["feed what the iterator gives"] if self.what == "iterator" else []
        return ["export the graph without its input pipeline and its summaries", *feed]


@finding("TFP063", "left-behind", noticed=RUNS)
class LeftBehind(Finding):
    """op `{op}` needs {what}

    ## Cause
    The op works only in the program that made the graph, or in its cluster.
    ## Fix
    Export a graph without it: only what inference needs.
    ## Example
        h = Placeholder() {dtype=string, shape=()}
        y = GetSessionTensor(h) {dtype=float32}
        on tensorflow==2.8.4
    """

    what: str

    def fixes(self) -> list[str]:
        return ["export a graph with only what inference needs"]


@finding("TFP064", "file-of-another-machine", noticed=RUNS)
class FileOfAnotherMachine(Finding):
    """op `{op}` reads `{file}`, which is not in the model

    ## Cause
    The file name is a constant in the graph. The file is on the machine that saved the model; it
    was not declared as an asset, so it was not copied into the model.
    ## Fix
    Put the file in the same place on the target, or export the model with the file as an asset
    (`tf.saved_model.Asset`, or the collection `ASSET_FILEPATHS` in TensorFlow 1).
    ## Example
        f = Const() {dtype=string, value=string()["/data/vocabulary.txt"]}
        y = ReadFile(f)
        on tensorflow==2.8.4
    """

    file: str

    def says(self) -> str:
        return f"{self.file}; No such file or directory"

    def fixes(self) -> list[str]:
        return ["put the file in this place on the target", "export the model with the file as an asset"]


@check
def needs_nothing_of_the_saving_process(
    model: CheckedModel, target: Target, loader: Loader
) -> Iterator[Finding]:
    if target.kind != OURS:
        for needed in model.once(_needed_of_the_saving_process):
            if target.registry.kernels(needed.op or ""):  # otherwise finding 301 says so
                yield needed


def _needed_of_the_saving_process(checked: CheckedModel) -> Sequence[Finding]:
    nodes = list(every_node(checked.model.graph))
    findings = [
        *_python_functions(nodes), *_resources(nodes), *_left_behind(nodes), *_files(checked, nodes)
    ]  # fmt: skip
    for each in findings:
        each.doubt = each.doubt or _doubt(checked, each.nodes[0])
    return findings


def _doubt(checked: CheckedModel, node: Node) -> str:
    """Why a node may not run, though it is needed."""
    if checked.contexts.may_be_skipped(node, lowering=False):
        return BRANCH
    return UNUSED if checked.contexts.of(node).idle and not node.is_stateful else ""


def _python_functions(nodes: Sequence[Node]) -> Iterator[Finding]:
    for node in nodes:
        if node.op in PYTHON_OPS:
            yield PythonFunction(nodes=[node], op=node.op, token=_text(node, "token"))


def _resources(nodes: Sequence[Node]) -> Iterator[Finding]:
    """Resources that are read in a model in which no op sets one of their name."""
    for what, makers in MAKES.items():
        reads = [node for node in nodes if node.op in READS[what] and node.inputs]
        if not reads or any(node.op in makers for node in nodes):
            continue
        for node in reads:
            holder = origin(node.inputs[0], {})
            if HOLDS.get(holder.op) == what:
                yield ResourceNotMade(nodes=[node], op=node.op, what=what, resource=shared_name(holder))


def _left_behind(nodes: Sequence[Node]) -> Iterator[Finding]:
    for node in nodes:
        if node.op in LEFT_BEHIND:
            yield LeftBehind(nodes=[node], op=node.op, what=LEFT_BEHIND[node.op])
        elif node.op == "RemoteCall":
            for device in constant_strings(node, 0, {}):
                if "/job:" in device and "/job:localhost" not in device:
                    yield LeftBehind(nodes=[node], op=node.op, what=f"the device {device} of a cluster")


def _files(checked: CheckedModel, nodes: Sequence[Node]) -> Iterator[Finding]:
    """Constant names of files; the constants of assets get another value at load."""
    own = {asset.tensor.partition(":")[0] for asset in assets(checked.model)}
    for node in nodes:
        if node.op in NEED_FILES and not any(value.node.name in own for value in node.inputs):
            for name in _constant_paths(node):
                yield FileOfAnotherMachine(nodes=[node], op=node.op, file=name, doubt=MAY_EXIST)


def _constant_paths(node: Node) -> Iterator[str]:
    effect, signature = effects_of(node.op), node.signature
    if effect is None or signature is None:
        return
    for index, argument in enumerate(signature.inputs[: len(node.inputs)]):
        if argument.name in effect.path and node.inputs[index].dtype == STRING:
            yield from constant_strings(node, index, {})


def _text(node: Node, attr: str) -> str:
    value = node.attrs.get(attr)
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)

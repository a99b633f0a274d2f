"""Are the files complete: variables with their shards, and assets?

Findings 02x. The weights are not read: the index or manifest says how long each file must be.
"""

from __future__ import annotations

from collections.abc import Iterator

from tfport.atlas.target import Target
from tfport.check.checked_model import CheckedModel
from tfport.check.findings import tensorflow_messages
from tfport.check.findings.finding import Finding, check, finding
from tfport.check.loader_stages import AT_LOAD, AT_RUN, FILES, LOADING, Noticed
from tfport.check.loaders import Loader, has_index
from tfport.errors import UnreadableFile
from tfport.formats.checkpoint.bundle import Bundle
from tfport.graph.model import Model
from tfport.graph.restoring import restore_mismatches
from tfport.graph.state import assets, shared_name, variables

WHEN_LOADING = (LOADING, LOADING, LOADING)
CHECK_SHAPES = ("objects", "keras_objects", "tfport", "tfport_objects")
"""The loading paths that compare the shape of a tensor with that of its resource variable."""


@finding("TFP020", "incomplete-weights", noticed=FILES)
class IncompleteWeights(Finding):
    """{sentence}

    ## Cause
    A TensorFlow.js model is a `model.json` and the weight files that its manifest lists. One of
    them is missing, was cut short, or belongs to another model.
    ## Fix
    Download or copy all files again, into the folder of `model.json`.
    ## Example
        tfport check tests/check/models/tfjs_without_weights/model.json --on tfport
    """

    sentence: str


@finding(
    "TFP021",
    "no-variables",
    noticed=Noticed(serving=AT_RUN, python_1=AT_LOAD, python_2=AT_LOAD, objects=AT_LOAD, tfport=AT_LOAD),
)
class NoVariables(Finding):
    """{file}: missing; it is the index of {variables}

    ## Cause
    The folder was copied without `variables/`, or the copy is incomplete. A session loads
    such a model without an error and fails when it reads a variable.
    ## Fix
    Copy the whole folder again. To copy only the graph, freeze the model first.
    ## Example
        tfport check tests/truth/models/index_missing --on tensorflow==2.8.4 --loader capi
    """

    file: str
    count: int

    @property
    def variables(self) -> str:
        return f"{self.count} variable{'' if self.count == 1 else 's'}"

    def says(self) -> str:
        node = self.nodes[0]
        return tensorflow_messages.unset_variable(shared_name(node), node.op, self.on)


@finding("TFP022", "missing-shard", noticed=FILES)
class MissingShard(Finding):
    """{file}: missing; it holds tensors of the checkpoint

    ## Cause
    A checkpoint is an index and one or more shards, and needs all of them.
    ## Fix
    Copy the whole folder again.
    ## Example
        tfport check tests/truth/models/shard_missing --on tensorflow==2.8.4 --loader capi
    """

    file: str

    def says(self) -> str:
        return f"{self.file}; No such file or directory"


@finding("TFP023", "cut-shard", noticed=FILES)
class TruncatedShard(Finding):
    """{file}: {actual} bytes; the index expects {wanted}

    ## Cause
    The download or copy is incomplete, or the index and the shard belong to different checkpoints.
    ## Fix
    Copy the whole folder again.
    ## Example
        tfport check tests/truth/models/shard_cut --on tensorflow==2.8.4 --loader capi
    """

    file: str
    actual: int
    wanted: int

    def says(self) -> str:
        return "Read less bytes than requested"


@finding("TFP024", "damaged-index", noticed=FILES)
class DamagedIndex(Finding):
    """{sentence}

    ## Cause
    The checkpoint's index cannot be read: it is incomplete or was changed.
    ## Fix
    Copy the whole folder again.
    ## Example
        tfport check tests/truth/models/index_cut --on tensorflow==2.8.4 --loader capi
    """

    sentence: str


@finding("TFP025", "tensor-not-in-checkpoint", noticed=FILES)
class TensorNotInCheckpoint(Finding):
    """the checkpoint has no tensor `{key}` for variable `{variable}`

    ## Cause
    Graph and checkpoint belong to two models, or to two versions of one.
    ## Fix
    Use the checkpoint that was written with this graph, or export again.
    ## Example
        tfport check tests/truth/models/tensor_missing --on tensorflow==2.8.4 --loader capi
    """

    key: str
    variable: str

    def says(self) -> str:
        return f"Key {self.key} not found in checkpoint"


@finding("TFP026", "tensor-does-not-fit", noticed=FILES)
class TensorTypeMismatch(Finding):
    """tensor `{key}` of the checkpoint is {actual}; variable `{variable}` is {wanted}

    ## Cause
    Graph and checkpoint belong to two models, or to two versions of one.
    ## Fix
    Use the checkpoint that was written with this graph, or export again.
    ## Example
        tfport check tests/truth/models/tensor_of_another_type --on tensorflow==2.8.4 \\
            --loader capi
    """

    key: str
    variable: str
    actual: str
    wanted: str


@finding(
    "TFP028", "tensor-of-another-shape", noticed=Noticed(serving=AT_RUN, objects=AT_LOAD, tfport=AT_LOAD)
)
class TensorOfAnotherShape(Finding):
    """tensor `{key}` of the checkpoint is {actual}; variable `{variable}` is declared as {wanted}

    ## Cause
    The graph and the checkpoint belong to two models, or to two versions of one. The graph's
    restore op restores a resource variable whatever its shape, but the ops that read it may not
    accept that shape, so the verdict is `unknown`. If a loader refuses the shape, tfport reports
    TFP026 instead.
    ## Fix
    Use the checkpoint that was written with this graph, or export again.
    ## Example
        tfport check tests/truth/models/tensor_of_another_shape --on tensorflow==2.8.4 \\
            --loader capi
    """

    decides = False
    key: str
    variable: str
    actual: str
    wanted: str


@finding("TFP029", "damaged-shard", noticed=FILES)
class DamagedShard(Finding):
    """{sentence}

    ## Cause
    A tensor's bytes do not match their checksum: the copy is damaged. Only `--checksums`, which
    reads all weights, checks this.
    ## Fix
    Copy the whole folder again.
    ## Example
        tfport check tests/truth/models/shard_changed --on tensorflow==2.8.4 --loader capi \\
            --checksums
    """

    sentence: str


@finding(
    "TFP027",
    "missing-asset",
    noticed=Noticed(serving=WHEN_LOADING, objects=WHEN_LOADING, tfport=WHEN_LOADING),
)
class MissingAsset(Finding):
    """{file}: missing; the model reads it when it is loaded

    ## Cause
    The folder was copied without `assets/`, or without one of its files, such as a
    vocabulary.
    ## Fix
    Copy the whole folder again.
    ## Example
        tfport check tests/truth/models/table_from_missing_file --on tensorflow==2.8.4 \\
            --loader capi
    """

    file: str

    def says(self) -> str:
        return f"{self.file}; No such file or directory"


@check
def files_are_complete(model: CheckedModel, target: Target, loader: Loader) -> Iterator[Finding]:
    for problem in model.once(_files):
        refused = isinstance(problem, TensorOfAnotherShape) and loader.path in CHECK_SHAPES
        yield TensorTypeMismatch(**vars(problem)) if refused else problem


def _files(checked: CheckedModel) -> Iterator[Finding]:
    findings = [*_checkpoint(checked.model), *_weights(checked.model), *_assets(checked.model)]
    yield from findings
    if checked.checksums and not findings:
        yield from _checksums(checked.model)


def _checkpoint(model: Model) -> Iterator[Finding]:
    if model.checkpoint_prefix is None:
        return
    label = model.files.label(model.checkpoint_prefix)
    try:
        checkpoint = model.checkpoint if has_index(model) else None
        if checkpoint is None:
            saved = [variable for variable in variables(model) if variable.key]
            if saved:
                yield NoVariables(nodes=[saved[0].node], file=f"{label}.index", count=len(saved))
            return
        if isinstance(checkpoint, Bundle):
            yield from _shards(model, checkpoint)
        yield from _mismatches(model)
    except UnreadableFile as error:
        yield DamagedIndex(sentence=str(error))


def _weights(model: Model) -> Iterator[Finding]:
    """The files of a TensorFlow.js model that do not have the weights of its manifest."""
    stored = model.keras.weights.tfjs if model.keras and model.keras.weights else model.weights
    for group in stored.groups if stored else ():
        try:
            group.spans  # noqa: B018  the first access compares the sizes
        except UnreadableFile as error:
            yield IncompleteWeights(sentence=str(error))


def _checksums(model: Model) -> Iterator[Finding]:
    """The tensors whose bytes do not match their checksums; all of them are read."""
    if not has_index(model) or (checkpoint := model.checkpoint) is None:
        return
    for name in checkpoint.names():
        try:
            checkpoint.read(name)
        except UnreadableFile as error:
            yield DamagedShard(sentence=str(error))


def _shards(model: Model, bundle: Bundle) -> Iterator[Finding]:
    for shard, end in bundle.shard_ends().items():
        label = model.files.label(shard)
        if not model.files.has(shard):
            yield MissingShard(file=label)
        elif (size := model.files.size(shard)) < end:
            yield TruncatedShard(file=label, actual=size, wanted=end)


def _mismatches(model: Model) -> Iterator[Finding]:
    """The tensors of the checkpoint that do not match their variables."""
    for mismatch in restore_mismatches(model):
        variable = mismatch.variable
        fields = {"nodes": [variable.node], "key": mismatch.key, "variable": variable.name}
        if mismatch.actual is None:
            yield TensorNotInCheckpoint(**fields)  # type: ignore[arg-type]
            continue
        accepts_any_shape = mismatch.only_shape and variable.node.op == "VarHandleOp" and not variable.slice
        declared = TensorOfAnotherShape if accepts_any_shape else TensorTypeMismatch
        yield declared(**fields, actual=mismatch.actual, wanted=mismatch.expected)  # type: ignore[arg-type]


def _assets(model: Model) -> Iterator[Finding]:
    for asset in assets(model):
        if asset.nbytes is None:
            node = model.graph.find(asset.tensor.partition(":")[0])
            file = model.files.label(f"assets/{asset.file}")
            yield MissingAsset(nodes=[node] if node else [], file=file)

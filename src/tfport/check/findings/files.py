"""Are the files there and whole: variables with their shards, and assets?

Findings 02x. Nothing of the weights is read: the index says how long each shard must be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from tfport.check.findings import tensorflow_messages as wording
from tfport.check.findings.finding import Finding, finding
from tfport.errors import MissingTensor, UnreadableFile
from tfport.formats.checkpoint.bundle import Bundle
from tfport.formats.saved_model.signature import SAVED_MODEL
from tfport.graph.dtypes import DType
from tfport.graph.graph import Node
from tfport.graph.model import Model
from tfport.graph.shapes import Shape
from tfport.graph.state import GraphVariable, assets, shared_name, variables


@finding("TFP021", "no-variables")
class NoVariables(Finding):
    """{file}: missing; {count} variables are in it

    ## Cause
    The folder was copied without `variables/`, or the copy was cut short. A session loads
    such a model and says nothing; it fails when a variable is read.
    ## Fix
    Copy the whole folder again. A model without variables is a frozen one: freeze it
    before copying the graph alone.
    """

    file: str
    count: int

    def says(self) -> str:
        node = self.nodes[0]
        return wording.unset_variable(shared_name(node), node.op, self.on)


@finding("TFP022", "missing-shard")
class MissingShard(Finding):
    """{file}: missing; tensors of the checkpoint are in it

    ## Cause
    A checkpoint is an index and one or more shards; all of them belong together.
    ## Fix
    Copy the whole folder again.
    """

    file: str

    def says(self) -> str:
        return f"{self.file}; No such file or directory"


@finding("TFP023", "cut-shard")
class CutShard(Finding):
    """{file}: {found} bytes; the index speaks of {wanted}

    ## Cause
    The download or copy was cut short, or index and shard are of two checkpoints.
    ## Fix
    Copy the whole folder again.
    """

    file: str
    found: int
    wanted: int

    def says(self) -> str:
        return "Read less bytes than requested"


@finding("TFP024", "damaged-index")
class DamagedIndex(Finding):
    """{sentence}

    ## Cause
    The index of the checkpoint cannot be read: it was cut short or changed.
    ## Fix
    Copy the whole folder again.
    """

    sentence: str


@finding("TFP025", "tensor-not-in-checkpoint")
class TensorNotInCheckpoint(Finding):
    """the checkpoint has no tensor `{key}` for variable `{variable}`

    ## Cause
    Graph and checkpoint are of two models, or of two versions of one.
    ## Fix
    Put the checkpoint beside the graph that wrote it, or export again.
    """

    key: str
    variable: str

    def says(self) -> str:
        return f"Key {self.key} not found in checkpoint"


@finding("TFP026", "tensor-does-not-fit")
class TensorDoesNotFit(Finding):
    """tensor `{key}` of the checkpoint is {found}; variable `{variable}` is {wanted}

    ## Cause
    Graph and checkpoint are of two models, or of two versions of one.
    ## Fix
    Put the checkpoint beside the graph that wrote it, or export again.
    """

    key: str
    variable: str
    found: str
    wanted: str


@finding("TFP028", "tensor-of-another-shape")
class TensorOfAnotherShape(Finding):
    """tensor `{key}` of the checkpoint is {found}; variable `{variable}` says {wanted}

    ## Cause
    Graph and checkpoint are of two models, or of two versions of one. A resource variable
    takes any shape when it is restored; what reads it may not, so the verdict is `unknown`.
    ## Fix
    Put the checkpoint beside the graph that wrote it, or export again.
    """

    decides = False
    key: str
    variable: str
    found: str
    wanted: str


@finding("TFP029", "damaged-shard")
class DamagedShard(Finding):
    """{sentence}

    ## Cause
    The bytes of a tensor are not those that were written: the copy is damaged. It is only
    looked for with `--checksums`, which reads all weights.
    ## Fix
    Copy the whole folder again.
    """

    sentence: str


@finding("TFP027", "missing-asset")
class MissingAsset(Finding):
    """{file}: missing; the model reads it when it is loaded

    ## Cause
    The folder was copied without `assets/`, or without one of its files: vocabularies are
    there.
    ## Fix
    Copy the whole folder again.
    """

    file: str

    def says(self) -> str:
        return f"{self.file}; No such file or directory"


@dataclass(frozen=True, slots=True)
class Lapse:
    """Something about the files that is wrong on every target."""

    make: Callable[..., Finding]
    """The finding, once the target is known."""
    kind: type[Finding]
    node: Node | None = None
    """The variable or table that it concerns; None for the whole model."""
    signature: str | None = None


def file_lapses(model: Model) -> list[Lapse]:
    return [*_checkpoint(model), *_assets(model)]


def lapse(kind: type[Finding], node: Node | None = None, **told: Any) -> Lapse:
    return Lapse(partial(kind, nodes=[node] if node else [], **told), kind, node, told.get("signature"))


def _checkpoint(model: Model) -> Iterator[Lapse]:
    if model.checkpoint_prefix is None:
        return
    label = model.files.label(model.checkpoint_prefix)
    try:
        found = model.checkpoint if has_index(model) else None
        if found is None:
            kept = [variable for variable in variables(model) if variable.key]
            if kept:
                yield lapse(NoVariables, kept[0].node, file=f"{label}.index", count=len(kept))
            return
        if isinstance(found, Bundle):
            yield from _shards(model, found)
        found.names()  # all at once: looking up one by one costs more
        for variable in variables(model):
            yield from _restored(model, variable)
    except UnreadableFile as error:
        yield lapse(DamagedIndex, sentence=str(error))


def checksum_lapses(model: Model) -> Iterator[Lapse]:
    """The tensors whose bytes are not those that were written; all of them are read."""
    if not has_index(model) or (found := model.checkpoint) is None:
        return
    for name in found.names():
        try:
            found.read(name)
        except UnreadableFile as error:
            yield lapse(DamagedShard, sentence=str(error))


def has_index(model: Model) -> bool:
    """Whether there is a checkpoint to restore; a SavedModel without an index counts as one without."""
    prefix = model.checkpoint_prefix
    if prefix is None or model.format is not SAVED_MODEL:
        return prefix is not None
    return model.files.has(f"{prefix}.index")


def _shards(model: Model, bundle: Bundle) -> Iterator[Lapse]:
    for shard, end in bundle.shard_ends().items():
        label = model.files.label(shard)
        if not model.files.has(shard):
            yield lapse(MissingShard, file=label)
        elif (size := model.files.size(shard)) < end:
            yield lapse(CutShard, file=label, found=size, wanted=end)


def _restored(model: Model, variable: GraphVariable) -> Iterator[Lapse]:
    """Whether the checkpoint has what a variable is filled with; one of slices is not compared."""
    if variable.key is None or model.checkpoint is None:
        return
    told = {"key": variable.key, "variable": variable.name}
    try:
        entry = model.checkpoint.entry(variable.key)
    except MissingTensor:
        yield lapse(TensorNotInCheckpoint, variable.node, **told)
        return
    if variable.slice:
        return
    dtype, shape = DType.of(entry.dtype), Shape(entry.shape)
    if dtype != variable.dtype or not shape.fits(variable.shape):
        found, wanted = f"{dtype} {shape}", f"{variable.dtype} {variable.shape}"
        takes_any = dtype == variable.dtype and variable.node.op == "VarHandleOp"
        kind = TensorOfAnotherShape if takes_any else TensorDoesNotFit
        yield lapse(kind, variable.node, **told, found=found, wanted=wanted)


def _assets(model: Model) -> Iterator[Lapse]:
    for asset in assets(model):
        if asset.nbytes is None:
            node = model.graph.find(asset.tensor.partition(":")[0])
            yield lapse(MissingAsset, node, file=model.files.label(f"assets/{asset.file}"))

"""What a model is made of: its files and weights with their SHA-256, and the packages that it needs.

Everything comes from the files: the packages are those whose ops the model uses, with the oldest release that
has them all. Nothing is guessed, and the same model always gives the same materials.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator

from tfport.formats.digests import model_files
from tfport.formats.files import Files, release_mapped
from tfport.formats.format import ModelFormat
from tfport.frontends.model_weights import model_weights
from tfport.graph.model import Model
from tfport.inspection.inspection import Inspection
from tfport.rendering import RenderedResult
from tfport.scan.scan import ScanReport
from tfport.startup.dataclass import dataclass

TENSORFLOW = "tensorflow"


@dataclass(frozen=True, slots=True)
class MaterialFile:
    """A file of the model."""

    name: str
    sha256: str


@dataclass(frozen=True, slots=True)
class MaterialWeight:
    """An array of numbers that training made."""

    name: str
    dtype: str
    shape: tuple[int | None, ...]
    sha256: str
    """Of its elements in row-major order, little-endian."""


@dataclass(frozen=True, slots=True)
class NeededPackage:
    """A package without which the model does not run, and the evidence."""

    name: str
    least_version: str
    """The oldest release that has what the model uses; empty if not known."""
    evidence: str


@dataclass(repr=False)
class BillOfMaterials(RenderedResult):
    """What a model is made of."""

    inspection: Inspection
    files: list[MaterialFile]
    weights: list[MaterialWeight]
    packages: list[NeededPackage]
    scanned: ScanReport

    @property
    def format(self) -> ModelFormat:
        return self.inspection.format

    @property
    def sha256(self) -> str:
        """The SHA-256 of the list of its files."""
        lines = "".join(f"{file.sha256}  {file.name}\n" for file in self.files)
        return hashlib.sha256(lines.encode(errors="surrogateescape")).hexdigest()


def bill_of_materials(model: Model, inspection: Inspection, scanned: ScanReport) -> BillOfMaterials:
    return BillOfMaterials(
        inspection, list(_files(model)), list(_weights(model)), list(_packages(inspection)), scanned
    )


def _files(model: Model) -> Iterator[MaterialFile]:
    sums = model_files(model.where) if os.path.lexists(model.where) else dict(_digests(model.files))
    for name in sorted(sums):
        yield MaterialFile(name, sums[name])


def _digests(files: Files, folder: str = "") -> Iterator[tuple[str, str]]:
    """The SHA-256 of each file of a tree: a folder in an archive."""
    names, folders = files.list(folder)
    for name in (os.path.join(folder, name) for name in names):
        content = files.map(name)
        yield name, hashlib.sha256(content).hexdigest()
        release_mapped(content)
    for inner in folders:
        yield from _digests(files, os.path.join(folder, inner))


def _weights(model: Model) -> Iterator[MaterialWeight]:
    """The weights in the order of the file; each is read, hashed and released."""
    for weight in model_weights(model):
        yield MaterialWeight(weight.name, weight.dtype, weight.shape, _sha256(weight.read().tobytes()))
    if model.checkpoint is not None:
        model.checkpoint.release_memory()


def _packages(inspection: Inspection) -> Iterator[NeededPackage]:
    newest = inspection.newest_ops
    if inspection.lite is None and inspection.nodes:
        op, release = next(iter(newest.items()), ("", ""))
        yield NeededPackage(TENSORFLOW, release, f"op {op}" if op else "its ops")
    for op, providers in inspection.addon_ops.items():
        yield NeededPackage(providers[0], "", f"op {op}")
    for op in sorted(inspection.custom_ops):
        yield NeededPackage("", "", f"custom op {op}, which no recorded package has")


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()

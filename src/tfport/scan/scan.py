"""Scan a model: everything that it could do to the machine that loads it. Nothing in it is run.

`scan_path(path)` looks at the files first, also of what is not a model, and then at the model; `scan_model`
only at a model that is loaded.
"""

from __future__ import annotations

import functools
import gc
from collections.abc import Iterable, Iterator, Sequence

from tfport.check.checked_model import CheckedModel
from tfport.errors import Error
from tfport.formats.checkpoint.signature import CHECKPOINT
from tfport.formats.files import MemoryFiles
from tfport.formats.find import find_model
from tfport.formats.format import ModelFormat, ModelLocation, Sample
from tfport.formats.recognize import recognize
from tfport.frontends.load import load_any_model
from tfport.graph.model import Model
from tfport.graph.op_signature import OpDefs
from tfport.rendering import RenderedResult
from tfport.scan.file_findings import NotScanned
from tfport.scan.file_risks import BEFORE_END, BEHIND, HDF5_START, look_at
from tfport.scan.graph_risks import graph_risks
from tfport.scan.risk import NOTE, Risk, rank, worst_severity
from tfport.startup.dataclass import dataclass, field

KERAS_WEIGHTS = "model.weights.h5"
"""What is read with the configuration of a Keras archive."""
NO_MODEL = "not a model that tfport reads"
BESIDE = "files beside models"


@dataclass(repr=False)
class ScanReport(RenderedResult):
    """A model and what it could do, the worst first."""

    model: str
    format: str
    risks: list[Risk] = field(default_factory=list)
    nodes: int = 0
    """The number of nodes that were looked at, also those that nothing runs."""

    @property
    def severity(self) -> str | None:
        """The severity of the worst; None if nothing was found."""
        return worst_severity(self.risks)


def scan_path(path: str, definitions: OpDefs, tags: Iterable[str] | None = None) -> ScanReport:
    """Everything that a path could do: the model, and the files in its folder or archive.

    What cannot be read is an error only if nothing of concern was found in it.
    """
    try:
        location = find_model(path)
        model = load_any_model(location, definitions, tags)
        return scan_loaded(path, location, model, definitions, tags)
    except Error as error:
        risks_inside = functools.partial(_inner_risks, own=set(), definitions=definitions)
        return _without_model(path, look_at(path, risks_inside), error)


def scan_loaded(
    path: str, location: ModelLocation, model: Model, definitions: OpDefs, tags: Iterable[str] | None = None
) -> ScanReport:
    """Everything that the path of a model that is loaded could do."""
    report = scan_model(model)
    if tags is None:
        _add_other_graphs(report, model, location, definitions)
    own = {location.where, *map(location.files.label, (location.name, KERAS_WEIGHTS)), report.model}
    risks_inside = functools.partial(_inner_risks, own=own, definitions=definitions)
    report.risks += look_at(path, risks_inside)
    report.risks = _once(report.risks)
    return report


def _add_other_graphs(report: ScanReport, model: Model, location: ModelLocation, definitions: OpDefs) -> None:
    """What the other MetaGraphs of a SavedModel could do: whoever loads it chooses one by its tags."""
    seen = {(risk.code, risk.message) for risk in report.risks}
    for tags in dict.fromkeys(model.tag_sets):
        if tags != model.tags:
            other = scan_model(load_any_model(location, definitions, tags))
            report.nodes += other.nodes
            for risk in other.risks:
                if (risk.code, risk.message) not in seen:
                    named = f"the tags `{', '.join(tags)}`" if tags else "no tags"
                    risk.why = "; ".join(filter(None, (risk.why, f"in the MetaGraph with {named}")))
                    report.risks.append(risk)


def _without_model(path: str, risks: list[Risk], error: Error) -> ScanReport:
    if worst_severity(risks) in (None, NOTE):
        raise error
    why = str(error).removeprefix(f"{path}: ")
    unread = NotScanned(subject=f"`{path}`", detail=why, level=NOTE)
    return ScanReport(path, NO_MODEL, _once([*risks, unread]))


def scan_beside(folder: str, models: Iterable[str], definitions: OpDefs) -> ScanReport:
    """Everything that the files of a folder could do which belong to none of the models in it."""
    risks_inside = functools.partial(_inner_risks, own=set(), definitions=definitions)
    return ScanReport(folder, BESIDE, _once(look_at(folder, risks_inside, without=models)))


def _once(risks: Sequence[Risk]) -> list[Risk]:
    """Each finding once, the worst first."""
    once = {(risk.code, risk.message): risk for risk in reversed(risks) if not risk.nodes}
    return sorted([*once.values(), *(risk for risk in risks if risk.nodes)], key=rank)


def _inner_risks(
    where: str, name: str, data: memoryview, *, own: set[str], definitions: OpDefs
) -> Iterator[Risk]:
    """What a model inside the files could do, other than the model that the path names."""
    if name == BEHIND or bytes(data[: len(HDF5_START)]) == HDF5_START:
        from tfport.scan.keras_risks import hdf5_risks

        yield from hdf5_risks(data, where, "weights" if name.endswith("weights.h5") else "h5")
    if where not in own or name in (BEHIND, BEFORE_END):
        for risk in _model_risks(where, name, data, definitions):
            risk.subject = f"`{where}`: {risk.subject}" if risk.subject else f"`{where}`"
            yield risk
        gc.collect()  # automatic collection is disabled in commands, and models are large


def _model_risks(where: str, name: str, data: memoryview, definitions: OpDefs) -> list[Risk]:
    """What the model in these bytes could do; nothing if there is none."""
    try:
        if name == BEHIND:
            return _hidden_risks(where, data)
        row = recognize(Sample(MemoryFiles(where, {name: data}), name))
        if not isinstance(row, ModelFormat) or row.bytes_name is None:
            return []  # no model, or not one by itself: the path is read as a whole
        location = ModelLocation(row, MemoryFiles(where, {row.bytes_name: data}), row.bytes_name, where)
        return scan_model(load_any_model(location, definitions)).risks
    except Error as error:
        return [NotScanned(detail=str(error).removeprefix(f"{where}: "), level=NOTE)]


def _hidden_risks(where: str, data: memoryview) -> list[Risk]:
    """What the Keras file behind something else could do."""
    from tfport.formats.hdf5.file import open_hdf5
    from tfport.formats.keras.h5_file import read_h5
    from tfport.scan.keras_risks import keras_risks

    return list(keras_risks(read_h5(open_hdf5(data, where))))


def scan_model(model: Model) -> ScanReport:
    """Everything that a model could do."""
    risks: list[Risk] = []
    nodes = 0
    if not model.no_graph and model.format is not CHECKPOINT:  # which has nothing to run
        checked = CheckedModel(model)
        risks += graph_risks(checked)
        nodes = sum(len(usage.nodes) for usage in checked.usages)
    risks += _other_risks(model)
    return ScanReport(model.where, model.format.name, sorted(risks, key=rank), nodes)


def _other_risks(model: Model) -> Iterator[Risk]:
    """What is not in the graph. Imported here, as most models need none of it."""
    if model.keras is not None:
        from tfport.scan.keras_risks import keras_risks

        yield from keras_risks(model.keras)
    elif model.format.key == "saved_model":
        yield from _saved_keras_risks(model)
    if model.lite is not None:
        from tfport.scan.lite_risks import lite_risks

        yield from lite_risks(model.lite, is_built=not model.no_graph)


def _saved_keras_risks(model: Model) -> Iterator[Risk]:
    """What Keras would run if it loaded a SavedModel; TensorFlow itself runs the graph only."""
    from tfport.formats.keras.saved_model import SAVED_MODEL, unsafe_of_saved_model
    from tfport.scan.keras_risks import content_risks

    for risk in content_risks(unsafe_of_saved_model(model.files, model.meta.object_graph_def), SAVED_MODEL):
        risk.moment = "while Keras loads the model"
        yield risk

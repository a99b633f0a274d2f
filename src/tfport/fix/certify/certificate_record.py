"""Read a certificate again: what is needed to repeat its comparison.

Certificates of older versions of tfport have less; what they lack is None or empty here.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, TypeVar

from tfport.errors import UnreadableFile
from tfport.fix.certify.attestation import certificate_in
from tfport.formats.files import reason
from tfport.graph.graph_outputs import WHOLE_GRAPH
from tfport.startup.dataclass import dataclass, field

SUFFIX = ".certificate.json"
NEWEST = 1
LARGEST = 1 << 30
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """A model of a certificate."""

    path: str
    sha256: str
    files: dict[str, str] = field(default_factory=dict)
    """The SHA-256 of each file by name; empty in certificates of older versions."""


@dataclass(frozen=True, slots=True)
class CertificateRecord:
    """What a certificate says."""

    path: str
    tfport: str
    statement: str
    target: str
    source: ModelRecord
    output: ModelRecord
    signatures: list[str]
    settings: dict[str, Any]
    """The arguments of `verify`."""
    trials: dict[tuple[str, str], dict[str, str] | None]
    """The SHA-256 of the inputs of each trial, by signature and name; None if it is not known."""
    input_files: list[str]
    """The files with the user's inputs."""
    target_ran: bool
    tags: list[str] = field(default_factory=list)
    """The tags of the MetaGraph of the original."""
    signature_changes: dict[str, Any] = field(default_factory=dict)
    """How the signatures of the original were changed before the rewrite."""
    weights: ModelRecord | None = None
    """The weights of the original, if they were saved apart from its architecture."""


JSON_KINDS: dict[type, str] = {
    str: "a string", int: "an integer", float: "a number", dict: "an object", list: "a list",
}  # fmt: skip


def read_certificate(path: str | os.PathLike[str]) -> CertificateRecord:
    """Read a certificate; raises `UnreadableFile` for what is none."""
    name = os.fspath(path)
    document = _document(name)
    try:
        return _record(name, document)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        what = f"no `{error.args[0]}`" if isinstance(error, KeyError) else str(error)
        raise UnreadableFile(f"{name}: not a certificate of `tfport fix`: {what}") from None


def _document(name: str) -> dict[str, Any]:
    try:
        if Path(name).stat().st_size > LARGEST:
            raise UnreadableFile(f"{name}: too large for a certificate")
        document = certificate_in(json.loads(Path(name).read_bytes()))
    except OSError as error:
        raise UnreadableFile(f"{name}: {reason(error)}") from None
    except (ValueError, RecursionError) as error:
        raise UnreadableFile(f"{name}: not a certificate of `tfport fix`: not JSON: {error}") from None
    if not isinstance(document, dict) or "comparisons" not in document or "version" not in document:
        raise UnreadableFile(f"{name}: not a certificate of `tfport fix`; expected OUT{SUFFIX}")
    if document["version"] != NEWEST:
        raise UnreadableFile(
            f"{name}: a certificate of version {document['version']}; this tfport reads version {NEWEST}"
        )
    return document


def _record(name: str, document: dict[str, Any]) -> CertificateRecord:
    signatures = _texts(document["signatures"], "signatures")
    made, runs = (_is(document.get(key) or {}, dict, key) for key in ("made", "target_runs"))
    source, output = (_is(document[key], dict, key) for key in ("input", "output"))
    trials = _is(document["trials"], list, "trials")
    inputs_files = _is(made.get("inputs_files", []), list, "made.inputs_files")
    return CertificateRecord(
        name,
        _is(document["tfport"], str, "tfport"),
        _is(document["statement"], str, "statement"),
        _is(document["target"], str, "target"),
        _model(source, "input"),
        _model(output, "output"),
        signatures,
        _settings(document, signatures),
        dict(_trial(trial, f"trials[{i}]") for i, trial in enumerate(trials)),
        [_text(file, "path", f"made.inputs_files[{i}]") for i, file in enumerate(inputs_files)],
        bool(runs.get("ran")),
        _texts(source.get("tags", []), "input.tags"),
        _is(source.get("signature_changes", {}), dict, "input.signature_changes"),
        _model(_is(source["weights"], dict, "input.weights"), "input.weights")
        if "weights" in source
        else None,
    )


def _model(document: dict[str, Any], key: str) -> ModelRecord:
    files = _is(document.get("files", {}), dict, f"{key}.files")
    sums = {name: _is(sha256, str, f"{key}.files.{name}") for name, sha256 in files.items()}
    return ModelRecord(_text(document, "path", key), _text(document, "sha256", key), sums)


def _trial(trial: Any, key: str) -> tuple[tuple[str, str], dict[str, str] | None]:
    return (_text(trial, "signature", key), _text(trial, "name", key)), _inputs(trial, key)


def _inputs(trial: dict[str, Any], key: str) -> dict[str, str] | None:
    if "inputs" not in trial:
        return None
    inputs = _is(trial["inputs"], list, f"{key}.inputs")
    keys = [f"{key}.inputs[{i}]" for i in range(len(inputs))]
    return {_text(i, "name", k): _text(i, "sha256", k) for i, k in zip(inputs, keys, strict=True)}


def _settings(document: dict[str, Any], signatures: list[str]) -> dict[str, Any]:
    """The arguments of `verify`; of an old certificate, what follows from its comparisons."""
    tolerance = _is(document.get("tolerance") or {}, dict, "tolerance")
    limits = {name: _number(tolerance.get(name), f"tolerance.{name}") for name in ("rtol", "atol")}
    if settings := _is(document.get("settings") or {}, dict, "settings"):
        chosen = settings["signatures"]
        return {
            "signatures": None if chosen is None else _texts(chosen, "settings.signatures"),
            "fetches": _texts(settings["fetches"], "settings.fetches"),
            "feeds": _texts(settings["feeds"], "settings.feeds"),
            "only_answers": bool(settings["only_answers"]),
            "steps": _is(settings["steps"], int, "settings.steps"),
            "part": _number(settings.get("part"), "settings.part"),
            **limits,
        }
    if signatures == [WHOLE_GRAPH]:
        comparisons = _is(document["comparisons"], list, "comparisons")
        outputs = dict.fromkeys(
            name
            for i, comparison in enumerate(comparisons)
            for name in _is(comparison, dict, f"comparisons[{i}]")["outputs"]
        )
        return {"fetches": list(outputs), **limits}
    return {"signatures": signatures, **limits}


def _number(value: Any, key: str) -> float | None:
    return None if value is None else float(_is(value, (int, float), key))


def _text(document: Any, name: str, key: str) -> str:
    entries = _is(document, dict, key)
    if name not in entries:
        raise ValueError(f"`{key}` has no `{name}`")
    return _is(entries[name], str, f"{key}.{name}")


def _texts(value: Any, key: str) -> list[str]:
    return [_is(text, str, f"{key}[{i}]") for i, text in enumerate(_is(value, list, key))]


def _is(value: Any, kind: type[T] | tuple[type[T], ...], key: str) -> T:
    if not isinstance(value, kind):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        expected = " or ".join(JSON_KINDS[each] for each in kinds)
        raise TypeError(f"`{key}`: expected {expected}, found {type(value).__name__}")
    return value

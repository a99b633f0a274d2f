"""Read a certificate again: what is needed to repeat its comparison.

Certificates of older versions of tfport have less; what they lack is None or empty here.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from tfport.errors import UnreadableFile
from tfport.formats.files import reason
from tfport.graph.graph_outputs import WHOLE_GRAPH

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


def read_certificate(path: str | os.PathLike[str]) -> CertificateRecord:
    """Read a certificate; raises `UnreadableFile` for what is none."""
    name = os.fspath(path)
    document = _document(name)
    try:
        return _record(name, document)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        what = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise UnreadableFile(f"{name}: not a certificate of `tfport fix`: {what}") from None


def _document(name: str) -> dict[str, Any]:
    try:
        if Path(name).stat().st_size > LARGEST:
            raise UnreadableFile(f"{name}: too large for a certificate")
        document = json.loads(Path(name).read_bytes())
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
    signatures = [_is(signature, str) for signature in document["signatures"]]
    made, runs = (_is(document.get(name) or {}, dict) for name in ("made", "target_runs"))
    return CertificateRecord(
        name,
        _is(document["tfport"], str),
        _is(document["statement"], str),
        _is(document["target"], str),
        _model(_is(document["input"], dict)),
        _model(_is(document["output"], dict)),
        signatures,
        _settings(document, signatures),
        dict(_trial(_is(trial, dict)) for trial in _is(document["trials"], list)),
        [_is(file["path"], str) for file in made.get("inputs_files", ())],
        bool(runs.get("ran")),
        [_is(tag, str) for tag in document["input"].get("tags", ())],
    )


def _model(document: dict[str, Any]) -> ModelRecord:
    files = {_is(name, str): _is(sha256, str) for name, sha256 in document.get("files", {}).items()}
    return ModelRecord(_is(document["path"], str), _is(document["sha256"], str), files)


def _trial(trial: dict[str, Any]) -> tuple[tuple[str, str], dict[str, str] | None]:
    return (_is(trial["signature"], str), _is(trial["name"], str)), _inputs(trial)


def _inputs(trial: dict[str, Any]) -> dict[str, str] | None:
    if "inputs" not in trial:
        return None
    return {_is(i["name"], str): _is(i["sha256"], str) for i in trial["inputs"]}


def _settings(document: dict[str, Any], signatures: list[str]) -> dict[str, Any]:
    """The arguments of `verify`; of an old certificate, what follows from its comparisons."""
    tolerance = document.get("tolerance") or {}
    limits = {"rtol": _number(tolerance.get("rtol")), "atol": _number(tolerance.get("atol"))}
    if settings := document.get("settings"):
        return {
            "signatures": None if settings["signatures"] is None else list(settings["signatures"]),
            "fetches": [_is(name, str) for name in settings["fetches"]],
            "feeds": [_is(name, str) for name in settings["feeds"]],
            "only_answers": bool(settings["only_answers"]),
            "steps": _is(settings["steps"], int),
            **limits,
        }
    if signatures == [WHOLE_GRAPH]:
        outputs = dict.fromkeys(
            name for comparison in document["comparisons"] for name in comparison["outputs"]
        )
        return {"fetches": list(outputs), **limits}
    return {"signatures": signatures, **limits}


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _is(value: Any, kind: type[T]) -> T:
    if not isinstance(value, kind):
        raise TypeError(f"expected {kind.__name__}, found {type(value).__name__}")
    return value

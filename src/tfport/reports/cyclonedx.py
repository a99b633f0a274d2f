"""A bill of materials as CycloneDX 1.6 (ML-BOM): the model, its files, its weights and what it needs.

The document has no time and no random number: the same model gives the same bytes.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any

from tfport.graph.model import Signature, TensorSpec
from tfport.inspection.materials import BillOfMaterials, MaterialFile, MaterialWeight, NeededPackage
from tfport.scan.risk import Risk

SPEC = "1.6"
NAMESPACE = uuid.UUID("6f2c1f0e-7d0c-5b8a-9b5e-3f1f6f1a7c11")
"""Of the serial numbers, which are made from the SHA-256 of the model."""
MODEL = "model"
Object = dict[str, Any]


def cyclonedx(bill: BillOfMaterials) -> str:
    """The document as JSON."""
    return json.dumps(_document(bill), indent=1, ensure_ascii=False) + "\n"


def _document(bill: BillOfMaterials) -> Object:
    from importlib.metadata import version

    tool = {"type": "application", "name": "tfport", "version": version("tfport")}
    parts = [
        *map(_file, bill.files),
        *map(_weight, bill.weights),
        *(_package(number, package) for number, package in enumerate(bill.packages)),
    ]
    return {
        "$schema": f"http://cyclonedx.org/schema/bom-{SPEC}.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": SPEC,
        "serialNumber": f"urn:uuid:{uuid.uuid5(NAMESPACE, bill.sha256)}",
        "version": 1,
        "metadata": {"tools": {"components": [tool]}, "component": _model(bill)},
        "components": parts,
        "dependencies": [
            {"ref": MODEL, "dependsOn": [part["bom-ref"] for part in parts]},
            *({"ref": part["bom-ref"]} for part in parts),
        ],
    }


def _model(bill: BillOfMaterials) -> Object:
    report = bill.inspection
    made_by = [f"TensorFlow {report.tensorflow}"] if report.tensorflow not in ("", "unknown") else []
    return {
        "type": "machine-learning-model",
        "bom-ref": MODEL,
        "name": report.model,
        "hashes": [{"alg": "SHA-256", "content": bill.sha256}],
        "modelCard": {"modelParameters": _parameters(report.signatures)},
        "properties": [
            *_properties("format", [bill.format.name]),
            *_properties("made by", [*made_by, *report.made_with]),
            *_properties("signature", report.signatures),
            *_properties("custom op", sorted(report.custom_ops)),
            *_properties("finding", map(_finding, bill.scanned.risks)),
        ],
    }


def _parameters(signatures: dict[str, Signature]) -> Object:
    inputs = {name: spec for s in signatures.values() for name, spec in s.inputs.items()}
    outputs = {name: spec for s in signatures.values() for name, spec in s.outputs.items()}
    return {
        "inputs": [{"format": _tensor(name, spec)} for name, spec in inputs.items()],
        "outputs": [{"format": _tensor(name, spec)} for name, spec in outputs.items()],
    }


def _tensor(name: str, spec: TensorSpec) -> str:
    return f"{name}: {spec.dtype.name} {spec.shape}"


def _properties(name: str, values: Any) -> Iterator[Object]:
    for value in values:
        yield {"name": f"tfport:{name}", "value": value}


def _finding(risk: Risk) -> str:
    return f"{risk.severity}[{risk.code}]: {risk.message}"


def _file(file: MaterialFile) -> Object:
    hashes = [{"alg": "SHA-256", "content": file.sha256}]
    return {"type": "file", "bom-ref": f"file:{file.name}", "name": file.name, "hashes": hashes}


def _weight(weight: MaterialWeight) -> Object:
    shape = ", ".join("?" if size is None else str(size) for size in weight.shape)
    return {
        "type": "data",
        "bom-ref": f"weight:{weight.name}",
        "name": weight.name,
        "description": f"{weight.dtype} ({shape})",
        "hashes": [{"alg": "SHA-256", "content": weight.sha256}],
    }


def _package(number: int, package: NeededPackage) -> Object:
    named: Object = {
        "type": "library",
        "bom-ref": f"needs:{number}:{package.name or package.evidence}",
        "name": package.name or package.evidence,
        "properties": list(_properties("evidence", [package.evidence])),
    }
    if package.least_version:
        named["properties"] += _properties("least version", [package.least_version])
    if package.name:
        named["purl"] = f"pkg:pypi/{package.name}"
    return named

"""A comparison as JSON: the contract of `tfport env --json`, version 1."""

from __future__ import annotations

from typing import Any

from tfport.atlas.environment import Environment
from tfport.env.compare import EnvironmentComparison, ModelComparison, SideConflict, environment_facts
from tfport.env.difference import EnvironmentDifference
from tfport.env.libraries import LibraryComparison
from tfport.reports.check.json import finding_json, result_json

VERSION = 1


def to_json(comparison: EnvironmentComparison) -> dict[str, Any]:
    return {
        "version": VERSION,
        "build": environment_json(comparison.build),
        "runtime": environment_json(comparison.runtime),
        "breaks": comparison.breaks,
        "verdict": comparison.verdict,
        "unknown": comparison.unknown,
        "differences": [difference_json(difference) for difference in comparison.differences],
        "conflicts": [conflict_json(conflict) for conflict in comparison.conflicts],
        "model": model_json(comparison.model) if comparison.model else None,
        "libraries": [library_json(library) for library in comparison.libraries],
    }


def environment_json(environment: Environment) -> dict[str, Any]:
    target = environment.target
    return {
        "name": environment.name,
        "target": target.requirement if target else None,
        "device": target.device if target else None,
        "system": environment.system.name or None,
        "has": {name: text or None for name, text in environment_facts(environment).items()},
        "notes": environment.notes,
        "unknown": environment.unknown or None,
    }


def difference_json(difference: EnvironmentDifference) -> dict[str, Any]:
    return {
        "name": difference.name,
        "subject": difference.subject,
        "build": difference.build,
        "runtime": difference.runtime,
        "severity": difference.severity,
        "concerns": difference.concerns,
        "breaks": difference.breaks,
        "sure": difference.sure,
        "source": difference.source,
        "names": list(difference.names),
        "fixes": list(difference.fixes),
    }


def conflict_json(conflict: SideConflict) -> dict[str, Any]:
    return {"side": conflict.side, **difference_json(conflict.conflict)}


def library_json(library: LibraryComparison) -> dict[str, Any]:
    return {
        "library": library.file,
        "breaks": library.breaks,
        "build": library.build.verdict,
        "runtime": library.runtime.verdict,
        "findings": [finding_json(finding) for finding in library.findings],
    }


def model_json(model: ModelComparison) -> dict[str, Any]:
    return {
        "model": model.model,
        "breaks": model.breaks,
        "build": [result_json(result) for result in model.build],
        "runtime": [result_json(result) for result in model.runtime],
        "new": [finding_json(finding) for finding in model.new],
    }

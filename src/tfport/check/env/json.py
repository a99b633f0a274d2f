"""A comparison as JSON: the contract of `tfport env --json`, version 1."""

from __future__ import annotations

from typing import Any

from tfport.atlas.packages import Environment
from tfport.check.env.compare import Carried, Comparison
from tfport.check.env.difference import Difference
from tfport.check.env.rows import rows
from tfport.check.report.json import finding_json, result_json

VERSION = 1


def to_json(comparison: Comparison) -> dict[str, Any]:
    return {
        "version": VERSION,
        "build": environment_json(comparison.build),
        "runtime": environment_json(comparison.runtime),
        "breaks": comparison.breaks,
        "differences": [difference_json(found) for found in comparison.differences],
        "model": carried_json(comparison.model) if comparison.model else None,
    }


def environment_json(environment: Environment) -> dict[str, Any]:
    target = environment.target
    return {
        "name": environment.name,
        "target": target.requirement if target else None,
        "device": target.device if target else None,
        "system": environment.system.name or None,
        "has": {name: told or None for name, told in rows(environment).items()},
        "notes": environment.notes,
    }


def difference_json(found: Difference) -> dict[str, Any]:
    return {
        "name": found.name,
        "subject": found.subject,
        "build": found.build,
        "runtime": found.runtime,
        "severity": found.severity,
        "concerns": found.concerns,
        "breaks": found.breaks,
        "sure": found.sure,
        "source": found.source,
        "names": list(found.names),
        "fixes": list(found.fixes),
    }


def carried_json(carried: Carried) -> dict[str, Any]:
    return {
        "model": carried.model,
        "breaks": carried.breaks,
        "build": [result_json(result) for result in carried.build],
        "runtime": [result_json(result) for result in carried.runtime],
        "new": [finding_json(finding) for finding in carried.new],
    }

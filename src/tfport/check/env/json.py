"""A comparison as JSON: the contract of `tfport env --json`, version 1."""

from __future__ import annotations

from typing import Any

from tfport.atlas.packages import Environment
from tfport.check.env.compare import EnvironmentComparison, ModelComparison
from tfport.check.env.difference import EnvironmentDifference
from tfport.check.env.environment_facts import environment_facts
from tfport.check.report.json import finding_json, result_json

VERSION = 1


def to_json(comparison: EnvironmentComparison) -> dict[str, Any]:
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
        "has": {name: told or None for name, told in environment_facts(environment).items()},
        "notes": environment.notes,
    }


def difference_json(found: EnvironmentDifference) -> dict[str, Any]:
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


def carried_json(carried: ModelComparison) -> dict[str, Any]:
    return {
        "model": carried.model,
        "breaks": carried.breaks,
        "build": [result_json(result) for result in carried.build],
        "runtime": [result_json(result) for result in carried.runtime],
        "new": [finding_json(finding) for finding in carried.new],
    }

"""The difference between two targets as JSON: the format of `tfport targets diff --json`, version 1."""

from __future__ import annotations

from typing import Any

from tfport.atlas.diff import RegistryDiff
from tfport.atlas.history_json import kernel_json

VERSION = 1


def diff_json(diff: RegistryDiff) -> dict[str, Any]:
    return {
        "version": VERSION,
        "before": diff.before,
        "after": diff.after,
        "ops": {"came": diff.added, "went": diff.removed, "changed": diff.changed},
        "kernels": [
            {
                "op": change.op,
                "device": change.device,
                "came": [kernel_json(kernel) for kernel in change.added],
                "went": [kernel_json(kernel) for kernel in change.removed],
                "changed": [kernel_json(kernel) for kernel in change.changed],
            }
            for change in diff.kernels
        ],
        "kernels_missing": diff.kernels_missing,
        "facts": {name: {"before": before, "after": after} for name, (before, after) in diff.facts.items()},
    }

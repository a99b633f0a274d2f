"""Explanations as JSON: the contract of `tfport explain --json`, version 1."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tfport.explain.explain import Explained, Explanation

if TYPE_CHECKING:
    from tfport.explain.code import CodePage

VERSION = 1


def to_json(explained: Explained) -> dict[str, Any]:
    return {
        "version": VERSION,
        "target": explained.target,
        "model": explained.model,
        "explanations": [explanation_json(explanation) for explanation in explained.explanations],
        "more": explained.more,
        "cut": explained.is_cut,
        "nearest": explained.nearest,
        "clues": explained.clues,
    }


def explanation_json(explanation: Explanation) -> dict[str, Any]:
    record = asdict(explanation)
    affected = record.pop("affected")
    if affected is not None:
        affected["foretold"] = affected.pop("predicted")
    record["model"] = affected
    return record


def codes_json(codes: list[CodePage]) -> dict[str, Any]:
    """The pages of codes."""
    return {"version": VERSION, "codes": [asdict(code) for code in codes]}

"""Models that the browser tests look at, and how to wait for a view."""

from __future__ import annotations

from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parents[2] / "examples"
ATTENTION = EXAMPLES / "attention"
TFLITE = EXAMPLES / "wake_word.tflite"
TABS = ["overview", "graph", "ops", "tensors", "verdicts", "fix", "profile"]


def settled(page: Any) -> Any:
    """Wait until nothing is being loaded."""
    page.wait_for_selector("main > *")
    page.wait_for_function("() => !document.querySelector('.loading')")
    return page

"""Check a TensorFlow Lite file on a target: what its interpreter does."""

from __future__ import annotations

from collections.abc import Sequence

from tfport.atlas.target import LITE_KIND, Target
from tfport.check.findings.finding import Finding
from tfport.check.lite.interpreter import simulated_interpreter
from tfport.check.loaders import LITE
from tfport.check.other_format import OtherFormat
from tfport.errors import Error
from tfport.formats.lite.records import LiteFile
from tfport.graph.model import Model
from tfport.startup.dataclass import replace


def loads_lite_file(model: Model, target: Target, loaders: Sequence[str] | None) -> bool:
    """Whether the interpreter of a target loads the model; an error if there is none."""
    if target.kind == LITE_KIND and model.lite is None:
        raise OtherFormat(
            f"{target.name} runs TensorFlow Lite files, and {model.where} is a {model.format.name}",
            "name a TensorFlow, such as tensorflow==2.15.1, or convert the model",
            LITE,
        )
    if model.lite is None or target.kind == "tfport":
        return False
    if target.lite is None:
        raise OtherFormat(
            f"{target.name} has no TensorFlow Lite interpreter, which {model.where} needs",
            "name one, such as ai-edge-litert==2.3.0 or tensorflow==2.15.1",
            LITE,
        )
    if other := next((name for name in loaders or () if name != LITE), None):
        raise Error(f"a TensorFlow Lite file has one loader, its interpreter; `{other}` is one of TensorFlow")
    return True


def lite_target(target: Target) -> Target:
    """The target with the notes that matter for TensorFlow Lite files."""
    registry = target.lite
    assert registry is not None
    if target.kind == LITE_KIND:
        return target
    if target.named_lite is not None:
        note = f"{registry.name} runs TensorFlow Lite files there"
    elif target.build is not None and registry.version != target.build.version:
        note = f"its interpreter is not recorded: that of {registry.name} is used"
    else:
        note = f"the interpreter of {target.name} runs TensorFlow Lite files"
    return replace(target, notes=[*target.notes, note])


def lite_findings(file: LiteFile, target: Target) -> list[Finding]:
    """Every reason why the interpreter of a target does not load or run a file."""
    return [finding.on_target(target) for finding in simulated_interpreter(file, target)]

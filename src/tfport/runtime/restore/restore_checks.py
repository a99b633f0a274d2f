"""Refuse a model whose variables cannot get their values: when the session is made, and all at once.

A tensor of another type or shape than its variable is refused, as TensorFlow does in Python, and so is
a tensor that the checkpoint does not have. A variable that nothing assigned is refused if a signature
reads it; one that nothing reads, such as a slot of an optimizer, is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tfport.errors import Error, MissingTensor, RunFailed
from tfport.graph.model import Model, Signature
from tfport.graph.restoring import RestoreMismatch, restore_mismatches
from tfport.graph.state import shared_name, variables_read

MOST_SHOWN = 20


def check_restorable(model: Model) -> None:
    """Raise an error that lists every tensor of the checkpoint that does not match its variable."""
    raise_mismatches(model, list(restore_mismatches(model)))


def raise_mismatches(model: Model, mismatches: Sequence[RestoreMismatch]) -> None:
    """Raise an error for these mismatches, if there are any."""
    if not mismatches or model.checkpoint is None:
        return
    error = MissingTensor if all(m.actual is None for m in mismatches) else RunFailed
    count = f"{len(mismatches)} tensors do not match their variables: " if len(mismatches) > 1 else ""
    raise error(
        f"{model.checkpoint.where}: {count}{_listed(map(str, mismatches), len(mismatches), '; ')}; "
        "use the checkpoint that was written with this graph, or export the model again"
    )


def unset_variables(model: Model, is_set: Callable[[str], bool], signature: Signature) -> list[str]:
    """The variables that a signature always reads and that have no value; `is_set`: whether one has."""
    read = variables_read(value.node for value in model.ends_of(signature))
    return sorted({name for node in read if not is_set(name := shared_name(node))})


def unset_error(model: Model, names: Sequence[str]) -> Error:
    """The error for variables without a value, with the file that should have them."""
    return RunFailed(f"{model.where}: {unset_sentence(model, names)}")


def unset_sentence(model: Model | None, names: Sequence[str]) -> str:
    """Which variables have no value, and the file that should have them."""
    quoted = _listed((f"`{name}`" for name in names), len(names), ", ")
    subject = f"variable {quoted} is" if len(names) == 1 else f"{len(names)} variables are"
    rest = "" if len(names) == 1 else f": {quoted}"
    return f"{subject} uninitialized{rest}; {_why(model, 'it' if len(names) == 1 else 'them')}"


def _why(model: Model | None, them: str) -> str:
    if model is None or model.checkpoint_prefix is None:
        return f"the model has no checkpoint, and nothing has assigned {them}"
    label = model.files.label(model.checkpoint_prefix)
    if model.checkpoint is None:
        return f"{label}.index, which should have {them}, is missing"
    return f"the model does not restore {them} from {label}, and nothing has assigned {them}"


def _listed(texts: Iterable[str], count: int, separator: str) -> str:
    shown = [text for _, text in zip(range(MOST_SHOWN), texts, strict=False)]
    more = [f"and {count - MOST_SHOWN} more"] if count > MOST_SHOWN else []
    return separator.join([*shown, *more])

"""Look up which releases compile an op with XLA that a message names."""

from __future__ import annotations

from collections.abc import Iterator

from tfport.atlas.target import Target
from tfport.check.compiled.jit_kernels import releases_compiling
from tfport.check.compiled.nodes import RESULT
from tfport.explain.lookup import Meaning, MessageMatch
from tfport.graph.graph import ARG

OTHER_TYPES = "attributes didn't match"
SWITCHES = ("Switch", "_SwitchN", "Merge")


def unsupported_op(match: MessageMatch, target: Target | None) -> Meaning:
    """Whether XLA compiles the op in any release, and for which types."""
    return Meaning(list(_facts(match)))


def _facts(match: MessageMatch) -> Iterator[str]:
    op, device = match.names.get("op"), match.names.get("device", "")
    if op is None:
        return
    if op in (ARG, RESULT):
        what = "an argument" if op == ARG else "a result"
        yield f"It is {what} of the function, of a type that XLA does not have, such as string."
    elif op in SWITCHES:
        yield "A branch that was exported to be lowered becomes such nodes in a session (C API, Serving)."
    elif OTHER_TYPES in match.text:
        yield f"XLA compiles {op}, but not with the types that the message shows."
    elif (releases := releases_compiling(op, device)) is not None:
        if releases:
            yield f"Recorded releases in which XLA compiles {op}: {', '.join(releases)}."
        else:
            yield f"XLA compiles {op} in none of the recorded releases."

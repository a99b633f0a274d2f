"""How TensorFlow releases differ beyond what they register: recorded from real binaries (`make truth`)."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping

from tfport.atlas.target import Target
from tfport.atlas.versions import version_key
from tfport.graph.attrs import Attr
from tfport.graph.dtypes import DType
from tfport.graph.tensors import Tensor


def since(target: Target, release: str) -> bool:
    """Whether the TensorFlow of a target is this release or later; True where it is not known."""
    return target.build is None or _is_since(target.build.version, release)


@functools.cache
def _is_since(version: str, release: str) -> bool:
    return version_key(version) >= version_key(release)


def ignores_unknown_attributes(target: Target) -> bool:
    """Whether a node may have attributes that its op does not declare."""
    return since(target, "2.5")


def fills_defaults_in_functions(target: Target) -> bool:
    """Whether absent attributes get their defaults in functions that are called by name too."""
    return since(target, "1.10") or not since(target, "1.8")


def folded_by_name(target: Target) -> tuple[str, ...]:
    """Ops that are removed from functions called by name before their kernels are made."""
    return ("Identity",) if since(target, "1.8") and not since(target, "1.10") else ()


def knows_init_signature(target: Target) -> bool:
    """Whether a loader finds the initialization op among the signatures, where TF2 puts it."""
    return since(target, "1.13")


def cannot_lower(target: Target) -> tuple[str, ...]:
    """Ops that a release rejects if they ask to be lowered to TF1 control flow; later releases lower them."""
    if since(target, "1.13") and not since(target, "1.15"):
        return ("StatelessIf", "StatelessWhile", "Case", "StatelessCase")
    return ()


def aborts_lowering_loops(target: Target) -> bool:
    """Whether a session ends the process when it lowers a While in a function that a PartitionedCall runs.

    Recorded (`make truth`): 1.12 alone does; 1.11 does not lower loops there, and 1.13 finds their functions.
    """
    return target.build is not None and since(target, "1.12") and not since(target, "1.13")


def lowered_before_validation(target: Target, op: str) -> bool:
    """Whether a node is lowered before its attributes are validated."""
    return (op == "If" and since(target, "1.9")) or (op == "While" and since(target, "1.11"))


def removed_before_kernels(target: Target, op: str) -> bool:
    """Whether a session removes such nodes before it makes their kernels."""
    if op == "Identity":
        return not since(target, "1.10")
    return op == "Const" and since(target, "1.5")


def misreads_control_inputs(target: Target) -> bool:
    """Whether a session turns control inputs from a transposition that it removes into data inputs.

    Recorded by tools/truth/rewrites/control_inputs.py from 1.3.0 to 1.8.0 and 1.12.3: 1.4.0 and 1.4.1 do.
    """
    return target.build is not None and since(target, "1.4") and not since(target, "1.5")


def optimizes_functions_as_written(target: Target) -> bool:
    """Whether a session optimizes the body of a function before absent attributes get their defaults.

    Recorded (`make truth`): the optimizer aborts if it reads an attribute that is absent. 1.8 does not
    optimize functions, and 1.13 adds the defaults first.
    """
    return target.build is not None and since(target, "1.9") and not since(target, "1.13")


def sets_only_existing_elements(target: Target) -> bool:
    """Whether TensorListSetItem ignores that it should make a list longer for an index behind its end.

    Recorded (`make truth`): 2.13 has the attribute, releases before 2.5 refuse it.
    """
    return target.build is not None and ignores_unknown_attributes(target) and not since(target, "2.13")


def confuses_loop_variables(target: Target) -> bool:
    """Whether the optimizer takes the predicate of a branch for one of the loop variable that it passes on.

    In the condition of a lowered loop, `a > 0.1 and n < 50` passes `n` on by a comparison of `a`. The loop
    optimizer of 1.11 to 1.13 compares the start of `n` with 0.1: it aborts if their types differ. Recorded
    by running such a model in 1.10.1 to 1.15.5.
    """
    return target.build is not None and since(target, "1.11") and not since(target, "1.14")


def reads_unwritten_as_zeros(target: Target) -> bool:
    """Whether elements of a TensorArray that nothing wrote can be read.

    In TensorFlow.js an array has as many elements as were written: stacking all leaves the rest out.
    """
    return since(target, "1.5") and target.tfjs is None


def normalizes_log_probabilities(target: Target) -> bool:
    """Whether CTCBeamSearchDecoder normalizes the logits of a step, instead of subtracting the largest.

    Recorded by tools/truth/rewrites/ctc_probabilities.py:
    1.3.0 to 1.10.1 (and 1.0.1 in Python) do not, 1.11.0 and later do.
    """
    return since(target, "1.11")


def is_loaded_by_python(library: str) -> bool:
    """Whether `import tensorflow` loads an op library of its wheel: all but those of contrib."""
    return not library.startswith("contrib/")


def has_xla_devices(target: Target) -> bool:
    """Whether a session also has XLA devices, which run ops that have no other kernel."""
    return since(target, "1.12") and not since(target, "2.4")


_TYPES_SINCE = {
    21: "1.4", 22: "1.5", 23: "1.5", 24: "2.12", 25: "2.12", 26: "2.19", 27: "2.19", 28: "2.19", 29: "2.15",
    30: "2.15", 31: "2.20", 32: "2.20", 33: "2.21",
}  # fmt: skip
"""The DataTypes that were added later, by number: as in types_pb2.py of each release."""
_NEWER_TYPES = frozenset((*_TYPES_SINCE, *(DType.of(number).ref.number for number in _TYPES_SINCE)))


def knows_type(target: Target, dtype: DType) -> bool:
    """Whether a release has a data type."""
    number = dtype.base.number
    return since(target, _TYPES_SINCE.get(number, "0")) and number < 100


def newer_types(attrs: Mapping[str, Attr]) -> Iterator[tuple[str, DType]]:
    """The attributes with a data type, or a tensor of one, that not every release has; by name."""
    for name, value in sorted(attrs.items()):  # protobuf has the attributes of a node in no order
        for item in value if isinstance(value, list) else (value,):
            dtype = item.dtype if isinstance(item, Tensor) else item
            if isinstance(dtype, DType) and dtype.number in _NEWER_TYPES:
                yield name, dtype

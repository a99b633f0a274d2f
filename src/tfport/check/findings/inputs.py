"""Do inputs fit what the target's ops declare? Findings 206 and 207."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from tfport.check.checked_model import UnresolvedNodes
from tfport.check.findings import tensorflow_messages
from tfport.check.findings.finding import Finding, finding
from tfport.check.loader_stages import INPUT_COUNTS, INPUT_TYPES, STRUCTURE
from tfport.graph.dtypes import DType
from tfport.registry.unresolved import Question


@finding(
    "TFP206",
    "wrong-number-of-inputs",
    noticed={Question.INPUTS_FEW: INPUT_COUNTS, Question.INPUTS_MANY: STRUCTURE},
)
class WrongNumberOfInputs(Finding):
    """op `{op}` takes {wanted} in {target}; the node has {actual}

    ## Cause
    The op takes a different number of inputs in the release that wrote the model, or the graph was
    edited.
    ## Fix
    Export the model again with the target's release.
    ## Example
        x = Placeholder() {dtype=float32, shape=(2, 2)}
        y = MatMul(x) {T=float32, transpose_a=false, transpose_b=false}
        on tensorflow==2.8.4
    """

    actual: int
    types: Sequence[DType]

    @classmethod
    def of(cls, unresolved: UnresolvedNodes) -> Self:
        return cls(actual=unresolved.answer.actual, types=unresolved.answer.expected)

    @property
    def wanted(self) -> str:
        return f"{len(self.types)} input{'' if len(self.types) == 1 else 's'}"

    def says(self) -> str:
        return tensorflow_messages.input_count(self.types, self.actual, self.nodes[0], self.on)


@finding("TFP207", "input-of-wrong-type", noticed={Question.INPUT_TYPE: INPUT_TYPES})
class InputOfWrongType(Finding):
    """input {index} of op `{op}` is {actual}; {target} expects {wanted}

    ## Cause
    The input has another type than the op declares: a different data type, a resource where the op
    needs a TF1 variable (a reference), or the reverse.
    ## Fix
    Export the model again; one op cannot use both TF1 and TF2 variables.
    ## Example
        x = Placeholder() {dtype=int32, shape=(2, 2)}
        y = MatMul(x, x) {T=float32, transpose_a=false, transpose_b=false}
        on tensorflow==2.8.4
    """

    index: int
    actual: DType
    wanted: DType

    @classmethod
    def of(cls, unresolved: UnresolvedNodes) -> Self:
        answer = unresolved.answer
        return cls(index=answer.index, actual=answer.actual, wanted=answer.expected)

    def cause(self) -> str:
        if self.wanted.is_ref:
            return "the op changes a TF1 variable in place, and its input is not one"
        return ""

    def says(self) -> str:
        return tensorflow_messages.input_type(self.index, self.actual, self.wanted, self.nodes[0])

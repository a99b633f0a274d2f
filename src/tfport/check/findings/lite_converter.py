"""Findings about conversion: what a TensorFlow Lite converter does not make of a TensorFlow model.

`check.lite.converter` yields them; their stage is known, so no `@check` is needed.
"""

from __future__ import annotations

from tfport.check.findings.finding import LOAD, Finding, finding
from tfport.check.loader_stages import LITE


class ConversionFinding(Finding):
    """The base of the findings about conversion."""

    kinds: str = ""
    """The types of the node, `T=float64`; empty if it has none."""
    why: str = ""
    says_text: str = ""
    stage: str | None = LOAD

    @property
    def typed(self) -> str:
        """The types in parentheses, for messages."""
        return f" ({self.kinds})" if self.kinds else ""

    def says(self) -> str | None:
        return self.says_text or f"error: 'tf.{self.op}' op is neither a custom op nor a flex op"

    def cause(self) -> str:
        return self.why


@finding("TFP821", "lite-converts-to-flex", noticed=LITE)
class ConvertsToFlex(ConversionFinding):
    """{target} has no builtin op for {op}{typed}; it converts only to a Flex op

    ## Cause
    TensorFlow Lite's builtin ops do not compute this op, or not with these types. With
    `SELECT_TF_OPS` the converter keeps it as a TensorFlow op, which needs a runtime with the
    Flex delegate; many runtimes do not have it.
    ## Fix
    Convert with `supported_ops = [TFLITE_BUILTINS, SELECT_TF_OPS]` if the device has the Flex
    delegate (`tfport check --delegate flex` assumes that), replace the op in the model, or
    run the model with tfport.
    ## Example
        x = Placeholder() {dtype=float32}
        y = Erf(x) {T=float32}
        on tflite-converter==2.15.1
    """

    def fixes(self) -> list[str]:
        return ["converter.target_spec.supported_ops = [TFLITE_BUILTINS, SELECT_TF_OPS], and --delegate flex"]


@finding("TFP822", "lite-not-convertible", noticed=LITE)
class NotConvertible(ConversionFinding):
    """{target} converts {op}{typed} neither to builtin ops nor to a Flex op

    ## Cause
    TensorFlow Lite has no builtin op for it, and it is not on the list of TensorFlow ops that
    the Flex delegate may run.
    ## Fix
    Replace the op in the model, move it out of the model, or convert with
    `allow_custom_ops = True` and register a custom op of that name on the device.
    ## Example
        x = Placeholder() {dtype=float32}
        y = Spence(x) {T=float32}
        on tflite-converter==2.15.1
    """

    def fixes(self) -> list[str]:
        return ["converter.allow_custom_ops = True, and a custom op of this name on the device"]


@finding("TFP823", "lite-conversion-unknown", noticed=LITE)
class ConversionUnknown(ConversionFinding):
    """whether {target} converts {op}{typed} to builtin ops is not known

    ## Cause
    It depends on attributes and shapes, or the op is in no recorded conversion.
    ## Fix
    Convert the model with that release, or with `SELECT_TF_OPS` if the op is on its list.
    ## Example
        x = Placeholder() {dtype=bfloat16}
        y = MatMul(x, x) {T=bfloat16}
        on tflite-converter==2.15.1
    """

    def says(self) -> str | None:
        return None

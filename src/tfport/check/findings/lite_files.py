"""Findings about TensorFlow Lite files and conversion: what an interpreter or a converter does not accept.

`check.lite` simulates the interpreter, `check.lite.converter` asks the record of real converters,
and both yield them; their stage is known, so no `@check` is needed.
"""

from __future__ import annotations

from tfport.check.findings.finding import LOAD, RUN, Finding, finding
from tfport.check.loader_stages import LITE


class LiteFileFinding(Finding):
    """The base of the findings about TensorFlow Lite files."""

    where: str = ""
    """The node or tensor, for people: `node 3 of subgraph main`."""
    says_text: str = ""
    """What the interpreter says."""
    why: str = ""
    ways: tuple[str, ...] = ()
    stage: str | None = LOAD

    @property
    def at(self) -> str:
        """The place in parentheses, for messages."""
        return f" ({self.where})" if self.where else ""

    def cause(self) -> str:
        return self.why

    def says(self) -> str | None:
        return self.says_text.strip() or None

    def fixes(self) -> list[str]:
        return list(self.ways)


@finding("TFP801", "lite-unregistered-op", noticed=LITE)
class LiteUnregisteredOp(LiteFileFinding):
    """{target} does not register the builtin op {op}{at}

    ## Cause
    The interpreter is older than the op, or was built with a selection of ops. It resolves
    the table of ops of a file before anything else, so the file does not load.
    ## Fix
    Use an interpreter that registers the op (`tfport ops CONV_2D` lists them), add the op to
    the op resolver of your own build, or rewrite the model with `tfport fix`.
    ## Example
        tfport check tests/check/lite/files/unregistered.tflite --on ai-edge-litert==2.3.0
    """


@finding("TFP802", "lite-newer-op-version", noticed=LITE)
class LiteNewerOpVersion(LiteFileFinding):
    """{target} registers {op} {registered}, but the file asks for version {version}{at}

    ## Cause
    A version of an op adds dtypes, ranks or options. The converter writes the version that
    the nodes of the file need, and an older interpreter does not have it.
    ## Fix
    Use an interpreter that has the version. If no node uses what the version added, or there is an
    equivalent, `tfport fix` writes a file with a lower version.
    ## Example
        tfport check tests/check/lite/files/transpose_6d.tflite --on tflite-runtime==2.7.0
    """

    version: int
    registered: str


@finding("TFP803", "lite-unknown-op-number", noticed=LITE)
class LiteUnknownOpNumber(LiteFileFinding):
    """op {op} has builtin code {number}, but {target} knows only codes up to {newest}{at}

    ## Cause
    The op was added to the format after the release of the interpreter.
    ## Fix
    Use a newer interpreter, or rewrite the model with `tfport fix`.
    ## Example
        tfport check tests/check/lite/files/gelu.tflite --on tflite-runtime==2.7.0
    """

    number: int
    newest: int


@finding("TFP804", "lite-schema-version", noticed=LITE)
class LiteSchemaVersion(LiteFileFinding):
    """the file has version {schema} of the format, but {target} reads version 3

    ## Cause
    Every released interpreter reads only version 3. Released converters do not write files of other
    versions.
    ## Fix
    Convert the model again.
    ## Example
        tfport check tests/check/lite/files/schema_4.tflite --on ai-edge-litert==2.3.0
    """

    schema: int


@finding("TFP805", "lite-unresolved-custom-op", noticed=LITE)
class LiteUnresolvedCustomOp(LiteFileFinding):
    """{target} does not resolve the custom op `{op}`{at}

    ## Cause
    A custom op is code in the program that made the model. The interpreter notices that it lacks
    the op when it allocates tensors.
    ## Fix
    Register the op (`custom_op_registerers` in Python, `AddCustom` in C++), use the program
    or delegate that has it, or rewrite the model with `tfport fix`.
    ## Example
        tfport check tests/check/lite/files/custom.tflite --on ai-edge-litert==2.3.0
    """

    stage: str | None = RUN


@finding("TFP806", "lite-flex-not-linked", noticed=LITE)
class LiteFlexNotLinked(LiteFileFinding):
    """the TensorFlow op {op} needs the Flex delegate, which {target} does not have{at}

    ## Cause
    The converter wrote ops of TensorFlow (`SELECT_TF_OPS`). They run only with the Flex
    delegate, which contains TensorFlow's kernels: the `tensorflow` wheels up to 2.18 have
    it; tflite-runtime, ai-edge-litert and newer wheels do not.
    ## Fix
    Use a runtime with the delegate (on Android, `org.tensorflow:tensorflow-lite-select-tf-ops`), or
    replace the op: `tfport fix` does that if a builtin op gives the same result.
    ## Example
        tfport check tests/check/lite/files/flex.tflite --on tflite-runtime==2.14.0
    """

    stage: str | None = RUN


@finding("TFP807", "lite-flex-op-missing", noticed=LITE)
class LiteFlexOpMissing(LiteFileFinding):
    """the Flex delegate of {target} does not have the TensorFlow op {op}{at}

    ## Cause
    The delegate runs the op with a TensorFlow kernel, but that release does not register the op, or
    no longer has a kernel for it; or the op is not on the list of ops in delegate builds for
    phones.
    ## Fix
    Use a release that has it, or register the op in your build of the delegate.
    ## Example
        tfport check tests/check/lite/files/flex_newer.tflite --on tensorflow==2.12.1
    """

    stage: str | None = RUN


@finding("TFP808", "lite-unknown-type", noticed=LITE)
class LiteUnknownType(LiteFileFinding):
    """{where} has the type {type_name}, which {target} does not know

    ## Cause
    The type was added to the format after the release of the interpreter.
    ## Fix
    Use a newer interpreter, or convert the model without the type.
    ## Example
        tfport check tests/check/lite/files/int4.tflite --on tflite-runtime==2.7.0
    """

    type_name: str


@finding("TFP809", "lite-inconsistent-file", noticed=LITE)
class LiteInconsistentFile(LiteFileFinding):
    """{target} refuses the file as inconsistent: {what}{at}

    ## Cause
    The file contains something that every interpreter checks for and refuses: no subgraph, scales
    that do not fit their tensor's shape, or an operator whose output is its input. Tools that edit
    files write such models; some of them run on microcontrollers, where nothing checks this.
    ## Fix
    Convert the model again. `tfport fix` corrects the axis of a vector's scales.
    ## Example
        tfport check tests/check/lite/files/wrong_axis.tflite --on ai-edge-litert==2.3.0
    """

    what: str


@finding("TFP810", "lite-outside-constants", noticed=LITE)
class LiteOutsideConstants(LiteFileFinding):
    """the constants of the file are {place}, where {target} does not look{at}

    ## Cause
    A flatbuffer is smaller than 2 GB, so a larger file's constants follow it. Interpreters before
    2.14 load such a file but fail when it runs. LiteRT's compiled models read constants from other
    files, but no interpreter up to ai-edge-litert 2.3.0 does.
    ## Fix
    Use tflite-runtime 2.14.0, tensorflow 2.14.0 or any ai-edge-litert for constants after the
    flatbuffer. `tfport fix` rewrites a model that is smaller than 2 GB.
    ## Example
        tfport check tests/check/lite/files/outside.tflite --on tflite-runtime==2.13.0
    """

    place: str = "behind its flatbuffer"
    stage: str | None = RUN


# What a TensorFlow Lite converter does not make of a TensorFlow model.


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
    TensorFlow Lite has no builtin op for it, and it is not on the list of TensorFlow ops that the
    Flex delegate can run.
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

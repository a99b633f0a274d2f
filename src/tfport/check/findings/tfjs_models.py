"""Findings about TensorFlow.js: what a release with a backend does not run.

`check.tfjs` asks the record of the release and yields them; their stage is known, so no `@check` is
needed.
"""

from __future__ import annotations

from tfport.atlas.tfjs.releases import FORGETS, WRONG
from tfport.check.findings.finding import LOAD, NOTE, RUN, Finding, finding
from tfport.check.loader_stages import LITE


class TfjsFinding(Finding):
    """The base of the findings about TensorFlow.js."""

    stage: str | None = RUN

    def fixes(self) -> list[str]:
        return ["tfport export MODEL --format tfjs -o FOLDER rewrites it, if a rule can"]


@finding("TFP831", "tfjs-unknown-op", noticed=LITE)
class TfjsUnknownOp(TfjsFinding):
    """{target} does not know op `{op}`

    ## Cause
    This release's converter has no translation for the op. The model loads, but fails when the op
    runs; the official converter would have refused it.
    ## Fix
    `tfport export MODEL --format tfjs -o FOLDER` rewrites the model with ops that the release has,
    if there is a rule for that. Or define the op in JavaScript with `tf.registerOp`.
    ## Example
        x = Placeholder() {dtype=float32}
        y = Lgamma(x) {T=float32}
        on tfjs==4.22.0
    """

    def says(self) -> str | None:
        return (
            f"Unknown op '{self.op}'. File an issue at https://github.com/tensorflow/tfjs/issues so we can "
            "add it, or register a custom execution with tf.registerOp()"
        )


@finding("TFP832", "tfjs-missing-kernel", noticed=LITE)
class TfjsMissingKernel(TfjsFinding):
    """{target} has no kernel `{kernel}`, which op `{op}` needs

    ## Cause
    The op is known, but the backend does not have a kernel that it calls. TensorFlow.js does not
    fall back to another backend.
    ## Fix
    Use another backend: `cpu` has the most kernels. Or use a newer release of the backend.
    ## Example
        x = Placeholder() {dtype=float32}
        y = Erf(x) {T=float32}
        on tfjs[wasm]==3.21.0
    """

    kernel: str = ""
    backend: str = ""

    def says(self) -> str | None:
        return f"Kernel '{self.kernel}' not registered for backend '{self.backend}'"


@finding("TFP833", "tfjs-broken-op", noticed=LITE)
class TfjsBrokenOp(TfjsFinding):
    """{target} lists op `{op}`, but {outcome}

    ## Cause
    The op is on the converter's list, but each recorded node of it failed in the real release, or
    its answers differed from TensorFlow's. Up to 3.21.0, each call of a model creates a new, empty
    table, so only the first call finds the values that were loaded with the model.
    ## Fix
    `tfport export MODEL --format tfjs -o FOLDER` rewrites the model without the op, if tfport has a
    rule for it.
    ## Example
        x = Placeholder() {dtype=int32}
        y = BitwiseAnd(x, x) {T=int32}
        on tfjs==4.22.0
    """

    problem: str = ""

    @property
    def outcome(self) -> str:
        outcomes = {
            WRONG: "its answers never match TensorFlow's",
            FORGETS: "the table is empty from the second call on",
        }
        return outcomes.get(self.problem, "no recorded node of it runs")

    def says(self) -> str | None:
        return None if self.problem in (WRONG, FORGETS) else self.problem


@finding("TFP834", "tfjs-unsupported-node", noticed=LITE)
class TfjsUnsupportedNode(TfjsFinding):
    """{target} does not support op `{op}` with {what}

    ## Cause
    No recorded node of the op with this attribute, type or output gave TensorFlow's answer
    in the real release, while others did.
    ## Fix
    `tfport export MODEL --format tfjs -o FOLDER` rewrites the node, if there is a rule for that:
    channels first becomes channels last, for example.
    ## Example
        x = Placeholder() {dtype=float32, shape=(1, 3, 8, 8)}
        w = Placeholder() {dtype=float32, shape=(2, 2, 3, 4)}
        y = Conv2D(x, w) {T=float32, data_format="NCHW", padding="VALID", strides=[1, 1, 1, 1]}
        on tfjs==4.22.0
    """

    what: str = ""


@finding("TFP835", "tfjs-number-for-nan", NOTE, noticed=LITE)
class TfjsNumberForNan(TfjsFinding):
    """{target} answers a number where the input of {op} is NaN

    ## Cause
    Kernels of TensorFlow.js compare numbers, and a comparison with NaN is false. On wasm, ReLU,
    minima, maxima and average pools answer a number where TensorFlow answers NaN. Answers without
    NaN do not differ.
    ## Fix
    Nothing, unless the model computes NaN: from a division by zero, from numbers that overflow, or
    from inputs that are NaN. Then use the backend `cpu`.
    ## Example
        x = Placeholder() {dtype=float32}
        y = Relu6(x) {T=float32}
        on tfjs[wasm]==4.22.0
    """

    def fixes(self) -> list[str]:
        return []


@finding("TFP836", "tfjs-wrong-for-some-numbers", NOTE, noticed=LITE)
class TfjsWrongForSomeNumbers(TfjsFinding):
    """{target} answers {op} wrongly for {numbers}

    ## Cause
    On wasm, maxima of `MaxPool3D` and `MaxPoolWithArgmax` start at the smallest positive number: a
    window that has only negative numbers answers 1.2e-38. `Cast` to bool drops the fraction, so 0.5
    becomes false, and does not limit the rest to 0 and 1.
    ## Fix
    Use the backend `cpu`. `tfport export MODEL --format tfjs -o FOLDER` replaces a cast
    to bool with a comparison.
    ## Example
        x = Placeholder() {dtype=float32}
        y = Cast(x) {SrcT=float32, DstT=bool}
        on tfjs[wasm]==4.22.0
    """

    numbers: str = ""


@finding("TFP837", "tfjs-keras-3-layers", noticed=LITE)
class TfjsUnreadableLayers(TfjsFinding):
    """{target} does not read this layers model: {what}

    ## Cause
    `tf.loadLayersModel` of both recorded releases reads configurations as Keras 1 and 2 write
    them; those of Keras 3 have other keys and lists.
    ## Fix
    `tfport export MODEL --format tfjs-layers -o FOLDER` rewrites the configuration as Keras 2
    has it. Or write a graph model, with `--format tfjs`, for `tf.loadGraphModel`.
    ## Example
        tfport check tests/check/keras/layers_models/keras_3 --on tfjs==4.22.0
    """

    stage = LOAD
    what: str
    refusal: str

    def says(self) -> str:
        return self.refusal

    def fixes(self) -> list[str]:
        return ["`tfport export MODEL --format tfjs-layers -o FOLDER` rewrites it as Keras 2 has it"]

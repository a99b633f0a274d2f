"""Findings about TensorFlow.js: what a release with a backend does not run.

`check.tfjs` asks the record of the release and yields them; their stage is known, so no `@check` is needed.
"""

from __future__ import annotations

from tfport.check.findings.finding import RUN, Finding, finding
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
    The converter of this release has no translation of the op. The model loads, and fails when the
    op runs; TensorFlow's own converter refuses it before.
    ## Fix
    `tfport export MODEL --format tfjs -o FOLDER` rewrites the model with ops that the release has,
    where a rule for that exists. Or define the op in JavaScript with `tf.registerOp`.
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
    The op is known, and the backend does not have a kernel that it calls. TensorFlow.js does not
    compute it on another backend instead.
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
    """{target} lists op `{op}`, and {outcome}

    ## Cause
    The op is in the list of the converter. Each recorded node of it failed in the real
    release, or had other answers than in TensorFlow.
    ## Fix
    `tfport export MODEL --format tfjs -o FOLDER` rewrites the model without the op, where a
    rule for that exists.
    ## Example
        x = Placeholder() {dtype=int32}
        y = BitwiseAnd(x, x) {T=int32}
        on tfjs==4.22.0
    """

    problem: str = ""

    @property
    def outcome(self) -> str:
        return "no recorded node of it runs" if self.problem else "never answers as TensorFlow does"

    def says(self) -> str | None:
        return self.problem or None


@finding("TFP834", "tfjs-unsupported-node", noticed=LITE)
class TfjsUnsupportedNode(TfjsFinding):
    """{target} does not support op `{op}` with {what}

    ## Cause
    No recorded node of the op with this attribute, type or output gave TensorFlow's answer
    in the real release, while others did.
    ## Fix
    `tfport export MODEL --format tfjs -o FOLDER` rewrites the node, where a rule for that
    exists: channels first becomes channels last, for example.
    ## Example
        x = Placeholder() {dtype=float32, shape=(1, 3, 8, 8)}
        w = Placeholder() {dtype=float32, shape=(2, 2, 3, 4)}
        y = Conv2D(x, w) {T=float32, data_format="NCHW", padding="VALID", strides=[1, 1, 1, 1]}
        on tfjs==4.22.0
    """

    what: str = ""

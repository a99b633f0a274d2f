"""Does a registered kernel support what a node needs? Finding 305; `check.kernel_limits` has the limits."""

from __future__ import annotations

from typing import Self

from tfport.check.findings.finding import Finding, finding
from tfport.check.findings.unresolved_nodes import UnresolvedNodes
from tfport.check.kernel_limits import NEVER, NHWC, KernelLimit
from tfport.check.noticed import KERNEL_LIMITS
from tfport.registry.unresolved import Question

SHOWN = ("data_format", "dilations", "strides", "T")


@finding(
    "TFP305",
    "kernel-refuses",
    noticed={Question.KERNEL_LIMIT: KERNEL_LIMITS, Question.KERNEL_LIMIT_WITHOUT_ONEDNN: KERNEL_LIMITS},
)
class KernelRefuses(Finding):
    """the CPU kernel of op `{op}` in {target} does not support {unsupported}

    ## Cause
    The kernel is registered, so the model loads; it fails when it runs with these
    attributes. Most often the graph was made for a GPU, with channels first.
    ## Fix
    Export the model with channels last (`data_format="NHWC"`), or use a release that
    supports it: from 2.9 on most of this runs on the CPU.
    ## Example
        x = Placeholder() {dtype=float32, shape=(1, 2, 4, 4)}
        f = Placeholder() {dtype=float32, shape=(1, 1, 2, 2)}
        y = Conv2D(x, f) {T=float32, data_format="NCHW", padding="SAME", strides=[1, 1, 1, 1]}
        on tensorflow==2.8.4
    """

    unsupported: str
    limit: KernelLimit

    @classmethod
    def of(cls, unresolved: UnresolvedNodes) -> Self:
        limit: KernelLimit = unresolved.answer.expected
        attrs = unresolved.with_defaults()
        shown = (f"{n}={attrs[n]}" for n in SHOWN if n in attrs and attrs[n] not in (NHWC, "NDHWC"))
        unsupported = next(shown, "it")
        if about := limit.about:
            unsupported = f"{about}={attrs[about]}" if about in attrs else about
        return cls(unsupported=unsupported, limit=limit)

    def cause(self) -> str:
        if self.limit.until == NEVER:
            return "recorded from real binaries, including the newest"
        by = ", with oneDNN" if self.limit.by_onednn else ""
        return f"recorded from real binaries; supported from {self.limit.until} on{by}"

    def says(self) -> str:
        return self.limit.says

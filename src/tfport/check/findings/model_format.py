"""The finding about a target that reads models of another format."""

from __future__ import annotations

from tfport.check.findings.finding import LOAD, Finding, finding
from tfport.check.loader_stages import LITE


@finding("TFP004", "other-format", noticed=LITE)
class OtherModelFormat(Finding):
    """{what}

    ## Cause
    A TensorFlow Lite interpreter reads only TensorFlow Lite files, and a Keras package reads only
    Keras files. TensorFlow Serving loads only SavedModels, not Keras files or bare graphs, and a
    release without an interpreter reads no TensorFlow Lite files. tfport reports this finding if
    another target of the same command reads the model; otherwise it refuses the command.
    ## Fix
    Name a target that reads the format, or convert the model.
    ## Example
        tfport check examples/wake_word.tflite --on ai-edge-litert==2.3.0 keras==3.15.1
    """

    what: str
    advice: str
    stage: str | None = LOAD

    def fixes(self) -> list[str]:
        return [self.advice]

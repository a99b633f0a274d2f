"""Whether a build has machine code for a GPU, code that the driver compiles, or neither."""

import pytest

import tfport
from tfport.atlas.cuda import capability_of
from tfport.errors import Error

MODEL = "examples/attention"


@pytest.mark.parametrize(
    ("target", "gpu", "code", "verdict"),
    [
        ("tensorflow==2.21.0", "h100", None, "runs"),
        ("tensorflow==2.8.4", "h100", "TFP306", "runs"),  # newest machine code is 8.0, with PTX
        ("tensorflow==2.8.4", "a10", None, "runs"),  # 8.0 runs on 8.6
        ("tensorflow==2.21.0", "k80", "TFP309", "runs"),
        ("tensorflow-gpu==1.15.5", "9.0", "TFP306", "runs"),
    ],
)
def test_a_gpu_is_compared_with_the_code_of_a_build(target, gpu, code, verdict):
    report = tfport.check(MODEL, on=target, gpu=gpu, loader="capi")
    assert report.verdict == verdict
    assert {f.code for f in report.findings if f.severity != "note"} == ({code} if code else set())
    assert "TFP308" in {f.code for f in report.findings}


@pytest.mark.parametrize(
    ("text", "capability"), [("H100", "9.0"), ("sm_86", "8.6"), ("7.5", "7.5"), ("100", "10.0")]
)
def test_a_gpu_can_be_named_in_several_ways(text, capability):
    assert capability_of(text) == capability


@pytest.mark.parametrize("text", ["", "big", "9", "9.x", "sm_"])
def test_an_unknown_gpu_is_an_error(text):
    with pytest.raises(Error, match="unknown GPU"):
        capability_of(text)


def test_a_gpu_with_device_cpu_is_an_error():
    with pytest.raises(Error, match="expected cpu or gpu"):
        tfport.check(MODEL, on="tensorflow==2.8.4", device="cpu", gpu="t4")

"""Does a build carry code for a GPU, and which CUDA does it want? Findings 306 to 308."""

from __future__ import annotations

from collections.abc import Iterator

from tfport.atlas.compute_capability import compiles, major_minor, runs_natively
from tfport.atlas.target import Target
from tfport.check.findings.finding import NOTE, RUN, WARNING, Finding, finding


@finding("TFP306", "compiled-at-start", WARNING)
class CompiledAtStart(Finding):
    """{target} has no machine code for a GPU of compute capability {capability}: the driver compiles it

    ## Cause
    The build is older than the GPU. It carries PTX, which the driver compiles when the
    program first uses the GPU: that takes minutes, once for each cache of the driver.
    ## Fix
    Use a build with machine code for the GPU (`tfport targets show` lists it), or keep the
    driver's cache (`CUDA_CACHE_PATH`, `CUDA_CACHE_MAXSIZE=4294967296`) between starts.
    """

    capability: str
    carried: str

    def cause(self) -> str:
        return f"machine code for {self.carried}"


@finding("TFP307", "gpu-not-supported")
class GpuNotSupported(Finding):
    """{target} has no code for a GPU of compute capability {capability}

    ## Cause
    The build carries machine code for older GPUs, and no PTX that the driver could compile
    for this one.
    ## Fix
    Use a build that has it (`tfport targets show` lists it), or run on the CPU.
    """

    capability: str
    carried: str

    def cause(self) -> str:
        return f"machine code for {self.carried or 'no GPU'}"

    def says(self) -> str:
        return "no kernel image is available for execution on the device"


@finding("TFP309", "gpu-ignored", WARNING)
class GpuIgnored(Finding):
    """{target} ignores a GPU of compute capability {capability}, and runs on the CPU

    ## Cause
    The GPU is older than the oldest that the build was made for. TensorFlow leaves it out,
    which it only says in its log.
    ## Fix
    Use an older build that has code for the GPU (`tfport targets show` lists it).
    """

    capability: str
    carried: str

    def cause(self) -> str:
        return f"machine code for {self.carried}"

    def says(self) -> str:
        lowest = self.carried.partition(",")[0]
        return f"Ignoring visible gpu device … The minimum required Cuda capability is {lowest}."


@finding("TFP308", "wanted-cuda", NOTE)
class WantedCuda(Finding):
    """{target} wants CUDA {cuda} and cuDNN {cudnn}; it has machine code for {carried}

    ## Cause
    A build runs on the GPU only with the CUDA and cuDNN that it was made for, or newer ones
    of the same major version.
    ## Fix
    Put those into the image, or use `pip install tensorflow[and-cuda]`, which brings them
    from 2.14 on.
    """

    cuda: str
    cudnn: str
    carried: str


def gpu_findings(target: Target) -> Iterator[Finding]:
    """What a target with a GPU needs of it; nothing where it has none, or nothing is recorded."""
    facts = target.build.facts.get("cuda") if target.build and target.device == "gpu" else None
    if not facts:
        return
    sass, ptx, gpu = facts.get("sass") or [], facts.get("ptx") or [], target.capability
    carried = ", ".join(sass)
    if gpu is not None and not runs_natively(sass, gpu):
        if sass and major_minor(gpu) < min(map(major_minor, sass)):
            yield GpuIgnored(on=target, capability=gpu, carried=carried, stage=RUN)
        elif compiles(ptx, gpu):
            yield CompiledAtStart(on=target, capability=gpu, carried=carried, stage=RUN)
        else:
            yield GpuNotSupported(on=target, capability=gpu, carried=carried, stage=RUN)
    if facts.get("version"):
        yield WantedCuda(
            on=target, cuda=facts["version"], cudnn=facts.get("cudnn") or "?", carried=carried or "no GPU"
        )

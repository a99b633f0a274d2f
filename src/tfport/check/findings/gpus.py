"""Has a build code for a GPU, which CUDA does it need, what runs on the CPU? Findings 306 to 309 and 316."""

from __future__ import annotations

from collections.abc import Iterator

from tfport.atlas.cuda import compiles, major_minor, runs_natively
from tfport.atlas.target import Target
from tfport.check.checked_model import CheckedModel
from tfport.check.devices import CPU
from tfport.check.findings.finding import NOTE, WARNING, Finding, check, finding
from tfport.check.loader_stages import GPUS, NEVER, Noticed
from tfport.check.loaders import Loader
from tfport.graph.graph import Node
from tfport.words import count


@finding("TFP306", "compiled-at-start", WARNING, noticed=GPUS)
class CompiledAtStart(Finding):
    """{target} has no machine code for a GPU of compute capability {capability}: the driver compiles it

    ## Cause
    The build is older than the GPU. It contains PTX, which the driver compiles when the
    program first uses the GPU: that takes minutes, once for each driver cache.
    ## Fix
    Use a build with machine code for the GPU (`tfport targets show TARGET` lists it), or keep the
    driver's cache (`CUDA_CACHE_PATH`, `CUDA_CACHE_MAXSIZE=4294967296`) between starts.
    ## Example
        tfport check examples/attention --on tensorflow==2.8.4 --gpu h100 --loader capi
    """

    capability: str
    compiled_for: str

    def cause(self) -> str:
        return f"machine code for {self.compiled_for}"


@finding("TFP307", "gpu-not-supported", noticed=GPUS)
class GpuNotSupported(Finding):
    """{target} has no code for a GPU of compute capability {capability}

    ## Cause
    The build contains machine code for older GPUs, and no PTX that the driver could
    compile for this one.
    ## Fix
    Use a build that has it (`tfport targets show TARGET` lists it), or run on the CPU.
    ## Example
        tfport check examples/attention --on tensorflow==2.3.4 --gpu 5.0 --loader capi
    """

    capability: str
    compiled_for: str

    def cause(self) -> str:
        return f"machine code for {self.compiled_for or 'no GPU'}"

    def says(self) -> str:
        return "no kernel image is available for execution on the device"


@finding("TFP309", "gpu-ignored", WARNING, noticed=GPUS)
class GpuIgnored(Finding):
    """{target} ignores a GPU of compute capability {capability} and runs on the CPU

    ## Cause
    The GPU is older than the oldest that the build supports. TensorFlow ignores it and
    reports that only in its log.
    ## Fix
    Use an older build that has code for the GPU (`tfport targets show TARGET` lists it).
    ## Example
        tfport check examples/attention --on tensorflow==2.21.0 --gpu k80 --loader capi
    """

    capability: str
    compiled_for: str

    def cause(self) -> str:
        return f"machine code for {self.compiled_for}"

    def says(self) -> str:
        lowest = self.compiled_for.partition(",")[0]
        return f"Ignoring visible gpu device … The minimum required Cuda capability is {lowest}."


@finding("TFP308", "wanted-cuda", NOTE, noticed=Noticed(serving=NEVER))
class RequiredCuda(Finding):
    """{target} needs CUDA {cuda} and cuDNN {cudnn}; it has machine code for {compiled_for}

    ## Cause
    A build runs on the GPU only with the CUDA and cuDNN that it was built for, or newer
    ones of the same major version.
    ## Fix
    Put these versions into the image, or use `pip install tensorflow[and-cuda]`, which installs
    them from 2.14 on.
    ## Example
        tfport check examples/attention --on tensorflow==2.8.4 --device gpu --loader capi
    """

    cuda: str
    cudnn: str
    compiled_for: str


@finding("TFP316", "runs-on-cpu", NOTE, noticed=Noticed(serving=NEVER))
class RunsOnCpu(Finding):
    """{nodes_on_cpu} run on the CPU, because {target} has no GPU kernels for them: {ops}

    ## Cause
    TensorFlow runs a node on the GPU if it has a kernel there for its types, and on the CPU
    otherwise. Tensors are copied between the two.
    ## Fix
    Nothing is wrong. If it is slow, keep such nodes together at the beginning or the end of
    the model, or use types that have kernels on the GPU.
    ## Example
        tfport check tests/truth/models/hash_table_beside_gpu --on tensorflow==2.21.0 --device gpu
    """

    nodes_on_cpu: str
    ops: str


@check
def gpu_runs_the_nodes(model: CheckedModel, target: Target, loader: Loader) -> Iterator[Finding]:
    if target.build is None or target.device != "gpu":
        return
    nodes = list(_on_cpu(model, target))
    if nodes:
        ops = sorted({node.op for node in nodes})
        yield RunsOnCpu(nodes_on_cpu=count(len(nodes), "node"), ops=", ".join(ops))


def _on_cpu(model: CheckedModel, target: Target) -> Iterator[Node]:
    """The nodes of the requested signatures that ask for no device and have no kernel for the GPU."""
    for usage in model.usages:
        if not usage.device and model.kind_of_device(usage, target) == CPU:
            for context, nodes in model.contexts_of(usage):
                if context.signatures & model.signatures:
                    yield from (node for node in nodes if not model.compiled_functions.is_compiled(node))


@check
def gpu_is_supported(model: CheckedModel, target: Target, loader: Loader) -> Iterator[Finding]:
    facts = target.build.facts.get("cuda") if target.build and target.device == "gpu" else None
    if not facts:
        return
    sass, ptx, gpu = facts.get("sass") or [], facts.get("ptx") or [], target.capability
    compiled_for = ", ".join(sass)
    if gpu is not None and not runs_natively(sass, gpu):
        if sass and major_minor(gpu) < min(map(major_minor, sass)):
            yield GpuIgnored(capability=gpu, compiled_for=compiled_for)
        elif compiles(ptx, gpu):
            yield CompiledAtStart(capability=gpu, compiled_for=compiled_for)
        else:
            yield GpuNotSupported(capability=gpu, compiled_for=compiled_for)
    if facts.get("version"):
        yield RequiredCuda(
            cuda=facts["version"], cudnn=facts.get("cudnn") or "?", compiled_for=compiled_for or "no GPU"
        )

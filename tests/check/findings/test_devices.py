"""Nodes that ask for a device without a kernel, and nodes that run on the CPU of a machine with a GPU."""

import pytest
from tests.recorded_models import graph

import tfport
from tfport.graph.build import graph_to_def

ON = {"on": "tensorflow==2.21.0", "loader": "capi"}
MISSING, NODE, RUNS_ON_CPU = "TFP303", "TFP313", "TFP316"
ON_DEVICE_OF_CALL, COLOCATED = "TFP314", "TFP315"
GPU, CPU = '@"/device:GPU:0"', '@"/device:CPU:0"'


def checked(nodes: str, **options):
    text = "x = Placeholder() {dtype=float32, shape=(2, 2)}\n" + nodes.replace("|", "\n")
    return tfport.check(graph_to_def(graph(text)).SerializeToString(), **ON, **options)


@pytest.mark.parametrize(
    ("nodes", "cause"),
    [
        (f"y = AsString(x) {{T=float32}} {GPU}", "its kernels are for CPU"),
        (
            f"i = Cast(x) {{SrcT=float32, DstT=int32}}|y = MatMul(i, i) {{T=int32}} {GPU}",
            "for GPU support T=",
        ),
        (
            f"i = Const() {{dtype=int32, value=int32()[1]}}|"
            f"y = CudnnRNNParamsSize(i, i, i) {{T=float32, S=int32}} {CPU}",
            "its kernels are for GPU",
        ),
    ],
)
def test_a_node_asks_for_a_device_without_a_kernel(nodes, cause):
    report = checked(nodes, device="gpu")
    (finding,) = [f for f in report.findings if f.code == NODE]
    assert report.verdict == "fails"
    assert cause in finding.cause()
    assert "Could not satisfy explicit device specification" in finding.says()
    assert checked(nodes, device="gpu", soft_placement=True).verdict == "runs"


@pytest.mark.parametrize("device", [GPU, CPU, '@"/device:GPU:*"', ""])
def test_a_node_may_ask_for_any_device_that_has_a_kernel(device):
    assert checked(f"y = Neg(x) {{T=float32}} {device}", device="gpu").verdict == "runs"


@pytest.mark.parametrize(
    ("nodes", "verdict"),
    [
        (
            f"v = VarHandleOp() {{dtype=float32, shape=()}} {CPU}|"
            f"y = ReadVariableOp(v) {{dtype=float32}} {GPU}",
            "runs",
        ),
        (
            f"v = VarHandleOp() {{dtype=float32, shape=()}} {GPU}|y = ReadVariableOp(v) {{dtype=float32}}",
            "fails",
        ),
        (
            f"v = VarHandleOp() {{dtype=float32, shape=()}}|y = ReadVariableOp(v) {{dtype=float32}} {GPU}",
            "fails",
        ),
        (
            f"v = VariableV2() {{dtype=float32, shape=(2, 2)}} {CPU}|y = Assign(v, x) {{T=float32}} {GPU}",
            "runs",
        ),
        (
            f"v = VariableV2() {{dtype=float32, shape=(2, 2)}} {CPU}|y = Identity(v) {{T=float32}} {GPU}",
            "fails",
        ),
    ],
)
def test_what_reads_or_assigns_a_variable_runs_where_the_variable_is(nodes, verdict):
    codes = {f.code for f in checked(nodes, device="cpu").findings}
    assert (MISSING in codes) == (verdict == "fails")


def test_nodes_without_a_kernel_for_the_gpu_run_on_the_cpu():
    nodes = (
        f"s = AsString(x) {{T=float32}}|l = StringLength(s)|d = StringLower(s) {CPU}|y = Neg(x) {{T=float32}}"
    )
    (note,) = [f for f in checked(nodes, device="gpu").findings if f.code == RUNS_ON_CPU]
    assert note.severity == "note"
    assert note.message.startswith("2 nodes run on the CPU, because")
    assert note.message.endswith(": AsString, StringLength")
    assert RUNS_ON_CPU not in {f.code for f in checked(nodes, device="cpu").findings}


@pytest.mark.parametrize(
    ("layout", "device", "verdict"),
    [("NCHW", CPU, "unknown"), ("NCHW", GPU, "runs"), ("NCHW", "", "runs"), ("NHWC", CPU, "runs")],
)
def test_kernels_for_the_cpu_keep_their_limits_on_a_machine_with_a_gpu(layout, device, verdict):
    attrs = f'T=float32, strides=[1, 1, 1, 1], padding="SAME", data_format="{layout}"'
    nodes = f"z = Placeholder() {{dtype=float32, shape=(1, 2, 2, 1)}}|y = Conv2D(z, z) {{{attrs}}} {device}"
    assert checked(nodes, device="gpu").verdict == verdict


STRINGS = """
def strings(x: float32) -> (r: float32):
  s = AsString(x) {T=float32}
  l = StringLength(s)
  c = Cast(l) {SrcT=int32, DstT=float32}
  return r=c
"""


@pytest.mark.parametrize(
    ("call", "codes"),
    [
        ("y = strings(x)", {ON_DEVICE_OF_CALL}),
        (f"y = strings(x) {CPU}", set()),
        ("y = StatefulPartitionedCall(x) {f=@strings, Tin=[float32], Tout=[float32]}", set()),
        ("y = StatelessWhile(x) {T=[float32], cond=@strings, body=@strings}", {ON_DEVICE_OF_CALL}),
    ],
)
def test_functions_that_run_on_one_device_need_kernels_there(call, codes):
    report = checked(call + "\n" + STRINGS, device="gpu")
    assert {f.code for f in report.findings if f.severity == "error"} & {ON_DEVICE_OF_CALL} == codes


@pytest.mark.parametrize(
    ("nodes", "cause"),
    [
        (f'a = Exp(x) {{T=float32}} {CPU}|y = Neg(a) {{T=float32, _class=["loc:@a"]}} {GPU}', "they ask for"),
        (
            f'a = Exp(x) {{T=float32}} {GPU}|y = AsString(a) {{T=float32, _class=["loc:@a"]}}',
            "no kernel for GPU",
        ),
        (f'a = Exp(x) {{T=float32}} {CPU}|y = Neg(a) {{T=float32, _class=["loc:@a"]}}', None),
        ('a = AsString(x) {T=float32}|y = Neg(x) {T=float32, _class=["loc:@a"]}', None),
    ],
)
def test_nodes_that_run_together_need_a_common_device(nodes, cause):
    findings = [f for f in checked(nodes, device="gpu").findings if f.code == COLOCATED]
    assert [cause in f.cause() for f in findings] == ([True] if cause else [])
    assert checked(nodes, device="gpu", soft_placement=True).verdict == "runs"

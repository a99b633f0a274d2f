"""Which modules each command imports: what it does not need, it does not wait for."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import contextlib, sys
from tfport.cli.main import main
with contextlib.suppress(SystemExit): main(sys.argv[1:])
print(*sys.modules, file=sys.stderr)
"""
ATTENTION = str(Path(__file__).parents[2] / "examples/attention")
SERVER = {"aiohttp", "grpc", "ssl", "asyncio", "prometheus_client"}
RUNTIME = {"numpy", "scipy", "onnxruntime", "ml_dtypes", "tfport.runtime", *SERVER}
RARE = {
    "difflib",
    "importlib.metadata",
    "importlib.resources",
    "multiprocessing",
    "rich",
    "tfport.graph.inference_outputs",
}
REQUIREMENTS = {"dataclasses", "packaging", "pathlib", "urllib", "logging", "subprocess"}
OTHER_CASES = {
    "tfport.check.keras.check_keras_file",
    "tfport.check.lite.check_lite_file",
    "tfport.formats.lite.records",
    "tfport.formats.stablehlo.bytecode",
    "tfport.formats.tfjs.weights",
    "tfport.formats.hdf5.file",
    "tfport.atlas.op_search",
    "tfport.atlas.release_spans",
}
OPS_OF_OTHERS = {"tfport.runtime.ops.image", "tfport.runtime.ops.xla", "tfport.runtime.ops.quantized"}
ON = ["--on", "tensorflow==2.21.0"]
OLD = ["--on", "tensorflow==1.13.2"]
COMMANDS = [  # arguments                                    modules that it must not import
    (["--help"], {"google.protobuf", "sqlite3", *REQUIREMENTS, *RARE, *RUNTIME}),
    (["inspect", ATTENTION], {*REQUIREMENTS, *RARE, *RUNTIME}),
    (["inspect", ATTENTION, "--json"], {*RARE, *RUNTIME}),
    (["check", ATTENTION, *ON], {"inspect", *OTHER_CASES, *REQUIREMENTS, *RARE, *RUNTIME}),
    (["check", ATTENTION, *ON, "--json"], {"inspect", *OTHER_CASES, *REQUIREMENTS, *RARE, *RUNTIME}),
    (["check", ATTENTION, *OLD, "--json"], {*RARE, *RUNTIME}),
    (["check", ATTENTION, "--on", "tfport"], {"onnxruntime", *OPS_OF_OTHERS, *SERVER}),
    (["matrix", ATTENTION], {*RARE, *RUNTIME}),
    (["ops", "MatMul"], {"packaging.specifiers", *RARE, *RUNTIME}),
    (["run", ATTENTION, "--input", 'words=[["a"]]'], {"scipy", "packaging", *RARE, *SERVER}),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "unneeded"), COMMANDS, ids=range(len(COMMANDS)))
def test_a_command_imports_only_what_it_needs(arguments, unneeded):
    program = [sys.executable, "-c", PROGRAM, *arguments]
    imported = subprocess.run(program, capture_output=True, text=True, check=True).stderr.splitlines()[-1]
    assert not unneeded & set(imported.split())


SERVING = """
import sys
from tfport.cli.main import main
assert main(["serve"]) == 2
print(*sys.modules)
"""
NOT_FOR_SERVING = {
    "aiohttp.client",
    "aiohttp.connector",
    "google.protobuf.descriptor_pb2",
    "grpc",
    "grpc_reflection.v1alpha",
    "importlib.metadata",
    "google.protobuf.text_format",
    "google.protobuf.json_format",
    "onnxruntime",
    "scipy",
    "tfport.check.check",
    "tfport.formats.proto.monitoring_pb2",
    "tfport.graph.parse",
    "tfport.runtime.custom.custom_kernel",
    "tfport.serve.batching.runner",
    "tfport.serve.classify",
    "tfport.serve.front_ends.front_end_pool",
    "tfport.serve.grpc.server",
}


DEFERRED = """
import sys
sys.argv = ["tfport", *sys.argv[1:]]
from tfport.cli.main import _DEFERRED, main
code = main()
from tfport.cli.aiohttp_server import DEFERRED
for name, *_ in (*_DEFERRED, *DEFERRED):
    print(name, type(sys.modules.get(name)).__name__)
assert code == int(sys.argv[1] == "serve") * 2
"""


@pytest.mark.parametrize("command", [["run", ATTENTION, "--input", 'words=[["a"]]'], ["serve"]])
def test_a_command_imports_deferred_modules_only_to_use_them(command):
    program = [sys.executable, "-c", DEFERRED, *command]
    printed = subprocess.run(program, capture_output=True, text=True, check=True).stdout.splitlines()
    kinds = dict(line.split() for line in printed if line.endswith(("Module", "NoneType", "module")))
    assert "module" not in kinds.values()
    assert kinds["numpy._typing"] == "DeferredModule"
    assert kinds["aiohttp.web_fileresponse"] == ("DeferredModule" if command == ["serve"] else "NoneType")


def test_a_server_imports_only_what_it_needs():
    program = [sys.executable, "-c", SERVING]
    imported = subprocess.run(program, capture_output=True, text=True, check=True).stdout.split()
    assert "tfport.serve.server" in imported
    assert not NOT_FOR_SERVING & set(imported)

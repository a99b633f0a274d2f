"""Packages add ops with entry points; a broken one is a warning, and the others are loaded."""

import json
import subprocess
import sys

import pytest

MODULE = """
import tfport

@tfport.op("Acme>Twice: (x: float) -> y: float")
@tfport.kernel("Acme>Twice")
def twice(x):
    return 2 * x
"""
FUNCTION = """
def register(registry):
    registry.op("Acme>Half: (x: float) -> y: float")
    registry.kernel("Acme>Half")(lambda x: x / 2)
"""
FAILS_LATE = """
def register(registry):
    registry.op("Acme>Lost: (x: float) -> y: float")
    raise RuntimeError("no license")
"""
PROGRAM = """
import json, sys, warnings
import tfport
from tfport.runtime.custom.registry import PROCESS_WIDE
from tests.runtime.programs import session_of

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    lines = "x = Placeholder() {dtype=float32, shape=(?,)}", "t = Acme>Twice(x)", "y = Acme>Half(t)"
    found = [session_of(chr(10).join(lines)).run("y:0", {"x:0": [1, 2]}).tolist() for _ in range(2)]
providers = {op: PROCESS_WIDE.provider_of(op) for op in ("Acme>Twice", "Acme>Half", "Acme>Lost")}
print(json.dumps({"found": found, "providers": providers, "message": [str(w.message) for w in caught]}))
"""


def install(folder, name, module, text, value):
    (folder / f"{module}.py").write_text(text)
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[tfport.ops]\nops = {value}\n")


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    install(folder, "acme-broken", "acme_broken", "import no_such_module", "acme_broken")
    install(folder, "acme-late", "acme_late", FAILS_LATE, "acme_late:register")
    install(folder, "acme-module", "acme_module", MODULE, "acme_module")
    install(folder, "acme-function", "acme_function", FUNCTION, "acme_function:register")
    install(folder, "acme-number", "acme_number", "seven = 7", "acme_number:seven")
    return folder


def python(packages, *arguments):
    begin = "import sys; sys.path[:0] = sys.argv.pop(1).split(':'); exec(sys.argv.pop(1))"
    command = [sys.executable, "-c", begin, f"{packages}:.", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_they_are_loaded_once_with_the_first_session(packages):
    report = json.loads(python(packages, PROGRAM).stdout)
    assert report["found"] == [[1, 2], [1, 2]]
    assert report["providers"] == {
        "Acme>Twice": f"acme-module 1.0: {packages}/acme_module.py:4",
        "Acme>Half": f"acme-function 1.0: {packages}/acme_function.py:3",
        "Acme>Lost": None,
    }
    assert sorted(report["message"]) == [
        "the ops of acme-broken 1.0 (ops = acme_broken) cannot be loaded: "
        "ModuleNotFoundError: No module named 'no_such_module'",
        "the ops of acme-late 1.0 (ops = acme_late:register) cannot be loaded: RuntimeError: no license",
        "the ops of acme-number 1.0 (ops = acme_number:seven) cannot be loaded: "
        "TypeError: expected a module or a function of a registry, got int",
    ]


MODEL = """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "y" op: "Acme>Twice" input: "x" }
"""


def test_commands_use_them(packages, tmp_path):
    path = tmp_path / "model.pbtxt"
    path.write_text(MODEL)
    program = "from tfport.cli.main import main; sys.exit(main(sys.argv[1:]))"
    ran = python(packages, program, "run", str(path), "--input", "x=[1.5, 2]", "--json")
    assert json.loads(ran.stdout)["outputs"]["y"]["value"] == [3, 4]
    assert python(packages, program, "check", str(path), "--on", "tfport").returncode == 0
    assert "Acme>Twice" in python(packages, program, "ops", "Acme>Twice", "--on", "tfport").stdout
    refused = python(packages, program, "export", str(path), "-o", str(tmp_path / "m.onnx"))
    assert "`y` (Acme>Twice): it has no lowering" in refused.stderr


def test_the_listing_shows_the_provider_of_an_op(packages):
    program = "from tfport.cli.main import main; sys.exit(main(sys.argv[1:]))"
    ran = python(packages, program, "ops", "--tfport", "Acme>Twice", "Neg", "--json")
    where = f"acme-module 1.0: {packages}/acme_module.py:4"
    assert json.loads(ran.stdout)["ops"] == [
        {"name": "Acme>Twice", "runs": ["numpy"], "provider": where},
        {"name": "Neg", "runs": ["onnx", "numpy"], "provider": None},
    ]
    shown = python(packages, program, "ops", "--tfport", "Acme>Twice", "Acme>Half")
    assert "from acme-function 1.0" in shown.stdout
    assert "tfport: the ops of acme-broken 1.0" in shown.stderr

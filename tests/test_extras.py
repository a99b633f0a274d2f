"""A light install: what works without the packages of an extra, and the sentence where one is missing."""

import importlib
import importlib.metadata
import json
import pickle
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import tfport
from tfport.cli.commands import all_commands
from tfport.cli.main import main
from tfport.extras import (
    EXTRAS,
    INCLUDED,
    NOT_REQUIRED,
    install_command,
    installed_version,
    optional_module,
    require,
)

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
ATTENTION, LIBRARY = "examples/attention", "tests/libraries/good/op.so"
MODULES = {  # of distributions whose module has another name
    "ai-edge-litert": "ai_edge_litert",
    "ai-edge-quantizer": "ai_edge_quantizer",
    "apache-beam": "apache_beam",
    "apache-tvm-ffi": "tvm_ffi",
    "google-re2": "re2",
    "grpcio": "grpc",
    "grpcio-health-checking": "grpc_health",
    "grpcio-reflection": "grpc_reflection",
    "mlflow-skinny": "mlflow",
    "opentelemetry-sdk": "opentelemetry",
    "pillow": "PIL",
    "prometheus-client": "prometheus_client",
    "pysimdjson": "simdjson",
    "pyyaml": "yaml",
}
NOT_ASKED_FOR = {"opentelemetry-exporter-otlp-proto-http", "pandas"}
"""Distributions that come with another one of the same extra."""
OPTIONAL = sorted({module for modules in EXTRAS.values() for module in modules})
HIDDEN = [*OPTIONAL, "rich", "tensorflow", "keras"]
LOOKING = [  # arguments, exit code
    (["inspect", ATTENTION], 0),
    (["inspect", ATTENTION, "--html", "{out}/page.html"], 0),
    (["check", ATTENTION, "--on", "tensorflow==1.13.2"], 1),
    (["check", ATTENTION, "--on", "tfport"], 0),
    (["matrix", ATTENTION], 0),
    (["scan", ATTENTION], 0),
    (["explain", "TFP101"], 0),
    (["ops", "MatMul"], 0),
    (["targets"], 0),
    (["diff", ATTENTION, "examples/wake_word.tflite"], 1),
    (["env", "examples/environments/training.txt", "examples/environments/server.json"], 1),
    (["lib", "tests/libraries/good/op.so", "--on", "tensorflow==2.21.0"], 0),
    (["lib", "tests/libraries/for_2_16_2/op.so", "--on", "tensorflow==2.21.0"], 1),
    (["audit", "examples", "--on", "tensorflow==2.8.4", "-o", "{out}/audit.sqlite", "--jobs", "1"], 0),
    (["completion", "bash"], 0),
]
RUNNING = [
    (["run", ATTENTION], "tfport run", "run"),
    (["fix", ATTENTION, "--for", "tensorflow==1.13.2", "-o", "{out}/fixed"], "tfport fix", "run"),
    (["export", ATTENTION, "-o", "{out}/a.onnx"], "tfport export", "run"),
    (["bench", ATTENTION], "tfport bench", "run"),
    (["lib", "show", LIBRARY], "listing a TensorFlow library's ops", "lib"),
    (["check", ATTENTION, "--on", "tensorflow==2.21.0", "--library", LIBRARY], "--library", "lib"),
    (["serve", ATTENTION], "tfport serve", "serve"),
    (["ui", ATTENTION], "tfport ui", "ui"),
]
PROGRAM = """
import contextlib, io, json, sys
hidden, commands = set(json.loads(sys.argv[1])), json.loads(sys.argv[2])

class Hider:
    def find_spec(self, name, *rest):
        if name.partition(".")[0] in hidden:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hider())
import importlib.util
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name.partition(".")[0] in hidden else real(name, *rest)
from tfport.cli.main import main
results = []
for arguments in commands:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(arguments)
        except SystemExit as ended:
            code = ended.code
    results.append((code, err.getvalue()))
print(json.dumps(results))
"""


def results_without(hidden, commands):
    """The exit code and the errors of commands in a process that does not have these modules."""
    program = [sys.executable, "-c", PROGRAM, json.dumps(list(hidden)), json.dumps(commands)]
    run = subprocess.run(program, capture_output=True, text=True, check=True, cwd=ROOT)
    return json.loads(run.stdout.splitlines()[-1])


def test_the_extras_are_those_of_the_project():
    for extra, modules in EXTRAS.items():
        declared = [Requirement(text) for text in PROJECT["optional-dependencies"][extra]]
        named = {r.name for r in declared if r.name != "tfport"} - NOT_ASKED_FOR
        assert set(modules) == {MODULES.get(name, name) for name in named} | (
            {"fsspec"} & set(modules)  # of the extra that this one includes
        ), extra
        included = {e for r in declared if r.name == "tfport" for e in r.extras}
        assert set(INCLUDED.get(extra, ())) <= included, extra


def test_what_looks_at_models_and_judges_them_works_in_a_light_install(tmp_path):
    commands = [[text.replace("{out}", str(tmp_path)) for text in arguments] for arguments, _ in LOOKING]
    results = results_without(HIDDEN, commands)
    for (arguments, wanted), (code, errors) in zip(LOOKING, results, strict=True):
        assert (code, errors) == (wanted, ""), arguments


def test_other_commands_say_what_to_install_before_any_work(tmp_path):
    commands = [[text.replace("{out}", str(tmp_path)) for text in arguments] for arguments, _, _ in RUNNING]
    for (_, what, extra), (code, errors) in zip(RUNNING, results_without(HIDDEN, commands), strict=True):
        sentence = rf'tfport: {what} needs [\w -]+, which is not installed: pip install "tfport\[{extra}\]"\n'
        assert code == 2
        assert re.fullmatch(sentence, errors), errors
    assert not list(tmp_path.iterdir())


def test_without_a_disassembler_lib_says_that_it_did_not_read_what_a_library_registers(monkeypatch, capsys):
    command = ["lib", LIBRARY, "--on", "tensorflow==2.21.0"]
    assert main(command) == 0
    assert re.search(r"registers +AcmeCopy \(CPU\)\n", capsys.readouterr().out)
    monkeypatch.setitem(sys.modules, "capstone", None)
    assert main([*command, "--json"]) == 0
    registers = json.loads(capsys.readouterr().out)["libraries"][0]["library"]["registers"]
    assert (registers["partial"], registers["ops"]) == (True, [])
    why = 'reading its code needs capstone, which is not installed: pip install "tfport[lib]"'
    assert registers["why_partial"] == why
    assert main(["lib", LIBRARY, "--on", "tensorflow-serving==2.19.1"]) == 1
    assert "error[TFP437]" in capsys.readouterr().out


@pytest.mark.parametrize("extra", ["run", "serve", "ui"])
def test_each_package_of_an_extra_is_asked_for(extra, monkeypatch, capsys):
    command = {"run": ["bench", ATTENTION]}.get(extra, [extra])
    for module in {m for e in (extra, *INCLUDED.get(extra, ())) for m in EXTRAS[e]} - NOT_REQUIRED:
        with monkeypatch.context() as context:
            context.setitem(sys.modules, module, None)
            assert main(command) == 2, module
        assert f'not installed: pip install "tfport[{extra}]"\n' in capsys.readouterr().err


SUBCOMMANDS = {
    "lib check": ["lib"],
    "lib new": [],
    "lib build": ["native"],
    "lib show": ["lib"],
    **{f"targets {name}": [] for name in ("show", "diff", "record", "header")},
}


@pytest.mark.parametrize("subcommand", SUBCOMMANDS)
def test_the_help_of_a_subcommand_ends_with_what_it_needs(subcommand, capsys):
    with pytest.raises(SystemExit):
        main([*subcommand.split(), "--help"])
    own, *others = capsys.readouterr().out.split("\nneeds:\n")[-1].splitlines()
    assert own.strip() == "pip install tfport"
    assert [line.split("  ")[1] for line in others] == [install_command(x) for x in SUBCOMMANDS[subcommand]]


def test_the_help_of_each_command_ends_with_what_it_needs(capsys):
    for command in all_commands():
        with pytest.raises(SystemExit):
            main([command.name, "--help"])
        needs = capsys.readouterr().out.split("\nneeds:\n")[-1].splitlines()
        assert needs[0].strip() == (install_command(command.needs) if command.needs else "pip install tfport")
        assert len(needs) == 1 + len(command.may_need)
        for extra in [command.needs, *(extra for _, extra in command.may_need)]:
            assert extra in {"", *PROJECT["optional-dependencies"]}


def test_in_python_it_is_an_error_of_tfport(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    for use in (
        lambda: tfport.Session,
        lambda: tfport.run(ATTENTION),
        lambda: tfport.fix(ATTENTION, on="tensorflow==1.13.2"),
        lambda: tfport.verify_certificate("none.json"),
    ):
        with pytest.raises(
            tfport.MissingPackage, match=r"needs ONNX Runtime, which is not installed"
        ) as error:
            use()
        assert error.value.extra == "run"
        copy = pickle.loads(pickle.dumps(error.value))
        assert (str(copy), copy.extra) == (str(error.value), "run")


@pytest.mark.parametrize("name", ["spark", "beam", "ray", "mlflow"])
def test_a_module_for_an_engine_says_what_it_needs(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.delitem(sys.modules, f"tfport.{name}", raising=False)
    sentence = rf'^tfport\.{name} needs [\w-]+, which is not installed: pip install "tfport\[{name}\]"$'
    with pytest.raises(tfport.MissingPackage, match=sentence):
        importlib.import_module(f"tfport.{name}")


def test_a_module_is_imported_where_it_is_used(monkeypatch):
    assert optional_module("yaml", "reading YAML").__name__ == "yaml"
    require("run", "a test")
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(tfport.MissingPackage, match="reading YAML needs PyYAML"):
        optional_module("yaml", "reading YAML")


def test_the_version_of_a_package_is_the_one_that_its_metadata_states():
    for distribution in importlib.metadata.distributions():
        name = distribution.metadata["Name"]
        assert installed_version(name) == importlib.metadata.version(name), name
    assert installed_version("no-such-package") is None


def test_a_package_without_a_folder_of_pip_is_asked_for_its_version(tmp_path, monkeypatch):
    (tmp_path / "Odd_name.egg-info").mkdir()
    (tmp_path / "Odd_name.egg-info/PKG-INFO").write_text(
        "Metadata-Version: 2.1\nName: Odd.name\nVersion: 1.5\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert installed_version("odd-name") == "1.5"

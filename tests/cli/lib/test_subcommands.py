"""`tfport lib new`, `build` and `show`, and `tfport lib FILE` without a subcommand."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.api.json_schema import misfits
from tests.built_ops import library, needs_compiler

from tfport.cli.main import main

LIBRARIES = Path(__file__).parents[2] / "libraries"
GOOD = LIBRARIES / "good" / "op.so"


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@needs_compiler
def test_a_new_project_builds_and_passes_its_own_test(capsys):
    assert main(["lib", "new", "count_twice"]) == 0
    assert "next: cd count_twice && tfport lib build" in capsys.readouterr().out
    folder = Path("count_twice")
    assert sorted(file.name for file in folder.iterdir()) == [
        "Makefile", "README.md", "count_twice.cc", "test_count_twice.py",
    ]  # fmt: skip
    assert not [
        file for file in folder.iterdir() if "@name@" in file.read_text() or "@Op@" in file.read_text()
    ]
    built = [str(folder / "count_twice.cc"), "-o", str(folder / "libcount_twice.so")]
    assert main(["lib", "build", *built]) == 0
    assert "CountTwice: (x: T) -> values: T, counts: int64" in capsys.readouterr().out
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_project_is_written_to_the_given_folder_and_listed_as_json(capsys):
    assert main(["lib", "new", "my_op", "--folder", "deep/in", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["version"], document["op"]) == (1, "MyOp")
    assert sorted(document["files"]) == [
        "deep/in/Makefile", "deep/in/README.md", "deep/in/my_op.cc", "deep/in/test_my_op.py",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("taken", "tfport: taken: already exists; choose another folder with --folder"),
        ("MyOp", "tfport: `MyOp` is not a valid project name; expected a name such as my_op"),
        ("../up", "tfport: `../up` is not a valid project name; expected a name such as my_op"),
    ],
)
def test_a_project_that_cannot_be_created_is_one_sentence(name, sentence, capsys):
    Path("taken").mkdir()
    Path("taken/file").touch()
    assert main(["lib", "new", name]) == 2
    assert capsys.readouterr().err.strip() == sentence


@needs_compiler
def test_build_without_sources_compiles_the_current_folder(capsys):
    Path("one.cc").write_text('#include <tfport/op.h>\nTFPORT_OP("One: () -> y: float");\n')
    Path("two.cc").write_text(
        "#include <tfport/op.h>\n"
        "void one(tfport::Context& c) { c.output<float>(0, {})[0] = 1; }\n"
        'TFPORT_KERNEL(One, "label=fast; priority=2", one);\n'
    )
    assert main(["lib", "build", "-o", "libboth.so", "--json", "--checked", "--flag=-O0"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert misfits(document, "lib_build") == []
    assert "-DTFPORT_CHECKED" in document["command"]
    assert document["command"][-1] == "-O0"
    registers = document["library"]["registers"]
    assert registers["ops"] == [{"name": "One", "signature": "One: () -> y: float"}]
    assert registers["kernels"] == [{"op": "One", "constraints": {}, "label": "fast", "priority": 2}]


WRONG = [
    ("int f() { return 1 }", "op.cc:1:19: error: expected ';' before '}' token"),
    ("#include <no_such.h>", "op.cc:1:10: fatal error: no_such.h: No such file or directory"),
    ("int g();\nint f() { return g(); }", "linker error: undefined reference to `g()'"),
    (
        '#include <tfport/op.h>\nvoid f(int) {}\nTFPORT_KERNEL(Op, "", f);',
        "op.cc:3:1: error: invalid conversion from 'void (*)(int)'",
    ),
]


@needs_compiler
@pytest.mark.parametrize(("text", "sentence"), WRONG)
def test_a_compiler_error_has_its_place_and_leaves_no_file(text, sentence, capsys, monkeypatch):
    monkeypatch.setenv("CXX", "g++")
    if shutil.which("g++") is None:
        pytest.skip("the words are those of g++")
    Path("op.cc").write_text(text + "\n")
    assert main(["lib", "build", "op.cc"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("tfport: ")
    assert sentence in error.replace("op.cc:3:23", "op.cc:3:1")
    assert [file.name for file in Path().iterdir()] == ["op.cc"]


@needs_compiler
def test_a_library_that_cannot_load_is_an_error(capsys):
    Path("op.cc").write_text("int f() { return 1; }\n")
    assert main(["lib", "build", "op.cc"]) == 2
    assert "./libop.so: registers no ops with tfport" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("compiler", "arguments", "sentence"),
    [
        ("no-such-compiler", ["op.cc"], "CXX names the compiler no-such-compiler, which does not exist"),
        ("", ["other.cc"], "other.cc: no such file"),
        ("", ["op.cc", "-o", "no/where.so"], "no/where.so: the folder no does not exist"),
        (
            "",
            ["op.cc", "--wheel", "x.whl"],
            "--wheel, --site-packages and --download need --for TARGET",
        ),
        ("", ["op.cc", "--for", "tensorflow>=2.20"], "expected a single release, such as tensorflow==2.21.0"),
        (
            "",
            ["op.cc", "--for", "tensorflow==2.8.4", "--site-packages", "."],
            "tensorflow 2.8.4 is not installed",
        ),
        (
            "",
            ["op.cc", "--for", "tensorflow==2.8.4", "--wheel", "x.whl"],
            "x.whl: not a wheel of tensorflow 2.8.4",
        ),
        (
            "",
            ["--for", "tensorflow==2.8.4", "--checked"],
            "--checked needs tfport's header, and cannot be combined with --for",
        ),
    ],
)
@needs_compiler
def test_an_impossible_build_is_one_sentence(compiler, arguments, sentence, monkeypatch, capsys):
    monkeypatch.setenv("CXX", compiler)
    Path("op.cc").touch()
    assert main(["lib", "build", *arguments]) == 2
    assert sentence in capsys.readouterr().err


@needs_compiler
def test_a_missing_compiler_is_one_sentence(monkeypatch, capsys):
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    Path("op.cc").touch()
    assert main(["lib", "build", "op.cc"]) == 2
    assert "no C++ compiler found: none of g++, clang++, c++" in capsys.readouterr().err


def test_no_sources_is_one_sentence(capsys, monkeypatch):
    pytest.importorskip("tvm_ffi")
    assert main(["lib", "build"]) == 2
    assert "no C++ files in the current folder; name the files to compile" in capsys.readouterr().err


@needs_compiler
def test_show_reads_libraries_of_both_kinds(capsys):
    assert main(["lib", "show", library("ops"), str(GOOD), "--json"]) == 0
    ours, theirs = json.loads(capsys.readouterr().out)["libraries"]
    assert (ours["for"], ours["abi"], ours["header"]) == ("tfport", 1, "1.0")
    assert "Native>Scale" in [op["name"] for op in ours["registers"]["ops"]]
    assert theirs["for"] == "tensorflow"
    assert [op["name"] for op in theirs["registers"]["ops"]] == ["AcmeCopy"]
    assert main(["lib", "show", library("ops")]) == 0
    text = capsys.readouterr().out
    assert "Softsign for T=float; priority=3" in text
    assert "Native>Distinct for all types" in text


def test_show_reads_a_library_for_another_machine(capsys):
    assert main(["lib", "show", str(LIBRARIES / "arm64" / "op.so")]) == 0
    assert "ARM64" in capsys.readouterr().out


def test_show_reports_a_file_that_is_not_a_library(capsys):
    assert main(["lib", "show", str(LIBRARIES / "lfs_pointer" / "op.so")]) == 2
    assert "a Git LFS pointer, not the file itself" in capsys.readouterr().err


def test_a_file_with_the_name_of_a_subcommand_can_be_checked(capsys):
    shutil.copy(GOOD, "new")
    assert main(["lib", "./new", "--on", "tensorflow==2.21.0", "--machine", "x86_64"]) == 0
    assert "AcmeCopy" in capsys.readouterr().out

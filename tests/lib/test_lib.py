"""Each cause has its finding; the folders that the loader searches, and the libraries of a machine."""

import shutil
from pathlib import Path

import pytest

from tfport.atlas.resolve.targets import resolve_targets
from tfport.check.findings.finding import ERROR, WARNING, all_findings
from tfport.errors import Error
from tfport.formats.elf.library import ARM, X86
from tfport.lib.diagnosis import FAILS, LOADS, UNKNOWN, diagnose
from tfport.lib.host_system import SYSTEM_LIBRARIES, is_exported
from tfport.lib.library_search import LoadedLibrary
from tfport.lib.report import report_on
from tfport.lib.subject import LibrarySubject, LoadOptions

FOLDER = Path(__file__).parents[1] / "libraries"
ELSEWHERE = LoadOptions(machine=X86, use_this_machine=False)


def diagnosis(case, on="tensorflow==2.21.0", options=ELSEWHERE):
    (target,) = resolve_targets(on)
    file = str(FOLDER / case / "op.so")
    return diagnose(LibrarySubject(file, file, options), target)


def codes(result):
    return [finding.code for finding in result.findings]


CAUSES = {  # case: its code on 2.21.0
    "lfs_pointer": "TFP401",
    "linker_script": "TFP401",
    "of_windows": "TFP401",
    "of_macos": "TFP401",
    "static_archive": "TFP401",
    "empty": "TFP401",
    "cut_in_middle": "TFP402",
    "cut_after_header": "TFP402",
    "arm64": "TFP403",
    "bits_32": "TFP403",
    "executable": "TFP404",
    "executable_pie": "TFP404",
    "object_file": "TFP404",
    "missing": "TFP405",
    "zeros_from_middle": "TFP406",
    "static_tls": "TFP408",
    "for_1_15_5": "TFP412",
    "for_2_9_3": "TFP420",
    "for_2_16_2": "TFP420",
    "old_abi": "TFP421",
    "newer_abseil": "TFP429",
    "version_not_of_cc": "TFP414",
    "version_of_pywrap": "TFP412",
    "for_2_8_4": "TFP421",
    "source_not_linked": "TFP423",
    "missing_vtable": "TFP423",
    "missing_typeinfo": "TFP423",
    "undefined_function": "TFP424",
    "needed_missing": "TFP425",
    "already_in_tensorflow": "TFP430",
    "op_without_kernel": "TFP431",
    "kernel_for_gpu_only": "TFP431",
    "c_api_of_plugins": "TFP431",
    "kernel_without_op": "TFP432",
    "registers_nothing": "TFP433",
    "archive_dropped": "TFP433",
    "c_api_uncalled": "TFP433",
    "registered_twice": "TFP434",
    "ill_named": "TFP435",
    "ill_defined": "TFP435",
    "second_kernel": "TFP436",
}


@pytest.mark.parametrize(("case", "code"), CAUSES.items())
def test_a_cause_has_its_finding(case, code):
    assert code in codes(diagnosis(case))


@pytest.mark.parametrize("code", sorted(code for code in all_findings() if code.startswith("TFP4")))
def test_a_page_has_a_cause_and_a_fix(code):
    page = all_findings()[code].page
    assert "## Cause" in page
    assert "## Fix" in page


def test_a_good_library_has_no_findings():
    result = diagnosis("good")
    assert (result.verdict, codes(result)) == (LOADS, [])


def test_symbols_are_named_as_in_cxx_with_the_releases_that_have_them():
    (finding,) = [f for f in diagnosis("for_2_16_2").findings if f.code == "TFP420"]
    assert "tsl::internal::LogMessageFatal::LogMessageFatal" in finding.cause()
    assert "compiled with Abseil lts_20230802" in finding.cause()
    assert finding.fixes()[0] == "use TensorFlow 2.16.1 to 2.19.1"


def test_symbols_of_no_release_show_a_newer_tensorflow():
    result = diagnosis("newer_abseil")
    (finding,) = [f for f in result.findings if f.severity == ERROR]
    assert finding.message.endswith("needs 1 symbol of TensorFlow that no recorded release has")
    assert (
        "built for a TensorFlow newer than 2.21.0: no recorded release has Abseil lts_20991231"
        in finding.cause()
    )
    report = report_on([str(FOLDER / "newer_abseil" / "op.so")], options=ELSEWHERE)
    assert "a TensorFlow newer than 2.21.0, Abseil lts_20991231" in " ".join(str(report).split())


def test_a_version_of_tensorflows_own_libraries():
    """`libtensorflow_framework` defines VERS_1.0 from 1.10 to 2.19, and nothing since."""
    assert [
        diagnosis("version_of_framework", f"tensorflow=={v}").verdict for v in ("2.8.4", "2.19.1", "2.20.0")
    ] == [LOADS] * 3
    older = diagnosis("version_not_of_framework", "tensorflow==2.19.1")
    assert (older.verdict, codes(older)[0]) == (FAILS, "TFP414")
    assert older.says == (
        "libtensorflow_framework.so.2: version `tensorflow' not found "
        f"(required by {FOLDER / 'version_not_of_framework' / 'op.so'})"
    )
    assert diagnosis("version_not_of_framework", "tensorflow==2.20.0").verdict == LOADS


def test_a_library_compiled_as_cxx17_for_a_release_compiled_as_cxx14():
    (finding,) = [
        f for f in diagnosis("other_standard_for_2_8_4", "tensorflow==2.8.4").findings if f.code == "TFP420"
    ]
    assert "-std=c++14" in finding.cause()


def test_a_library_that_is_not_linked_to_tensorflow_loads_if_symbols_are_global():
    assert diagnosis("without_framework", "tensorflow==2.21.0").verdict == LOADS
    older = diagnosis("framework_dropped", "tensorflow==2.8.4")
    assert older.verdict == FAILS


def test_a_missing_class_is_reported_by_its_vtable():
    (finding,) = [f for f in diagnosis("missing_vtable").findings if f.code == "TFP423"]
    assert "vtable for HollowOp" in finding.cause()


def test_serving_loads_no_libraries():
    assert "TFP437" in codes(diagnosis("good", "tensorflow-serving==2.19"))


def test_an_arm_machine_does_not_load_an_x86_library():
    result = diagnosis("good", options=LoadOptions(machine=ARM, use_this_machine=False))
    assert codes(result) == ["TFP403"]
    assert result.says.endswith("cannot open shared object file: No such file or directory")


def image(folder, libraries, configuration=""):
    """An image with x86-64 libraries, each a copy of a real library under some name."""
    places = {"usr/lib/x86_64-linux-gnu/libc.so.6": "needed_by_rpath/deps/libacme.so.1", **libraries}
    for place, file in places.items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(FOLDER / file, folder / place)
    for name in ("libstdc++.so.6", "libgcc_s.so.1", "libm.so.6"):
        shutil.copy(FOLDER / "needed_by_rpath/deps/libacme.so.1", folder / "usr/lib/x86_64-linux-gnu" / name)
    (folder / "etc").mkdir()
    (folder / "etc/ld.so.conf").write_text(configuration)
    return LoadOptions(machine=X86, sysroot=str(folder))


ACME = "needed_by_rpath/deps/libacme.so.1"


def test_an_image_without_the_library(tmp_path):
    result = diagnosis("needed_without_path", options=image(tmp_path, {}))
    assert result.says == "libacme.so.1: cannot open shared object file: No such file or directory"
    (finding,) = [f for f in result.findings if f.code == "TFP410"]
    assert "/usr/lib/x86_64-linux-gnu" in finding.cause()
    assert "op.so" in finding.message


@pytest.mark.parametrize("place", ["usr/lib/libacme.so.1", "opt/acme/libacme.so.1"])
def test_an_image_with_the_library_in_a_configured_folder(place, tmp_path):
    options = image(tmp_path, {place: ACME}, "# ours\n/opt/acme\n")
    assert "TFP410" not in codes(diagnosis("needed_without_path", options=options))


def test_links_of_an_image_stay_inside_it(tmp_path):
    options = image(tmp_path, {"usr/lib/real/libacme.so.1.2": ACME})
    (tmp_path / "usr/lib/libacme.so.1").symlink_to("/usr/lib/real/libacme.so.1.2")
    assert "TFP410" not in codes(diagnosis("needed_without_path", options=options))


def test_a_cuda_library_names_its_package(tmp_path):
    (finding,) = [
        f
        for f in diagnosis("needed_of_other_cuda", options=image(tmp_path, {})).findings
        if f.code == "TFP411"
    ]
    assert finding.library == "libcudart.so.9.0"
    assert "CUDA 12.5.1" in finding.cause()


def test_without_a_machine_the_verdict_is_unknown():
    assert diagnosis("needed_missing").verdict == UNKNOWN


def test_a_folder_that_is_not_an_image_is_an_error(tmp_path):
    with pytest.raises(Error, match="no libc"):
        diagnosis("good", options=LoadOptions(machine=X86, sysroot=str(tmp_path)))
    with pytest.raises(Error, match="not a folder"):
        diagnosis("good", options=LoadOptions(machine=X86, sysroot=str(tmp_path / "none")))


def test_every_release_is_tried_without_a_target():
    report = report_on([str(FOLDER / "for_2_16_2" / "op.so")], options=ELSEWHERE)
    (library,) = report.libraries
    loading = [result.target.build.version for result in library.results if result.verdict == LOADS]
    assert loading == ["2.16.1", "2.16.2", "2.17.0", "2.17.1", "2.18.0", "2.18.1", "2.19.0", "2.19.1"]
    assert "2.16.1 to 2.19.1" in str(report)
    assert report.exit_code == 0


# What the process and the usual system libraries offer.


@pytest.mark.parametrize("machine", [X86, ARM])
@pytest.mark.parametrize(
    ("symbol", "libraries", "answer"),
    [
        ("sqrtf", ["libm.so.6"], True),
        ("sqrtf", ["libstdc++.so.6"], True),  # which needs libm
        ("sqrtf", ["libc.so.6"], False),
        ("pthread_create", ["libpthread.so.0", "libc.so.6"], True),
        ("pthread_create", ["libc.so.6"], None),  # since GLIBC 2.34
        ("deflate", ["libz.so.1"], True),
        ("_Znwm", ["libstdc++.so.6"], True),
        ("acme_missing", SYSTEM_LIBRARIES, False),
    ],
)
def test_symbols_of_system_libraries_on_an_unknown_machine(machine, symbol, libraries, answer):
    assert is_exported(symbol, machine, libraries) is answer


def test_a_symbol_that_only_some_machines_have_is_unknown(monkeypatch):
    monkeypatch.setattr("tfport.lib.closure.is_exported", lambda symbol, *_: None)
    result = diagnosis("undefined_function")
    (finding,) = [f for f in result.findings if f.code == "TFP424"]
    assert (result.verdict, result.says) == (UNKNOWN, None)
    assert finding.doubt.startswith("the system libraries of some machines have ")


def test_a_wheel_with_a_copy_of_the_framework_library_may_crash_where_symbols_are_global():
    """As tensorflow-decision-forests 1.0.0: it loads in 2.19.1 and crashes in 2.21.0."""
    file = str(FOLDER / "good" / "op.so")
    subject = LibrarySubject(file, file, ELSEWHERE)
    copy = LoadedLibrary("libtensorflow_framework-8bae5bf4.so.2", file, subject.library, subject.closure.root)
    subject.closure.loaded.append(copy)
    verdicts = {}
    for release in ("2.19.1", "2.21.0"):
        (target,) = resolve_targets(f"tensorflow=={release}")
        (finding,) = [f for f in diagnose(subject, target).findings if f.code == "TFP415"]
        verdicts[release] = finding.severity, diagnose(subject, target).verdict
    assert verdicts["2.19.1"][0] == WARNING
    assert verdicts["2.21.0"] == (ERROR, UNKNOWN)


# What a package declares.

REQUIRES = (
    'tensorflow==2.18.0; extra == "gpu" and platform_machine == "x86_64"',
    'tensorflow-cpu==2.18.0; extra == "cpu" and platform_machine == "x86_64"',
)


@pytest.mark.parametrize(
    ("lines", "machine", "python", "declares"),
    [
        (REQUIRES, ARM, None, ""),
        (REQUIRES, X86, None, "tensorflow==2.18.0 or tensorflow-cpu==2.18.0"),
        (["tensorflow<2.9", *REQUIRES], X86, None, "tensorflow<2.9"),
        (['tensorflow<2.9; sys_platform == "darwin"'], X86, None, ""),
        (['tensorflow<2.9; python_version < "3.8"'], X86, "3.11", ""),
        (['tensorflow<2.9; python_version < "3.8"'], X86, None, "tensorflow<2.9"),
    ],
)
def test_requirements_of_a_package_apply_by_their_markers(lines, machine, python, declares):
    file = str(FOLDER / "good" / "op.so")
    options = LoadOptions(machine=machine, python=python, use_this_machine=False)
    assert LibrarySubject(file, file, options, requires=tuple(lines)).declares == declares


# Libraries without ops.


@pytest.mark.parametrize(("is_named", "expected"), [(True, ["TFP433"]), (False, [])])
def test_a_library_without_ops_is_reported_only_if_it_was_named(is_named, expected):
    """Wheels and folders also have libraries that ops use, and plugins."""
    (target,) = resolve_targets("tensorflow==2.21.0")
    file = str(FOLDER / "registers_nothing" / "op.so")
    assert codes(diagnose(LibrarySubject(file, file, ELSEWHERE, is_named=is_named), target)) == expected

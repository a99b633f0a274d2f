"""Op libraries made by the compiler: what they register, and what they need from TensorFlow and others.

`good` is the library that loads; every other is that library with one change.
"""

from collections.abc import Sequence
from typing import Any

from case import Case, Load
from steps import Step, archived, helper, library, program, without

OP, KERNEL = ["op.cc"], ["copy_op.cc", "kernel.cc"]
COPY = [*OP, *KERNEL]
ACME, INNER = "deps/libacme.so.1", "deps/libacme_inner.so.1"
ORIGIN = "-Wl,-rpath,$ORIGIN/deps"
RPATH, RUNPATH = "-Wl,--disable-new-dtags", "-Wl,--enable-new-dtags"
ARM64 = ("-shared", "-nostdlib", "-Wl,-z,max-page-size=4096")
OTHER_RELEASES = ("1.15.5", "2.4.4", "2.8.4", "2.9.3", "2.13.1", "2.16.2", "2.20.0")
FRAMEWORK = "libtensorflow_framework.so.2"
NO_AS_NEEDED = ("-Wl,--no-as-needed",)
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 22912\n"


def copy(*more: str, **options: Any) -> list[Step]:
    """A library with the op and its kernel, and further sources."""
    return [library(*COPY, *more, **options)]


def needs(soname: str, symbol_version: str = "") -> list[Step]:
    """A library that needs another library, or a version of it, that does not exist."""
    made = helper("acme.c", soname, symbol_version)
    return [made, *copy("uses_acme.c", against=[soname]), without(soname)]


def needs_version(soname: str, symbol_version: str, *options: str) -> list[Step]:
    """A library that needs a symbol of TensorFlow in a version."""
    made = helper("status.c", soname, symbol_version)
    return [made, helper("uses_status.c", "op.so", against=soname, options=options), without(soname)]


def with_acme(*then: Step, link: Sequence[str] = (ORIGIN,), symbol_version: str = "") -> list[Step]:
    """A library that needs another library in a folder below its own."""
    made = helper("acme.c", ACME, symbol_version)
    return [made, *copy("uses_acme.c", against=[ACME], link=link), *then]


def with_inner(dtags: str) -> list[Step]:
    """A library that needs a library that needs a third one; only the first has a search path."""
    outer = helper("acme_through_inner.c", ACME, against=INNER)
    linked = copy("uses_acme.c", against=[ACME], link=[ORIGIN, dtags, "-Wl,--allow-shlib-undefined"])
    return [helper("acme_inner.c", INNER), outer, *linked]


def scaler_without_typeinfo() -> list[Step]:
    """A library whose base class is in another library, compiled with other options."""
    scaler, soname = "deps/libscaler.so", "-Wl,-soname,libscaler.so"
    made = library("scaler.cc", compile=["-fno-rtti"], framework="none", link=[soname], out=scaler)
    return [made, *copy("doubler.cc", against=[scaler], link=[ORIGIN])]


REGISTRATION = {
    "good": Case("an op and its kernel", copy()),
    "op_without_kernel": Case(
        "REGISTER_KERNEL_BUILDER is commented out", [library(*OP, "copy_op.cc", "kernel_commented_out.cc")]
    ),
    "kernel_without_op": Case("a kernel for an op that is not registered", [library(*KERNEL)], calls=()),
    "kernel_for_gpu_only": Case(
        "a kernel for another device", [library(*OP, "copy_op.cc", "kernel_for_gpu.cc")]
    ),
    "kernel_with_label": Case(
        "a kernel for nodes with a label", [library(*OP, "copy_op.cc", "kernel_with_label.cc")]
    ),
    "kernels_for_other_types": Case(
        "kernels for two of the op's three dtypes",
        [library("typed.cc", "copy_op.cc")],
        calls=["AcmeTypedCopy"],
    ),
    "c_api": Case("an op and its kernel registered only through the C API", [library("c_api.cc")]),
    "c_api_of_plugins": Case(
        "TF_InitKernel registers the kernel, and is called only for pluggable devices",
        [library("c_api.cc", compile=["-DAS_PLUGINS_DO"])],
    ),
    "c_api_uncalled": Case("nothing calls its registration function", [library("c_api_uncalled.cc")]),
    "registers_nothing": Case("no registration at all", [library("nothing.c")]),
    "archive_dropped": Case("the op is in an archive that the linker dropped", [archived(*COPY)]),
    "already_in_tensorflow": Case(
        "an op that TensorFlow has too, with another definition", [library("matmul.cc")], calls=["MatMul"]
    ),
    "second_kernel": Case(
        "a kernel that TensorFlow has too", [library("relu_kernel.cc", "copy_op.cc")], calls=["Relu"]
    ),
    "registered_twice": Case("two sources register the op", copy("op_again.cc")),
    "loaded_under_two_names": Case(
        "a copy of the library was loaded before", load=Load(copy_first=True), file="good/op.so"
    ),
    "ill_named": Case("an op whose name is not in CamelCase", [library("ill_named.cc")], calls=()),
    "ill_defined": Case("an op whose definition TensorFlow rejects", [library("ill_defined.cc")]),
    "throws": Case("an exception before anything is registered", [library("throws.cc", *COPY)]),
}
SYMBOLS = {
    "source_not_linked": Case("the source of the kernel's class was not linked", [library(*OP, "kernel.cc")]),
    "missing_vtable": Case("a class without its only function", [library(*OP, "vtable.cc")]),
    "missing_typeinfo": Case("a base class compiled with -fno-rtti", scaler_without_typeinfo()),
    "undefined_function": Case("an undefined C function", copy("uses_acme.c")),
    "weak_symbol": Case("a missing weak symbol", copy("uses_acme_if_there.c")),
    "without_framework": Case("not linked with libtensorflow_framework", copy(framework="none")),
    "framework_dropped": Case(
        "--as-needed with libtensorflow_framework before the objects", copy(framework="first")
    ),
    "without_framework_of_2_13_1": Case(
        "built for TensorFlow 2.13.1, not linked with it", copy(version="2.13.1", framework="none")
    ),
    "c_api_of_2_4_4": Case(
        "an op and its kernel through the C API of TensorFlow 2.4.4", [library("c_api.cc", version="2.4.4")]
    ),
    "other_standard_for_2_8_4": Case(
        "built for TensorFlow 2.8.4 as C++17, where string_view is another type",
        copy(version="2.8.4", standard="c++17"),
    ),
    "old_abi": Case("built with the old C++ ABI", copy(abi=False)),
    "newer_abseil": Case(
        "needs a symbol of a TensorFlow that is newer than every release",
        [
            helper("status.c", FRAMEWORK),
            helper("newer_abseil.cc", "op.so", against=FRAMEWORK, options=NO_AS_NEEDED),
            without(FRAMEWORK),
        ],
        calls=(),
    ),
    **{
        f"for_{v.replace('.', '_')}": Case(f"built for TensorFlow {v}", copy(version=v))
        for v in OTHER_RELEASES
    },
}
CC, PYWRAP = "libtensorflow_cc.so.2", "_pywrap_tensorflow_internal.so"
IF_THERE = ("-DIF_THERE", *NO_AS_NEEDED)
VERSIONS = {
    f"version_{name}": Case(description, needs_version(library, version, *options), calls=())
    for name, description, library, version, *options in (
        ("of_framework", "needs a version of the framework library of 1.10 to 2.19", FRAMEWORK, "VERS_1.0"),
        ("not_of_framework", "needs another version of the framework library", FRAMEWORK, "tensorflow"),
        ("of_cc", "needs the version of libtensorflow_cc", CC, "tensorflow"),
        ("not_of_cc", "needs another version of libtensorflow_cc", CC, "VERS_1.0"),
        ("of_pywrap", "needs the version of the library that Python imports", PYWRAP, "tensorflow"),
        ("if_there", "needs a version for a weak symbol", FRAMEWORK, "tensorflow", *IF_THERE),
    )
}
NEEDED = {
    "needed_missing": Case("needs a library that does not exist", needs("libacme.so.1")),
    "needed_of_other_cuda": Case("needs the runtime of another CUDA", needs("libcudart.so.9.0")),
    "needed_of_musl": Case("built on a system with musl", needs("libc.musl-x86_64.so.1")),
    "needed_without_path": Case("needs a library in a folder that is not searched", with_acme(link=[])),
    "needed_by_rpath": Case("RPATH with $ORIGIN finds the library", with_acme(link=[ORIGIN, RPATH])),
    "needed_by_runpath": Case("RUNPATH with $ORIGIN finds the library", with_acme(link=[ORIGIN, RUNPATH])),
    "needed_by_library_path": Case(
        "LD_LIBRARY_PATH finds the library",
        load=Load(library_path="deps"),
        file="needed_without_path/op.so",
    ),
    "needed_by_relative_path": Case(
        "a relative RUNPATH, and the right working directory",
        with_acme(link=["-Wl,-rpath,deps", RUNPATH]),
    ),
    "needed_by_relative_path_elsewhere": Case(
        "a relative RUNPATH, and another working directory",
        load=Load(folder=".."),
        file="needed_by_relative_path/op.so",
    ),
    "needed_inner_by_rpath": Case("RPATH applies to indirect dependencies", with_inner(RPATH)),
    "needed_inner_by_runpath": Case("RUNPATH does not apply to indirect dependencies", with_inner(RUNPATH)),
    "needed_is_text": Case(
        "the library it needs is text",
        with_acme(lambda folder: (folder / ACME).write_text(POINTER)),
    ),
    "needed_of_other_machine": Case(
        "the needed library is for another machine",
        with_acme(program(*ARM64, compiler="aarch64-linux-gnu-gcc", source="acme.c", out=ACME)),
    ),
    "needed_without_symbol": Case(
        "the needed library is another version", with_acme(helper("other.c", ACME))
    ),
    "needed_without_version": Case(
        "needs ACME_2 of a library that has ACME_1",
        with_acme(helper("acme.c", ACME, "ACME_1"), symbol_version="ACME_2"),
    ),
    "needed_without_versions": Case(
        "needs ACME_2 of a library that has no versions",
        with_acme(helper("acme.c", ACME), symbol_version="ACME_2"),
    ),
    "needed_has_no_versions": Case(
        "needs ACME_2 of a library that requires versions and defines none",
        with_acme(helper("acme_of_libc.c", ACME, bare=False), symbol_version="ACME_2"),
    ),
    "glibc_too_old": Case("needs a newer glibc", needs("libc.so.6", "GLIBC_2.99")),
    "glibcxx_too_old": Case("needs a newer libstdc++", needs("libstdc++.so.6", "GLIBCXX_3.4.99")),
    "cxxabi_too_old": Case("needs a newer C++ runtime", needs("libstdc++.so.6", "CXXABI_1.3.99")),
    "static_tls": Case(
        "more static thread-local storage than available",
        copy("thread_local.c", compile=["-ftls-model=initial-exec"]),
    ),
    "old_hash": Case("a symbol table with the old hash style", copy(link=["-Wl,--hash-style=sysv"])),
    "packed_relocations": Case(
        "packed relocations, supported since glibc 2.36", copy(link=["-Wl,-z,pack-relative-relocs"])
    ),
}

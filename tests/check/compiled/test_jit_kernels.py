"""What XLA compiles, as recorded from real releases."""

import pytest

from tfport.atlas.resolve.targets import resolve_targets
from tfport.check.compiled.jit_kernels import jit_kernels, newest_jit_kernels, releases_compiling
from tfport.graph.dtypes import DType
from tfport.registry.resolve import supports_types


def on(text, kind="CPU"):
    return jit_kernels(resolve_targets(text)[0], kind)


def compiles(kernels, op, **attrs):
    types = {name: DType.parse(text) for name, text in attrs.items()}
    return any(supports_types(kernel, types) for kernel in kernels.get(op, ()))


@pytest.mark.parametrize("release", ["2.9.3", "2.12.1", "2.16.2", "2.21.0"])
def test_the_kernels_of_a_release_have_types(release):
    kernels = on(f"tensorflow=={release}")
    assert compiles(kernels, "MatMul", T="float32")
    assert not compiles(kernels, "MatMul", T="uint8")
    assert compiles(kernels, "_Arg", T="resource")
    assert not compiles(kernels, "_Arg", T="string")
    assert compiles(kernels, "Const", dtype="string")
    assert "Spence" not in kernels


def test_releases_differ():
    later = set(on("tensorflow==2.21.0")) - set(on("tensorflow==2.9.3"))
    assert later
    assert set(releases_compiling(min(later), "XLA_CPU_JIT")) < set(releases_compiling("Exp", "XLA_CPU_JIT"))


@pytest.mark.parametrize("text", ["tensorflow==2.3.4", "tensorflow==1.15.5", "tensorflow-serving==2.18.0"])
def test_what_was_not_recorded_is_not_known(text):
    assert on(text) is None


def test_the_newest_release_stands_for_others():
    assert newest_jit_kernels("CPU") is on("tensorflow==2.21.0")
    assert releases_compiling("Exp", "XLA_TPU_JIT") is None

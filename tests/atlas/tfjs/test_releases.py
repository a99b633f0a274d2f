"""What the recorded releases of TensorFlow.js have."""

import pytest

from tfport.atlas.resolve.targets import resolve_targets
from tfport.atlas.tfjs.releases import tfjs_source, tfjs_versions
from tfport.errors import Error


def test_releases():
    assert tfjs_versions() == ["2.8.6", "3.21.0", "4.22.0"]


def test_text_names_a_release_and_a_backend():
    assert [t.requirement for t in resolve_targets("tfjs==4.22.0")] == ["tfjs[webgl]==4.22.0"]
    assert [t.name for t in resolve_targets("tfjs[wasm]==3.21.0")] == ["tfjs 3.21.0 (wasm)"]
    with pytest.raises(Error, match=r"tfjs\[gpu\]: unknown backend; expected cpu, wasm, webgl"):
        resolve_targets("tfjs[gpu]==4.22.0")
    both = resolve_targets("tfjs[cpu, wasm]==4.22.0")
    assert [t.name for t in both] == ["tfjs 4.22.0 (cpu)", "tfjs 4.22.0 (wasm)"]


def test_kernels_of_a_backend():
    assert tfjs_source("3.21.0", "wasm").missing_kernels("Erf") == ["Erf"]
    assert tfjs_source("3.21.0", "cpu").missing_kernels("Erf") == []
    assert tfjs_source("4.22.0", "wasm").missing_kernels("Erf") == []


def test_op_that_never_works_is_not_registered():
    source = tfjs_source("4.22.0", "cpu")
    assert source.knows("BitwiseAnd")
    assert source.problem("BitwiseAnd").startswith("Argument 'x' passed to 'bitwiseAnd' must be a Tensor")
    assert source.definition("BitwiseAnd") is None
    assert not source.knows("Lgamma")


def test_values_that_never_work_are_not_allowed():
    definition = tfjs_source("4.22.0", "cpu").definition("Conv2D")
    assert definition is not None
    (layout,) = [attr for attr in definition.attr if attr.name == "data_format"]
    assert list(layout.allowed_values.list.s) == [b"NHWC"]


def test_layers():
    assert "gelu" in tfjs_source("4.22.0", "cpu").layers
    assert "gelu" not in tfjs_source("3.21.0", "cpu").layers

"""Requirements as text: plain pins are read as the full parser reads them."""

import pytest

from tfport.atlas.package_requirement import PackageRequirement, canonical_name, exact_requirement
from tfport.atlas.requirements import parse_requirement

PINS = ["tensorflow==2.8.4", "TensorFlow_Text==2.8", "a.b==1", "x==1.0.0.0", "tensorflow==02.8"]
OTHERS = ["tensorflow", "tensorflow>=2.8", "tensorflow==2.8.*", "tensorflow==2.8.0rc1", "tensorflow[x]==2.8",
          "tensorflow===2.8", "-x==1", "x-==1", "tensorflow==2.8; extra=='a'", "é==1", "x==\uff11",
          "x==" + "1" * 100, "x" * 200 + "==1"]  # fmt: skip


@pytest.mark.parametrize("text", PINS)
def test_a_plain_pin_is_read_as_the_full_parser_reads_it(text):
    assert exact_requirement(text) == parse_requirement(text)


@pytest.mark.parametrize("text", OTHERS)
def test_other_requirements_are_left_to_the_full_parser(text):
    assert exact_requirement(text) is None


@pytest.mark.parametrize(
    ("limits", "pin"),
    [("", None), ("==2.8", "2.8"), ("===2.8", "2.8"), ("==2.8.*", None), ("<2.9,>=2.8", None),
     ("==2.8,==2.9", None), ("~=2.8", None), ("!=2.8", None)],
)  # fmt: skip
def test_only_one_exact_version_is_a_pin(limits, pin):
    assert PackageRequirement("x", limits).pin == pin


@pytest.mark.parametrize("name", ["TensorFlow", "tensorflow_text", "a.-_b", "x"])
def test_names_are_spelled_as_packaging_spells_them(name):
    from packaging.utils import canonicalize_name

    assert canonical_name(name) == canonicalize_name(name)

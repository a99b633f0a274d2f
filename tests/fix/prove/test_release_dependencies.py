"""Releases get dependencies of their own age."""

import pytest

from tfport.fix.prove.environments import dependencies


@pytest.mark.parametrize(
    ("package", "release", "requirement"),
    [
        ("tensorflow", "1.4.1", "numpy<1.17"),
        ("tensorflow-gpu", "2.0.4", "gast==0.2.2"),
        ("tensorflow", "2.3.4", "numpy<1.20"),
        ("tensorflow", "2.8.4", "numpy<1.24"),
        ("tensorflow", "2.15.1", "setuptools<70"),
        ("tensorflow", "2.17.1", "numpy<2"),
        ("tflite-runtime", "2.7.0", "numpy<2"),
        ("keras", "2.3.1", "tensorflow==1.15.5"),
        ("keras", "2.8.0", "tensorflow==2.8.*"),
        ("keras", "2.15.0", "tensorflow==2.15.*"),
        ("keras", "3.3.3", "tensorflow==2.16.2"),
        ("keras", "3.15.1", "tensorflow"),
    ],
)
def test_dependencies_of_the_same_age(package, release, requirement):
    assert requirement in dependencies(package, release)


@pytest.mark.parametrize(("package", "release"), [("tensorflow", "2.21.0"), ("tf-keras", "2.16.0")])
def test_a_release_that_needs_none(package, release):
    assert dependencies(package, release) == []

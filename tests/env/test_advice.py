"""Advice names only versions that exist."""

import re

import pytest

from tfport.atlas.atlas import atlas
from tfport.atlas.package_versions import package_versions, recorded_on, recorded_version
from tfport.env.compare import compare
from tfport.env.difference import addon_advice

CASES = [  # add-on               beside      advice
    ("tensorflow-text",           "2.8.4",    "pip install tensorflow-text==2.8.2"),
    ("tensorflow-text",           "2.21.0",   "pip install tensorflow-text==2.21.1"),
    ("tensorflow-addons",         "2.15.1",   "pip install tensorflow-addons==0.23.0"),
    ("tensorflow-addons",         "2.17.1",   None),
    ("tensorflow-io",             "2.16.2",   "pip install tensorflow-io==0.37.1"),
    ("tensorflow-io",             "2.17.1",   None),
    ("tf-keras",                  "2.16.2",   "pip install tf-keras==2.16.0"),
    ("tensorflow-decision-forests", "2.20.0", None),
]  # fmt: skip


@pytest.mark.parametrize(("package", "release", "advice"), CASES)
def test_advice_for_an_addon(package, release, advice):
    build = atlas().find("tensorflow", release)
    nothing = f"no version of {package} supports tensorflow {release} (as of {recorded_on()})"
    assert addon_advice(package, build) == (advice or nothing)


@pytest.mark.parametrize("release", ["1.15.5", "2.4.4", "2.8.4", "2.11.1", "2.15.1", "2.18.1", "2.21.0"])
def test_every_advised_version_exists_and_supports_the_release(release):
    build = atlas().find("tensorflow", release)
    for package in atlas().packages():
        if match := re.fullmatch(r"pip install (\S+)==(\S+)", addon_advice(package, build)):
            assert recorded_version(match[1], match[2]).accepts(release)


def test_a_missing_addon_is_advised_in_an_existing_version():
    comparison = compare("tensorflow==2.21.0 tensorflow-text==2.21.1", "tensorflow==2.11.1")
    (missing,) = [d for d in comparison.differences if d.name == "addon-missing"]
    assert missing.fixes == ("pip install tensorflow-text==2.11.0",)


def test_an_old_addon_is_not_advised_beside_a_tensorflow_that_it_refuses():
    comparison = compare(
        "tensorflow==2.8.4 tensorflow-text==2.8.2", "tensorflow==2.4.4 tensorflow-text==2.4.3"
    )
    (lost,) = [d for d in comparison.differences if d.name == "addon-ops-lost"]
    assert lost.fixes == (
        "tensorflow-text 2.8.2 has them, and requires tensorflow<2.9,>=2.8.0: install both",
    )


def test_the_record_has_a_day_and_the_usual_packages():
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", recorded_on())
    for package in ("tensorflow-text", "tensorflow-hub", "tf-keras", "tensorflow-probability", "keras"):
        assert package_versions(package)
    assert package_versions("no-such-package") == {}

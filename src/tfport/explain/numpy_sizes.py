"""Look up which NumPy is older, from the sizes in a message: that of the package or the installed one."""

from __future__ import annotations

from tfport.atlas.target import Target
from tfport.explain.lookup import Meaning, MessageMatch

DESCRIPTOR = "dtype"
NUMPY_1, NUMPY_2 = 96, 88
"""The size of numpy.dtype in NumPy 1.23 to 1.26, and since 2.0; other types only grew."""
OLD_INSTALLED = (
    "upgrade NumPy as far as TensorFlow allows it; otherwise install an older version of the package"
)
NEW_INSTALLED = "install that package again, or a newer version, so that it fits the installed NumPy"


def which_is_older(match: MessageMatch, target: Target | None) -> Meaning:
    """Whether to move NumPy up or down; no facts if the message has no sizes."""
    if "compiled" not in match.names:
        return Meaning()
    compiled, installed = int(match.names["compiled"]), int(match.names["installed"])
    if match.names["what"] == DESCRIPTOR and (compiled, installed) == (NUMPY_1, NUMPY_2):
        return Meaning(
            ["The package was compiled for NumPy 1, and NumPy 2 is installed."],
            ["pip install 'numpy<2'", "or upgrade the package to a version for NumPy 2"],
        )
    if match.names["what"] == DESCRIPTOR and (compiled, installed) == (NUMPY_2, NUMPY_1):
        return Meaning(
            ["The package was compiled for NumPy 2, and NumPy 1 is installed."],
            ["install an older version of the package, or NumPy 2 if TensorFlow allows it"],
        )
    if compiled > installed:
        return Meaning(
            ["The package was compiled for a newer NumPy than the installed one: the type is larger there."],
            [OLD_INSTALLED],
        )
    return Meaning(["The package was compiled for an older NumPy than the installed one."], [NEW_INSTALLED])

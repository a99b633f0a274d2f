"""Releases of TensorFlow Serving, and the add-ons linked into each.

From Serving's sources at the tag of each release (SUPPORTED_TENSORFLOW_OPS in
model_servers/BUILD, and workspace.bzl); its binaries were not examined.
"""

from __future__ import annotations

from tfport.atlas.atlas import Atlas, Build
from tfport.atlas.versions import version_key

RELEASES = [
    "1.0.0", "1.3.0", "1.4.0", "1.5.0", "1.6.0", "1.6.1", "1.7.0", "1.7.1", "1.8.0", "1.9.0",
    "1.9.1", "1.10.0", "1.10.1", "1.11.0", "1.11.1", "1.12.0", "1.12.3", "1.13.0", "1.13.1", "1.13.2",
    "1.14.0", "1.15.0", "2.0.0", "2.1.0", "2.1.4", "2.2.0", "2.2.2", "2.2.3", "2.3.0", "2.3.3",
    "2.3.4", "2.4.0", "2.4.1", "2.4.2", "2.4.3", "2.4.4", "2.5.1", "2.5.2", "2.5.3", "2.5.4",
    "2.6.0", "2.6.1", "2.6.2", "2.6.3", "2.6.5", "2.7.0", "2.7.3", "2.7.4", "2.8.0", "2.8.2",
    "2.8.3", "2.8.4", "2.9.0", "2.9.1", "2.9.2", "2.9.3", "2.10.0", "2.10.1", "2.11.0", "2.11.1",
    "2.12.0", "2.12.1", "2.12.2", "2.13.0", "2.13.1", "2.14.0", "2.14.1", "2.15.1", "2.16.1", "2.17.0",
    "2.17.1", "2.18.0", "2.18.1", "2.19.0", "2.19.1", "2.20.0",
]  # fmt: skip
TEXT, FORESTS = "tensorflow-text", "tensorflow-decision-forests"
LINKED = [  # from release    TF-Text    decision forests, inference only
    ("2.0.0",                 "2.0.1",   None),     # a commit after 2.0.1, five of its ops
    ("2.2.0",                 "2.2.0",   None),
    ("2.4.0",                 "2.3.0",   None),
    ("2.4.3",                 "2.4.3",   None),
    ("2.6.0",                 "2.5.0",   None),
    ("2.7.0",                 "2.6.0",   None),
    ("2.7.3",                 "2.7.3",   None),
    ("2.8.0",                 "2.6.0",   None),
    ("2.10.0",                "2.7.3",   None),
    ("2.11.0",                "2.8.2",   "1.0.1"),
    ("2.12.0",                "2.12.1",  "1.3.0"),
    ("2.20.0",                "2.20.0",  "1.3.0"),
]  # fmt: skip
CONTRIB = [
    "boosted_trees", "coder", "data", "factorization", "framework", "hadoop", "input_pipeline",
    "kafka", "kinesis", "layers", "nccl", "nearest_neighbor", "rnn", "seq2seq",
    "tensor_forest/python", "text", "tpu",
]  # fmt: skip
"""The parts of tensorflow.contrib that 1.x links (contrib_ops_op_lib)."""
CONTRIB_UNTIL = version_key("2")


def releases(atlas: Atlas) -> list[str]:
    """Return the releases of Serving; after those of this table, one for each TensorFlow release."""
    newest = version_key(RELEASES[-1])
    return [*RELEASES, *(b.version for b in atlas.builds("tensorflow") if version_key(b.version) > newest)]


def linked(release: str) -> dict[str, str]:
    """Return the add-ons linked into a release, with their versions."""
    wanted = version_key(release)
    rows = [row for row in LINKED if version_key(row[0]) <= wanted]
    if not rows:
        return {}
    _, text, forests = rows[-1]
    return {TEXT: text, **({FORESTS: forests} if forests else {})}


def contrib_libraries(atlas: Atlas, build: Build) -> list[str]:
    """Return the libraries of tensorflow.contrib whose ops the same release of Serving has."""
    if version_key(build.version) >= CONTRIB_UNTIL:
        return []
    rows = atlas.rows("SELECT DISTINCT provider FROM op WHERE provider LIKE 'contrib/%'")
    folders = tuple(f"contrib/{folder}/" for folder in CONTRIB)
    return [provider for (provider,) in rows if provider.startswith(folders)]


def notes(release: str, addons: list[Build]) -> list[str]:
    """Return the notes about a target of this release."""
    versions = linked(release)
    if not versions:
        return [
            "derived from Serving's sources, not measured: TensorFlow with the contrib ops that 1.x links in"
        ]
    named = " and ".join(f"{package} {version}" for package, version in versions.items())
    out = [f"derived from Serving's sources, not measured: they link {named} into TensorFlow"]
    for addon in addons:
        if versions[addon.package] != addon.version:
            out.append(
                f"{addon.package} {versions[addon.package]} is not recorded: {addon.version} is used instead"
            )
    missing = sorted(set(versions) - {addon.package for addon in addons})
    return out + [f"{package} is not recorded: its ops are unknown" for package in missing]

"""Find the build that another build is an alias of: the same registry under a second name.

`same_files` compares wheels on the index by the checksums of their libraries;
`same_registry` compares what was recorded. Both return the name of the recorded build.
"""

from atlas_file import AtlasContent, RecordedRegistry, record_name
from package_index import choose
from remote_zip import libraries, open_zip

from tfport.atlas.atlas import ARM, X86

Build = tuple[str, str, str]
"""Package, release, platform."""


def relatives(build: Build) -> list[Build]:
    """The builds that this one may equal, the most similar first."""
    package, release, platform = build
    if ".post" in release:
        return [(package, release.partition(".post")[0], platform)]
    if platform == X86:
        return [("tensorflow", release, X86)] if package != "tensorflow" else []
    aws = [("tensorflow-cpu-aws", release, ARM)] if package == "tensorflow" else []
    return [*aws, ("tensorflow-cpu", release, X86), ("tensorflow", release, X86)]


def same_files(build: Build, content: AtlasContent) -> str | None:
    """The recorded build whose wheel has exactly the same libraries."""
    near = [b for b in relatives(build) if b[2] == build[2] and content.find(record_name(*b)) is not None]
    own = libraries(open_zip(choose(*build).url)) if near else {}
    for other in near:
        if not own and other[0] == "tensorflow-cpu-aws":  # 2.10 to 2.15: a wheel that only requires that one
            return record_name(*other)
        if own and own == libraries(open_zip(choose(*other).url)):
            return record_name(*other)
    return None


def same_registry(build: Build, registry: RecordedRegistry, content: AtlasContent) -> str | None:
    """The recorded build with the same ops and kernels; if that is an alias, the build it refers to."""
    for other in relatives(build):
        number = content.find(record_name(*other))
        if number is not None and content.registry(number) == registry:
            return content.builds[number].alias_of or record_name(*other)
    return None

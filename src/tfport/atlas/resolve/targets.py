"""Resolve the text of `--on` and `--for` to a registry and its devices.

    resolve_targets("tensorflow==2.8")           its newest patch
    resolve_targets("tensorflow>=2.4,<2.9")      each release
    resolve_targets("tensorflow==2.8.4 tensorflow-text==2.8.2")
    resolve_targets("requirements.txt")          or a lock file, `.`, a wheel, a recorded target
    resolve_targets("tensorflow/serving:2.8.0")  or another image, or a Dockerfile
    resolve_targets("keras==3.15.1")             or tf-keras, keras-core: for Keras files
    resolve_targets("ai-edge-litert==2.3.0")     or tflite-runtime: for TensorFlow Lite files
    resolve_targets("tfjs==4.22.0")              or tfjs[wasm], tfjs[cpu]: TensorFlow.js with a backend
    resolve_targets("ops_to_register.h@tensorflow==1.4.1")

`notes` says what was derived and not recorded.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from tfport.atlas import choose_builds
from tfport.atlas.atlas import X86, Atlas, Build, RecordedSource
from tfport.atlas.atlas import atlas as recorded_atlas
from tfport.atlas.choose_builds import (
    ChosenBuild,
    choose_addon,
    choose_serving,
    choose_tensorflow,
    choose_versions,
)
from tfport.atlas.choose_keras import ChosenKeras, choose_keras, keras_requirements, legacy_note
from tfport.atlas.keras_releases import PACKAGES as KERAS_PACKAGES
from tfport.atlas.keras_releases import TF_KERAS
from tfport.atlas.lite.converter import PACKAGE as CONVERTER
from tfport.atlas.lite.converter import converter_releases
from tfport.atlas.lite.releases import DELEGATES, ChosenLite, choose_lite, lite_requirements
from tfport.atlas.lite.releases import PACKAGES as LITE_PACKAGES
from tfport.atlas.package_requirement import (
    SERVERS,
    SERVING_PACKAGES,
    TENSORFLOW_PACKAGES,
    PackageList,
    PackageRequirement,
    canonical_name,
    is_nightly,
    is_tensorflow,
    merged_requirements,
    suggestion,
    why_not,
)
from tfport.atlas.resolve.assemble import (
    BaseTarget,
    converter_target,
    keras_target,
    lite_target,
    own_lite,
    reduced_target,
    tensorflow_target,
    tfjs_target,
    with_keras,
    with_lite,
)
from tfport.atlas.target import DEVICES, OURS, Target
from tfport.atlas.target_text import parse_target_text
from tfport.atlas.tfjs.releases import BACKENDS, DEFAULT_BACKEND, tfjs_versions
from tfport.atlas.tfjs.releases import PACKAGE as TFJS
from tfport.errors import Error, UnreadableFile
from tfport.formats.files import reason
from tfport.registry.registry import Source
from tfport.startup.dataclass import replace

WITH_CUDA = "and-cuda"


class NoTensorFlow(Error):
    """A file or folder lists packages, and TensorFlow is not among them."""


def resolve_targets(
    text: str | Sequence[str],
    *,
    device: str | None = None,
    gpu: str | None = None,
    delegate: str | None = None,
    atlas: Atlas | None = None,
    own: Callable[[], Target] | None = None,
) -> list[Target]:
    """Return the targets that a text, or several, name; `gpu` is a name or a compute capability.

    `delegate` is that of TensorFlow Lite interpreters (default: those that they have).
    `own` returns the target for `tfport`: the runtime is in a layer above this one.
    """
    if device not in (None, *DEVICES) or (gpu is not None and device == "cpu"):
        wrong = f"unknown device `{device}`" + (f" with the GPU {gpu}" if gpu is not None else "")
        raise Error(f"{wrong}; expected cpu or gpu")
    if delegate not in (None, *DELEGATES):
        raise Error(f"unknown delegate `{delegate}`; expected {', '.join(DELEGATES[:-1])} or {DELEGATES[-1]}")
    known, capability = atlas or recorded_atlas(), None
    if gpu is not None:
        from tfport.atlas.cuda import capability_of

        device, capability = "gpu", capability_of(gpu)
    texts = [text] if isinstance(text, str) else list(text)
    targets: list[Target] = []
    for one_text in texts:
        if own is not None and one_text.strip().lower() == OURS:
            targets.append(own())
        else:
            targets += _Resolver(one_text, device, known).targets()
    if capability is None and delegate is None:
        return targets
    return [replace(target, capability=capability, delegate=delegate) for target in targets]


class _Resolver:
    """Resolves one text."""

    def __init__(self, text: str, device: str | None, atlas: Atlas) -> None:
        if text.strip().lower() == OURS:
            raise Error("`tfport` is not a TensorFlow release here; name one, such as tensorflow==2.8.4")
        self.text, self.device, self.atlas = text, device, atlas
        self.parts = parse_target_text(text)

    def targets(self) -> list[Target]:
        if alone := self._converters() or self._tfjs():
            return alone
        keras, notes = self._keras()
        interpreters = self._interpreters()
        if interpreters and not self._names_tensorflow():
            return [lite_target(choice, self.parts.listed.notes) for choice in interpreters]
        if keras and not self._names_tensorflow():
            return [keras_target(choice, self.parts.listed.notes) for choice in keras]
        bases = self._bases()
        targets = [self._with_addons(base) for base in bases]
        typed = bool(keras_requirements(self.parts.typed))
        choices: list[ChosenKeras | None] = [*keras] or [None]
        targets = [with_keras(t, choice, notes, typed=typed) for t in targets for choice in choices]
        if interpreters:
            targets = [with_lite(target, choice) for target in targets for choice in interpreters]
        if self.parts.header is None:
            return targets
        # imported here and below, because few targets need it
        from tfport.atlas.selective_registration import read_header

        selection = read_header(self.parts.header)
        return [reduced_target(target, self.parts.header, selection) for target in targets]

    def _keras(self) -> tuple[list[ChosenKeras], list[str]]:
        """The releases of Keras that the text names, and notes; a typed one takes precedence."""
        if typed := keras_requirements(self.parts.typed):
            return choose_keras(typed[0], typed=True), []
        listed = keras_requirements(self.parts.listed.wanted)
        usual = [wanted for wanted in listed if wanted.package != TF_KERAS]
        if not usual and not self._names_tensorflow():
            usual = listed
        if not usual:  # tf-keras beside TensorFlow loads nothing unless a variable is set
            return [], legacy_note(listed)
        try:
            return choose_keras(usual[0], typed=False), legacy_note(listed[1:])
        except Error as error:
            return [], [str(error)]

    def _converters(self) -> list[Target]:
        """The TensorFlow Lite converters that the text names."""
        wanted = next((part for part in self.parts.typed if part.package == CONVERTER), None)
        if wanted is None:
            return []
        versions, notes = choose_versions(wanted, converter_releases(), typed=True)
        return [converter_target(version, notes) for version in versions]

    def _tfjs(self) -> list[Target]:
        """The releases of TensorFlow.js that the text names, `tfjs[wasm]==4.22.0`, with each backend."""
        wanted = next((part for part in self.parts.typed if part.package == TFJS), None)
        if wanted is None:
            return []
        if unknown := sorted(wanted.extras - set(BACKENDS)):
            raise Error(f"{TFJS}[{unknown[0]}]: unknown backend; expected {', '.join(BACKENDS)}")
        plain = replace(wanted, extras=frozenset())
        versions, notes = choose_versions(plain, tfjs_versions(), typed=True)
        backends = sorted(wanted.extras) or [DEFAULT_BACKEND]
        return [tfjs_target(version, backend, notes) for version in versions for backend in backends]

    def _interpreters(self) -> list[ChosenLite]:
        """The interpreters that the text names."""
        if builds := self.parts.lite_builds:
            return [own_lite(path) for path in builds]
        if typed := lite_requirements(self.parts.typed):
            return [choice for wanted in typed for choice in choose_lite(wanted, typed=True)]
        listed = lite_requirements(self.parts.listed.wanted)
        return [choice for wanted in listed for choice in choose_lite(wanted, typed=False)]

    def _names_tensorflow(self) -> bool:
        parts = self.parts
        wanted = [*parts.typed, *parts.listed.wanted]
        return parts.recorded is not None or any(is_tensorflow(r.package) for r in wanted)

    def _bases(self) -> list[BaseTarget]:
        if self.parts.recorded is not None:
            return [self._recorded(self.parts.recorded)]
        if typed := _tensorflow_requirements(self.parts.typed):
            self._check_single()
            return self._tensorflow(typed[0], typed=True)
        for wanted in self.parts.typed:
            if wanted.package in SERVING_PACKAGES:
                return self._serving(wanted, typed=True)
        for wanted in self.parts.listed.wanted:
            if wanted.package in SERVERS:
                return self._serving(wanted, typed=False)
        listed = _tensorflow_requirements(self.parts.listed.wanted)
        if listed:
            return [base for wanted in listed for base in self._tensorflow(wanted, typed=False)]
        raise self._no_tensorflow()

    def _check_single(self) -> None:
        """Raise an error if a text names several TensorFlows."""
        texts = dict.fromkeys(
            wanted.text for wanted in self.parts.typed if wanted.package in TENSORFLOW_PACKAGES
        )
        if len(texts) > 1:
            raise Error(
                f"several TensorFlow packages in one target, {' and '.join(texts)}; name them one at a time"
            )

    def _no_tensorflow(self) -> Error:
        """Return why there is no target: only a header or add-on, a file without TensorFlow, or a typo."""
        parts, recorded = self.parts, self.atlas.packages()
        if parts.typed:
            package = parts.typed[0].package
            if why := why_not(package):
                return Error(f"{package} is {why}")
            if package in recorded:
                return Error(
                    f"{package} is an add-on: name the TensorFlow it is used with, "
                    f"such as 'tensorflow {parts.typed[0].text}'"
                )
            return Error(f"{package} is not recorded{suggestion(package, recorded)}")
        files = ", ".join(parts.files)
        if parts.listed.unknown:
            where = "" if files in parts.listed.unknown else f"{files}: "
            return Error(f"{where}{parts.listed.unknown}")
        for wanted in parts.listed.wanted:
            if is_nightly(wanted.package):
                return Error(f"{files}: {wanted.text} is {why_not(wanted.package)}")
        if parts.files:
            return NoTensorFlow(f"{files}: no TensorFlow found")
        return Error(f"{parts.header}: name the release it applies to: {parts.header}@tensorflow==…")

    def _tensorflow(self, wanted: PackageRequirement, *, typed: bool) -> list[BaseTarget]:
        listed = PackageList() if typed else self.parts.listed
        device = "gpu" if WITH_CUDA in wanted.extras else TENSORFLOW_PACKAGES[wanted.package].device
        choices = choose_tensorflow(
            wanted, typed=typed, atlas=self.atlas, platform=listed.platform or X86, python=listed.python
        )
        device = listed.device or device
        if device == "gpu":
            choices = [self._gpu_build(choice) for choice in choices]
        return [self._base(choice, device, listed.notes) for choice in choices]

    def _gpu_build(self, choice: ChosenBuild) -> ChosenBuild:
        """Return the separate build for GPUs, which releases before 2.1 have."""
        own = self.atlas.find("tensorflow-gpu", choice.version)
        if choice.package != "tensorflow" or own is None or _has_gpu_kernels(self.atlas.source(choice.build)):
            return choice
        return replace(choice, package=own.package, build=own)

    def _base(self, choice: ChosenBuild, device: str, notes: list[str]) -> BaseTarget:
        source, all_notes = self.atlas.source(choice.build), [*notes, *choice.notes]
        wanted = self.device or device
        if wanted == "gpu" and (choice.package == "tensorflow-cpu" or not _has_gpu_kernels(source)):
            all_notes.append(f"{choice.name} has no GPU kernels: it runs on the CPU")
            wanted = "cpu"
        all_notes += [note for wheel in self.parts.wheels if (note := _wheel_note(wheel, choice.build))]
        return BaseTarget(choice.name, choice.requirement, choice.build, source, all_notes, wanted)

    def _serving(self, wanted: PackageRequirement, *, typed: bool) -> list[BaseTarget]:
        listed = PackageList() if typed else self.parts.listed
        device = self.device or listed.device or SERVING_PACKAGES[wanted.package]
        chosen = choose_serving(wanted, typed=typed, atlas=self.atlas, gpu=device == "gpu")
        return [self._serving_base(version, choice, device, listed.notes) for version, choice in chosen]

    def _serving_base(self, version: str, choice: ChosenBuild, device: str, notes: list[str]) -> BaseTarget:
        imported = choose_builds.contrib_libraries(self.atlas, choice.build)
        source = RecordedSource(self.atlas, choice.build, imported=imported, without=choose_builds.PYTHON_OPS)
        name, all_notes = "tensorflow-serving", [*notes, *choice.notes]
        return BaseTarget(
            f"{name} {version}", f"{name}=={version}", choice.build, source, all_notes, device, "serving"
        )

    def _recorded(self, path: str) -> BaseTarget:
        from tfport.atlas.target_file import open_target_file

        atlas = open_target_file(path)
        (build, *_) = atlas.builds(None, None)
        name = f"{build.name} ({os.path.basename(path)})"
        return BaseTarget(name, path, build, atlas.source(build), [], self.device or "cpu", "recorded")

    def _with_addons(self, base: BaseTarget) -> Target:
        choices, notes = self._addons(base.build)
        if base.kind == "serving":
            linked, more = self._linked(base)
            addons = tuple(choice.build for choice in [*linked, *choices])
        else:
            addons, more = tuple(choice.build for choice in choices), []
        names = [base.name, *(choice.name for choice in choices)]
        requirement = [base.requirement, *(choice.requirement for choice in choices)]
        return tensorflow_target(
            base, " + ".join(names), " ".join(requirement), addons, more + notes, self.atlas
        )

    def _addons(self, tensorflow: Build) -> tuple[list[ChosenBuild], list[str]]:
        """Return the add-ons of a target: those that were typed, and recorded ones from files."""
        recorded = set(self.atlas.packages()) - set(TENSORFLOW_PACKAGES)
        others = {*TENSORFLOW_PACKAGES, *SERVING_PACKAGES, *KERAS_PACKAGES, *LITE_PACKAGES}
        typed = [wanted for wanted in self.parts.typed if wanted.package not in others]
        chosen, notes = list[ChosenBuild](), list[str]()
        for wanted in merged_requirements(typed, [w.package for w in typed]):
            choice = choose_addon(wanted, tensorflow, self.atlas)
            if choice is not None:
                chosen.append(choice)
            elif not _is_without_ops(wanted.package, tensorflow):
                notes.append(f"{wanted.package} is not recorded: its ops are unknown")
        for wanted in merged_requirements(self.parts.listed.wanted, recorded - {w.package for w in typed}):
            try:
                choice = choose_addon(wanted, tensorflow, self.atlas)
                chosen += [choice] if choice else []
            except Error as error:
                notes.append(str(error))
        return chosen, notes + [note for choice in chosen for note in choice.notes]

    def _linked(self, base: BaseTarget) -> tuple[list[ChosenBuild], list[str]]:
        """Return the add-ons that are linked into a release of Serving."""
        version = base.requirement.partition("==")[2]
        wanted = [PackageRequirement(p, f"=={v}") for p, v in choose_builds.linked(version).items()]
        chosen = [
            choice for requirement in wanted if (choice := choose_addon(requirement, base.build, self.atlas))
        ]
        return chosen, choose_builds.notes(version, [choice.build for choice in chosen])


def _tensorflow_requirements(wanted: Sequence[PackageRequirement]) -> list[PackageRequirement]:
    """Return the requirement for TensorFlow among packages, or one for each version that a lock file pins."""
    for name in TENSORFLOW_PACKAGES:
        same = [requirement for requirement in wanted if requirement.package == name]
        if same:
            pins = {requirement.pin: requirement for requirement in same}
            return merged_requirements(same, [name]) if None in pins else list(pins.values())
    return []


def _has_gpu_kernels(source: Source) -> bool:
    """Whether a build has GPU kernels for computations; every build has some for ops that move data."""
    kernels = source.kernels("MatMul")
    return not kernels or any(kernel.device == "GPU" for kernel in kernels)


def _wheel_note(wheel: str, build: Build) -> str | None:
    """Return a note if a wheel is not the recorded one of its release."""
    name = os.path.basename(wheel)
    if name.startswith(build.package.replace("-", "_") + "-"):
        if name != build.wheel:
            return f"{name}: the recorded wheel {build.wheel} is used instead"
        try:
            import hashlib

            with open(wheel, "rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise UnreadableFile(f"{wheel}: {reason(error)}") from None
        if digest != build.sha256:
            return (
                f"{name}: not the official wheel of this name: its SHA-256 differs, so its ops may differ too"
            )
    return None


def _is_without_ops(package: str, tensorflow: Build) -> bool:
    """Whether a package without a record has no ops: TensorFlow requires it, or it was looked at."""
    from tfport.atlas.package_versions import package_versions
    from tfport.atlas.requirements import declared_requirement

    required = map(declared_requirement, tensorflow.facts.get("requires") or ())
    return bool(package_versions(package)) or package in {canonical_name(r.name) for r in required if r}

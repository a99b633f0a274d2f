"""Does a library register usable ops and kernels? Findings 43x."""

from __future__ import annotations

from tfport.check.findings.finding import WARNING, Finding, finding
from tfport.check.loader_stages import DLOPEN, DLOPEN_IGNORES


@finding("TFP430", "op-already-registered", WARNING, noticed=DLOPEN_IGNORES)
class OpAlreadyRegistered(Finding):
    """op `{op}` of {file} is already registered by {target}

    ## Cause
    Two libraries register an op with the same name. `tf.load_op_library` reports nothing: the
    existing op stays, and the module that it returns has no function for the new one. A plain
    `dlopen`, for example when a program links the library, aborts the process.
    ## Fix
    Give the op a unique name, with a prefix such as `Acme>MatMul`.
    ## Example
        tfport lib tests/libraries/already_in_tensorflow/op.so --on tensorflow==2.21.0
    """

    file: str

    def cause(self) -> str:
        return f"{self.target}'s own op stays, and the library's cannot be used"

    def fixes(self) -> list[str]:
        return [f"rename it, for example to `Acme>{self.op}`"]


@finding("TFP431", "op-without-kernel", WARNING, noticed=DLOPEN_IGNORES)
class LibraryOpWithoutKernel(Finding):
    """op `{op}` of {file} has no kernel{where}

    ## Cause
    `REGISTER_OP` declares an op, and `REGISTER_KERNEL_BUILDER` implements it. Without the latter,
    or with one only for another device, models with the op can be built but not run: "No OpKernel
    was registered to support Op", or "Could not find device for node" in newer releases.
    ## Fix
    Register a kernel; check that its source is compiled and linked, and that no `#ifdef
    GOOGLE_CUDA` excludes it. Only plugins use a kernel registered in `TF_InitKernel`:
    `tf.load_op_library` does not call that.
    ## Example
        tfport lib tests/libraries/op_without_kernel/op.so --on tensorflow==2.21.0
    """

    file: str
    devices: tuple[str, ...] = ()
    uncalled: str = ""

    @property
    def where(self) -> str:
        return f" for the CPU, only for {' and '.join(self.devices)}" if self.devices else ""

    def cause(self) -> str:
        return f"`{self.uncalled}` would register one, but nothing calls it" if self.uncalled else ""

    def fixes(self) -> list[str]:
        return [f'REGISTER_KERNEL_BUILDER(Name("{self.op}").Device(DEVICE_CPU), …)']


@finding("TFP432", "kernel-without-op", WARNING, noticed=DLOPEN_IGNORES)
class KernelWithoutOp(Finding):
    """{file} registers kernels for op `{op}`, which neither it nor {target} registers

    ## Cause
    The op is not declared: its `REGISTER_OP` is in a file that was not linked, is in another
    library that must also be loaded, or spells the name differently.
    ## Fix
    Link the file with the `REGISTER_OP`, or load the library that has it.
    ## Example
        tfport lib tests/libraries/kernel_without_op/op.so --on tensorflow==2.21.0
    """

    file: str
    close: tuple[str, ...] = ()

    def cause(self) -> str:
        return f"close to {' and '.join(self.close)}" if self.close else ""


@finding("TFP433", "nothing-registered", WARNING, noticed=DLOPEN_IGNORES)
class NothingRegistered(Finding):
    """{file} registers no op and no kernel

    ## Cause
    It loads without any effect. Initializers register ops when a library is loaded, but a linker
    drops a static library's unreferenced objects along with their initializers. Or something must
    call the registering function, or the library has another purpose.
    ## Fix
    Link static libraries between `-Wl,--whole-archive` and `-Wl,--no-whole-archive`; in
    Bazel, set `alwayslink = 1`. Put `REGISTER_OP` at namespace scope.
    ## Example
        tfport lib tests/libraries/registers_nothing/op.so --on tensorflow==2.21.0
    """

    file: str
    why: str

    def cause(self) -> str:
        return self.why


@finding("TFP434", "op-registered-twice", noticed=DLOPEN)
class OpRegisteredTwice(Finding):
    """op `{op}` is registered twice in {file}

    ## Cause
    The same `REGISTER_OP` was linked in twice: from two source files, from a header, or once
    directly and once through a static library.
    ## Fix
    Keep one, in one source file.
    ## Example
        tfport lib tests/libraries/registered_twice/op.so --on tensorflow==2.21.0
    """

    file: str

    def says(self) -> str:
        return f"Op with name {self.op}"

    def fixes(self) -> list[str]:
        return ["register it once, in one source file"]


@finding("TFP435", "ill-registered-op", noticed=DLOPEN)
class InvalidRegistration(Finding):
    """op `{op}` of {file} has an invalid registration, which TensorFlow rejects

    ## Cause
    An op's name must begin with a capital letter, and each type that an input or output names must
    be a TensorFlow type or an attribute of the op. Otherwise TensorFlow rejects the whole library
    when it is loaded.
    ## Fix
    Correct the `REGISTER_OP`: TensorFlow's message says which part is wrong.
    ## Example
        tfport lib tests/libraries/ill_named/op.so --on tensorflow==2.21.0
    """

    file: str
    errors: tuple[str, ...]

    def cause(self) -> str:
        return "; ".join(self.errors)

    def says(self) -> str:
        return "\n".join(self.errors)


@finding("TFP436", "second-kernel", WARNING, noticed=DLOPEN_IGNORES)
class DuplicateKernel(Finding):
    """{file} registers a kernel for op `{op}` on {device} that {target} already has

    ## Cause
    Two kernels match the same op, device and types with the same priority. The library loads, but
    every call of the op fails: "Multiple OpKernel registrations match NodeDef at the same
    priority".
    ## Fix
    Give one of them a label, or register it for another op. Loading one library twice,
    under two names, has the same effect.
    ## Example
        tfport lib tests/libraries/second_kernel/op.so --on tensorflow==2.21.0
    """

    file: str
    device: str

    def cause(self) -> str:
        return (
            "every call of the op fails: Multiple OpKernel registrations match NodeDef at the same priority"
        )


@finding("TFP437", "server-loads-no-libraries", noticed=DLOPEN)
class ServingLoadsNoLibraries(Finding):
    """{target} does not load op libraries

    ## Cause
    TensorFlow Serving has no option to load a library at run time: ops are linked into
    its binary when it is built. The stock image has the ops of TensorFlow Text and TensorFlow
    Decision Forests.
    ## Fix
    Build the server with the op linked in (`SUPPORTED_TENSORFLOW_OPS` in its BUILD file),
    or export the model without it.
    ## Example
        tfport lib tests/libraries/for_2_8_4/op.so --on tensorflow-serving==2.8
    """

    file: str

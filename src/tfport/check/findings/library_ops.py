"""Does a library register what its users look for? Findings 43x."""

from __future__ import annotations

from tfport.check.findings.finding import WARNING, Finding, finding


@finding("TFP430", "op-already-registered", WARNING)
class OpAlreadyRegistered(Finding):
    """op `{op}` of {file} is registered by {target} already

    ## Cause
    Two libraries register an op of one name. `tf.load_op_library` says nothing: the op
    that was there stays, and the module that it returns has no function for the other. A
    plain `dlopen`, as by linking it into a program, ends the process.
    ## Fix
    Give the op a name of its own, with a prefix such as `Acme>MatMul`.
    """

    file: str

    def cause(self) -> str:
        return f"the op of {self.target} stays, and the library's is not to be had"

    def fixes(self) -> list[str]:
        return [f"name it otherwise, such as `Acme>{self.op}`"]


@finding("TFP431", "op-without-kernel", WARNING)
class OpWithoutKernel(Finding):
    """op `{op}` of {file} has no kernel{where}

    ## Cause
    `REGISTER_OP` tells TensorFlow that an op exists, `REGISTER_KERNEL_BUILDER` what
    computes it. Without the second, or with one for another device only, models with the
    op can be built and not run: "No OpKernel was registered to support Op", or "Could not
    find device for node" in newer releases.
    ## Fix
    Register a kernel; see that its source is compiled and linked, and that no `#ifdef
    GOOGLE_CUDA` leaves it out. A kernel registered in `TF_InitKernel` counts for plugins
    only: `tf.load_op_library` does not call that.
    """

    file: str
    devices: tuple[str, ...] = ()
    uncalled: str = ""

    @property
    def where(self) -> str:
        return f" for the CPU, only for {' and '.join(self.devices)}" if self.devices else ""

    def cause(self) -> str:
        return f"`{self.uncalled}` would register one, and nothing calls it" if self.uncalled else ""

    def fixes(self) -> list[str]:
        return [f'REGISTER_KERNEL_BUILDER(Name("{self.op}").Device(DEVICE_CPU), …)']


@finding("TFP432", "kernel-without-op", WARNING)
class KernelWithoutOp(Finding):
    """{file} registers kernels for op `{op}`, which neither it nor {target} registers

    ## Cause
    The kernel waits for an op that nobody declares: `REGISTER_OP` is in a file that was
    not linked, in another library that must be loaded too, or spelled otherwise.
    ## Fix
    Link the file with the `REGISTER_OP`, or load the library that has it.
    """

    file: str
    near: tuple[str, ...] = ()

    def cause(self) -> str:
        return f"close to {' and '.join(self.near)}" if self.near else ""


@finding("TFP433", "nothing-registered", WARNING)
class NothingRegistered(Finding):
    """{file} registers no op and no kernel

    ## Cause
    It loads, and nothing follows. Ops are registered by initialisers that run when a
    library is loaded; a linker drops objects of a static library that nobody refers to,
    and their initialisers with them. Or the registering function is one that somebody
    must call, or the file is a library of something else.
    ## Fix
    Link static libraries between `-Wl,--whole-archive` and `-Wl,--no-whole-archive`; in
    Bazel, say `alwayslink = 1`. Put `REGISTER_OP` at namespace scope.
    """

    file: str
    why: str

    def cause(self) -> str:
        return self.why


@finding("TFP434", "op-registered-twice")
class OpRegisteredTwice(Finding):
    """op `{op}` is registered twice in {file}

    ## Cause
    The same `REGISTER_OP` was linked in twice: in two source files, or from a header, or
    once directly and once through a static library.
    ## Fix
    Keep one, in one source file.
    """

    file: str

    def says(self) -> str:
        return f"Op with name {self.op}"

    def fixes(self) -> list[str]:
        return ["register it once, in one source file"]


@finding("TFP435", "ill-registered-op")
class IllRegisteredOp(Finding):
    """op `{op}` of {file} is registered in a way that TensorFlow refuses

    ## Cause
    The name of an op begins with a capital letter; each type that an input or output
    names is a type of TensorFlow or an attribute of the op. Otherwise the library is
    refused as a whole when it is loaded.
    ## Fix
    Mend the `REGISTER_OP`: TensorFlow's message says which part of it.
    """

    file: str
    faults: tuple[str, ...]

    def cause(self) -> str:
        return "; ".join(self.faults)

    def says(self) -> str:
        return "\n".join(self.faults)


@finding("TFP436", "second-kernel", WARNING)
class SecondKernel(Finding):
    """{file} registers a kernel for op `{op}` on {device} that {target} has already

    ## Cause
    Two kernels fit the same op, device and types with the same priority. The library
    loads; every call of the op fails: "Multiple OpKernel registrations match NodeDef at
    the same priority".
    ## Fix
    Give one of them a label, or register it for another op. Loading one library twice,
    under two names, does the same.
    """

    file: str
    device: str

    def cause(self) -> str:
        return (
            "every call of the op fails: Multiple OpKernel registrations match NodeDef at the same priority"
        )


@finding("TFP437", "server-loads-no-libraries")
class ServerLoadsNone(Finding):
    """{target} does not load op libraries

    ## Cause
    TensorFlow Serving has no option to load a library at run time: ops are linked into
    its binary when it is built. The stock image has those of TensorFlow Text and of
    TensorFlow Decision Forests.
    ## Fix
    Build the server with the op linked in (`SUPPORTED_TENSORFLOW_OPS` in its BUILD file),
    or write the model without it.
    """

    file: str

"""Roots of small unpacked images for tests."""

import os
from pathlib import Path

E_MACHINE = {"x86_64": 0x3E, "aarch64": 0xB7}


def elf(text: str, machine: str) -> bytes:
    """Return the beginning of a library, and strings in it."""
    return b"\x7fELF\x02\x01\x01".ljust(18, b"\0") + E_MACHINE[machine].to_bytes(2, "little") + text.encode()


def image(
    root: Path, *, glibc: str = "2.31", glibcxx: str = "3.4.28", machine: str = "x86_64", python: str = "3.8",
    packages: tuple[str, ...] = ("tensorflow-2.8.4", "numpy-1.22.0", "protobuf-3.19.6"),
) -> Path:  # fmt: skip
    """Write a system with C libraries, and packages for one Python."""
    libraries = root / f"usr/lib/{machine}-linux-gnu"
    libraries.mkdir(parents=True)
    (root / "lib").symlink_to("usr/lib")
    libc = f"GNU C Library (Debian GLIBC {glibc}-1) stable release version {glibc}.\0"
    (libraries / f"libc-{glibc}.so").write_bytes(elf(libc, machine))
    # an absolute link, which must not be followed to this machine's library
    (libraries / "libc.so.6").symlink_to(f"/usr/lib/{machine}-linux-gnu/libc-{glibc}.so")
    (libraries / "libstdc++.so.6").write_bytes(
        elf(f"GLIBCXX_3.4\0GLIBCXX_3.4.9\0GLIBCXX_{glibcxx}\0CXXABI_1.3.12\0GLIBCXX_DEBUG_LENGTH\0", machine)
    )
    (root / "etc").mkdir()
    (root / "etc/os-release").write_text('NAME="Debian"\nPRETTY_NAME="Debian GNU/Linux 11 (bullseye)"\n')
    site_packages = root / f"usr/local/lib/python{python}/site-packages"
    for package in packages:
        (site_packages / f"{package}.dist-info").mkdir(parents=True)
        os.makedirs(site_packages / package.partition("-")[0], exist_ok=True)
    return root

"""`tfport fix --verify CERTIFICATE`: repeat the comparison of a certificate."""

from __future__ import annotations

import argparse
import os

from tfport.errors import Error

RECORDED = [
    "--for", "--signature", "--fetch", "--feed", "--loader", "--library", "--tags", "--allow-lossy",
    "--as-graph", "--freeze", "--drop-asserts", "--rules", "--rtol", "--atol", "--keep-failure",
]  # fmt: skip
"""Options of a rewrite, which a certificate has already."""


def verify(args: argparse.Namespace) -> int:
    _check_options(args)
    from tfport.cli.input_values import read_input_file
    from tfport.cli.output import print_result
    from tfport.cli.progress import show_progress
    from tfport.fix.certify.certificate_record import read_certificate
    from tfport.fix.verify_certificate import verify_certificate

    files = args.inputs or read_certificate(args.verify).input_files
    if missing := [path for path in files if not os.path.exists(path)]:
        raise Error(f"{', '.join(missing)}: no such file; --inputs FILE says where the inputs are")
    with show_progress(f"verifying {args.verify}") as progress:
        check = verify_certificate(
            args.verify,
            model=args.model,
            output=args.output,
            weights=args.weights,
            inputs=[call for path in files for call in read_input_file(path)],
            prove=args.prove,
            pythons=args.target_python,
            runs=args.runs,
            progress=progress,
        )
    print_result(check, args)
    return check.exit_code


def _check_options(args: argparse.Namespace) -> None:
    values = {**vars(args), "for": args.target}
    if useless := [name for name in RECORDED if values[name.strip("-").replace("-", "_")]]:
        raise Error(f"--verify repeats the comparison of the certificate: leave out {', '.join(useless)}")

"""`tfport fix --verify CERTIFICATE`: repeat the comparison of a certificate."""

from __future__ import annotations

import argparse


def verify(args: argparse.Namespace) -> int:
    from tfport.cli.input_values import read_input_file
    from tfport.cli.progress import show_progress
    from tfport.fix.certify.certificate_record import read_certificate
    from tfport.fix.verify_certificate import verify_certificate

    files = args.inputs or read_certificate(args.verify).input_files
    with show_progress(f"verifying {args.verify}") as progress:
        check = verify_certificate(
            args.verify,
            model=args.model,
            output=args.output,
            inputs=[call for path in files for call in read_input_file(path)],
            prove=args.prove,
            pythons=args.target_python,
            runs=args.runs,
            progress=progress,
        )
    if args.json:
        from tfport.cli.json_output import print_json

        print_json(check.to_json())
    else:
        from tfport.check.console import show

        show(check.render)
    return check.exit_code

"""`python -m tfport`: the same as the `tfport` command."""

from tfport.cli.main import main

raise SystemExit(main())

"""``python -m allo``: the command line without its entry point."""

from allo.cli import main

raise SystemExit(main())

"""``python -m lancespace_cli``: the same command, where scripts are not on the path."""

from __future__ import annotations

from lancespace_cli.main import main

main()

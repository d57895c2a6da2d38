"""The command line: ``headstart``. Light to import, since every command waits for it; each command loads its own module."""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Run the command that the arguments ask for, and end the process with its exit code."""
    try:
        from headstart.cli.app import app

        app()
    except KeyboardInterrupt:  # while modules were being loaded
        raise SystemExit(130) from None

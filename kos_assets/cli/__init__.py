"""`kos`: one file per family of commands; heavy imports happen inside the command that needs them."""

from kos_assets.cli.app import main

__all__ = ["main"]

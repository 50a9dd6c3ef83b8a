"""`python -m kos_assets.cli`: what supervised children are started with."""

from kos_assets.cli.app import main

if __name__ == "__main__":
    main()

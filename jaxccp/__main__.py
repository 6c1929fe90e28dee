"""The command line, as ``python -m jaxccp``."""

from jaxccp.cli import main

main()

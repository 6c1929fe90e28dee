"""What is wrong with a file or an argument, said to whoever gave it."""

from pathlib import Path


class InputError(ValueError):
    """Input that cannot be used; the message names the file, the field and how to mend it."""

    def __init__(self, source: str | Path, problem: str, mend: str, field: str = "") -> None:
        """``source``: the file; ``field``: its array, if the fault is in one."""
        place = f"{source}: {field}" if field else f"{source}"
        super().__init__(f"{place}: {problem}; {mend}")

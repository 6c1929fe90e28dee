"""The exception for files and arguments that cannot be used."""

from pathlib import Path


class InputError(ValueError):
    """Input that cannot be used; the message names the file, the field and how to mend it."""

    def __init__(self, source: str | Path, problem: str, mend: str, field: str = "") -> None:
        """Compose the message.

        Args:
            source: the file or argument.
            problem: what is wrong with it.
            mend: what the user should do.
            field: name of the array or field that is wrong, if it is only one.
        """
        place = f"{source}: {field}" if field else f"{source}"
        super().__init__(f"{place}: {problem}; {mend}")

"""The exception for files and arguments that cannot be used."""

from pathlib import Path


class InputError(ValueError):
    """Unusable input; the message names the file, the field and a remedy."""

    def __init__(self, source: str | Path, problem: str, mend: str, field: str = "") -> None:
        """Compose the message.

        Args:
            source: the file or argument.
            problem: description of the fault.
            mend: a remedy for the user.
            field: name of the array or field that is wrong, if it is only one.
        """
        place = f"{source}: {field}" if field else f"{source}"
        super().__init__(f"{place}: {problem}; {mend}")

"""Elements of a model file that are left out or whose effect differs."""

from pathlib import Path

from jaxccp.io.errors import InputError


class UnsupportedError(InputError):
    """A model file with elements that this package does not simulate."""

    def __init__(self, source: str | Path, elements: list[str]) -> None:
        """Compose the message, with one line for each element."""
        listed = "".join(f"\n  {line}" for line in elements)
        super().__init__(
            source,
            f"holds what is not supported:{listed}\n",
            "take it out, or load with allow_unsupported=True (--allow-unsupported), which leaves "
            "it out",
        )


class ImportReport:
    """Collects what is left out or approximated, so that one message can list all of it."""

    def __init__(self) -> None:
        self.ignored: list[str] = []
        """Elements that are left out, one line each."""
        self.approximated: list[str] = []
        """Elements whose effect differs from MuJoCo's, one line each."""

    def ignore(self, label: str, what: str, instead: str = "") -> None:
        """Note an element that is left out.

        Args:
            label: label of the element.
            what: why it is left out.
            instead: a replacement, if there is any.
        """
        self.ignored.append(f"{label}: {what}" + (f"; {instead}" if instead else ""))

    def approximate(self, label: str, what: str) -> None:
        """Note an element whose effect differs from MuJoCo's."""
        self.approximated.append(f"{label}: {what}")

    def refuse_ignored(self, source: str | Path, allow_unsupported: bool) -> None:
        """Raise an error if elements were left out and that is not allowed.

        Raises:
            UnsupportedError: naming every element.
        """
        if self.ignored and not allow_unsupported:
            raise UnsupportedError(source, self.ignored)

"""What of a model file is not taken over."""

from pathlib import Path

from jaxccp.io.errors import InputError


class UnsupportedError(InputError):
    """A model file has elements that this package does not simulate."""

    def __init__(self, source: str | Path, found: list[str]) -> None:
        listed = "".join(f"\n  {line}" for line in found)
        super().__init__(
            source,
            f"holds what is not supported:{listed}\n",
            "take it out, or load with allow_unsupported=True (--allow-unsupported), which leaves "
            "it out",
        )


class ImportReport:
    """Collects what is left out, so that all of it is told at once."""

    def __init__(self) -> None:
        self.ignored: list[str] = []
        """Elements that have no effect here."""
        self.approximated: list[str] = []
        """Elements whose effect differs."""

    def ignore(self, label: str, what: str, instead: str = "") -> None:
        """Note an element and, where there is one, what to use in its place."""
        self.ignored.append(f"{label}: {what}" + (f"; {instead}" if instead else ""))

    def approximate(self, label: str, what: str) -> None:
        """Note how an element's effect differs from MuJoCo's."""
        self.approximated.append(f"{label}: {what}")

    def settle(self, source: str | Path, allow_unsupported: bool) -> None:
        """Raise for what was left out, unless that is allowed.

        Raises:
            UnsupportedError: naming every element.
        """
        if self.ignored and not allow_unsupported:
            raise UnsupportedError(source, self.ignored)

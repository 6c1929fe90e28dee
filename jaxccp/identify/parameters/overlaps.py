"""A check that no number of a model is set by two parameters."""

from collections.abc import Iterable, Sequence

from jaxccp.identify.parameters.paths import Leaf


def check_overlaps(parameters: Iterable[tuple[str, Sequence[Leaf]]]) -> None:
    """Check that no two parameters set the same number of a model, since one would overwrite the
    other.

    Args:
        parameters: name of each parameter, and the leaves that it sets.

    Raises:
        ValueError: two do.
    """
    owners: dict[tuple[str, str, int | None], list[tuple[int | None, str]]] = {}
    for name, leaves in parameters:
        for leaf in leaves:
            others = owners.setdefault((leaf.root, leaf.leaf, leaf.row), [])
            for component, other in others:
                same = component == leaf.component or None in (component, leaf.component)
                if same and other != name:
                    raise ValueError(
                        f"{other} and {name} both set {leaf.path}, and one would overwrite the "
                        "other: leave one of them out"
                    )
            others.append((leaf.component, name))

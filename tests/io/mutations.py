"""Corrupt model files at random."""

import random
import re
from collections.abc import Iterator

NUMBERS = ("0", "-1", "1e30", "-1e-30", "nan", "inf", "two", "", "0 0", "1 2 3 4 5 6 7 8 9 10 11")
WORDS = ("hinge", "ball", "free", "slide", "mesh", "sphere", "world", "nobody", "true", "&", "é")


def mutations(text: str, seed: int, count: int) -> Iterator[str]:
    """Yield variants of a file with one to three random changes each, some of which may be
    harmless.

    Args:
        text: the file.
        seed: seed of the random changes.
        count: number of variants.
    """
    rng = random.Random(seed)
    for _ in range(count):
        spoilt = text
        for _ in range(rng.randint(1, 3)):
            spoilt = rng.choice(SPOILING)(spoilt, rng)
        yield spoilt


def _replace_one(text: str, pattern: str, new: str, rng: random.Random) -> str:
    matches = list(re.finditer(pattern, text))
    if not matches:
        return text
    match = rng.choice(matches)
    return text[: match.start()] + new + text[match.end() :]


def _number(text: str, rng: random.Random) -> str:
    return _replace_one(text, r"-?\d+\.?\d*", rng.choice(NUMBERS), rng)


def _word(text: str, rng: random.Random) -> str:
    return _replace_one(text, r'(?<=")[a-z_]+(?=")', rng.choice(WORDS), rng)


def _attribute(text: str, rng: random.Random) -> str:
    return _replace_one(text, r"\w+(?==)", rng.choice(("name", "type", "class", "zzz")), rng)


def _without(text: str, rng: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    del lines[rng.randrange(len(lines))]
    return "".join(lines)


def _twice(text: str, rng: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    at = rng.randrange(len(lines))
    lines.insert(rng.randrange(len(lines)), lines[at])
    return "".join(lines)


def _cut(text: str, rng: random.Random) -> str:
    return text[: rng.randrange(len(text))] if rng.random() < 0.2 else text


SPOILING = (_number, _number, _number, _number, _word, _word, _without, _twice, _attribute, _cut)

"""Provide both contact laws as a test's parameter, the convex one only in long runs."""

import pytest

CONVEX_LAW_LONG = pytest.mark.parametrize(
    "law", [pytest.param("ccp", marks=pytest.mark.long), "ncp"]
)

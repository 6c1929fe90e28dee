"""Both laws as a test's parameter, the convex one beyond CI's time."""

import pytest

CONVEX_LAW_LONG = pytest.mark.parametrize(
    "law", [pytest.param("ccp", marks=pytest.mark.long), "ncp"]
)

"""How much the tests look at: a share of it in `make test`, all of it in `make long`."""

from hypothesis import settings

IS_LONG = settings().max_examples > 1_000
"""Whether the profile of hypothesis is `long` (conftest.py)."""


def share_of(most: int) -> int:
    """Return `most` in `make long`, else a quarter of it."""
    return most if IS_LONG else most // 4

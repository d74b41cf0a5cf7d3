"""The model library loads parts of itself with the first call, which takes seconds."""

from __future__ import annotations

import pytest

from tests.providers.asking import ask


@pytest.fixture(scope="session", autouse=True)
def loaded_library() -> None:
    """Make the first calls here, so that no test's timeout meets them."""
    assert ask("Hello", spec="openai:gpt-4o", key="key").text == "Hello"
    assert ask("Hello", spec="anthropic:claude-sonnet-5", key="key").text == "Hello"

"""Commands, called in this process, files for them, and journals of their own."""

import pytest

from tests.cli.conftest import call, plan_file
from tests.postgres import Server

__all__ = ["call", "plan_file", "url"]


@pytest.fixture
def url(postgres: Server) -> str:
    """The address of a journal that is not used yet."""
    return postgres.schema()

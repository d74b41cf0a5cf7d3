"""Both ways in which a client may begin."""

from typing import get_args

import pytest

from tests.mcp_server.served import Era


@pytest.fixture(params=get_args(Era))
def era(request: pytest.FixtureRequest) -> Era:
    """How the client of a test begins: with the newest version, or as clients did before it."""
    return request.param

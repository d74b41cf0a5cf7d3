"""Commands of distributions beside the core that are not installed."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from toolplan.extras import check_beside


def demo_command(*words: Annotated[str, Parameter(allow_leading_hyphen=True)]) -> None:
    """Serve the demo's tools, where the package toolplan-demo is installed."""
    check_beside("command", "demo")

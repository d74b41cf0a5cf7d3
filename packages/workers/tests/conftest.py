"""Commands, called in this process, and files for them."""

from tests.cli.conftest import call, plan_file

__all__ = ["call", "plan_file"]

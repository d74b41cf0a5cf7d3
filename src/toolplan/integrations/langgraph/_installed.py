"""Says how LangGraph is installed, where it is not; imported before the modules that need it."""

from __future__ import annotations

from importlib.util import find_spec

from toolplan.extras import install_command

if find_spec("langgraph") is None:
    raise ModuleNotFoundError(
        f"LangGraph is not installed. Install it: {install_command('langgraph')}", name="langgraph"
    )

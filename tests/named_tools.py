"""Tools by name, for tests whose tools need no closing."""

from pathlib import Path

from toolplan.schema.tool import Toolbox
from toolplan.tools import SourceContext
from toolplan.tools.named import source_of


def load_tools(spec: str, folder: Path | None = None) -> Toolbox:
    """Return the tools that `spec` names: a file of tool objects, or `module:attribute`."""
    where = Path.cwd() if folder is None else folder
    _, source = source_of(spec, where)
    with source.open(spec, SourceContext(where)) as opened:
        return opened.tools

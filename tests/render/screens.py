"""Views as a rich console shows them."""

import io

from rich.console import Console

from toolplan.show.console import Rendered
from toolplan.show.document import View


def on_console(view: View, width: int = 100, encoding: str = "utf-8") -> str:
    """Return what a console without colours shows of `view`."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="\n")
    Console(file=stream, width=width, color_system=None).print(Rendered(view))
    stream.flush()
    stream.seek(0)
    return stream.read()

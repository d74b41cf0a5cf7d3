"""Tools as a list, and one tool with its arguments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from toolplan.schema import Schema, accepted, at, describe, required
from toolplan.schema.tool import Tool
from toolplan.show.document import Line, Piece, Screen, hanging_rows, wrapped
from toolplan.show.printable import printable


class ToolsView(Struct, frozen=True):
    """Tools, as they are printed, a line or two for each."""

    tools: Sequence[Tool]

    def lines(self, screen: Screen) -> Iterator[Line]:
        """Yield the lines shown on `screen`."""
        rows = [("tool", "effects", "what it does")]
        for tool in self.tools:
            effects = tool.effects.value if tool.unusable is None else "cannot be used"
            if tool.unusable is None and tool.claim and tool.claim.effects is not tool.effects:
                effects += f" (says {tool.claim.effects.value})"
            rows.append((tool.name, effects, printable(tool.description).partition(". ")[0]))
        yield from _rows(rows, screen)


class ToolView(Struct, frozen=True):
    """A tool with its arguments and its output, as it is printed."""

    tool: Tool

    def lines(self, screen: Screen) -> Iterator[Line]:
        """Yield the lines shown on `screen`."""
        tool = self.tool

        def prose(text: str, style: str = "") -> Iterator[Line]:
            return wrapped((Piece(screen.fit(text), style),), screen.prose, below="")

        yield from prose(f"{printable(tool.name)}  ({tool.effects.value})", "bold")
        yield from prose(printable(tool.description))
        if tool.claim is not None:
            yield from prose(f"Its source says that {tool.claim}, which nobody has accepted.")
        if tool.unusable is None:
            rows, needed = [("argument", "needed", "takes")], required(tool.input)
            for argument in tool.signature.inputs:
                part = at(tool.input, (argument,))
                takes = accepted(part) if isinstance(part, Schema) else "any value"
                rows.append((argument, "yes" if argument in needed else "", takes))
            yield from _rows(rows, screen)
        else:
            yield from prose(f"It cannot be used: {printable(tool.unusable)}.")
        declared = "not declared" if tool.output is None else describe(tool.output)
        yield from prose(f"gives: {printable(', '.join(tool.signature.outputs) or declared)}")


def _rows(rows: Sequence[tuple[str, str, str]], screen: Screen) -> Iterator[Line]:
    """Yield the lines of a table whose last column is wrapped; the first row is its head."""
    fitted = [
        [Piece(screen.fit(printable(text)), "bold" if at == 0 else "") for text in row]
        for at, row in enumerate(rows)
    ]
    return hanging_rows([(row[:-1], row[-1]) for row in fitted], screen)

"""Tools of public APIs, written as schemas with a service behind each that really gives pages.

A tool is a line of `apis.json`: its arguments, what its result looks like, and how the service
turns pages. The names of arguments and fields are those of the API; everything else is as short as
a test needs.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from toolplan.plan.path import Json

ROWS, TOTAL, MORE, LAST, NEXT, LINK, PAGES, PAGE, COUNT, NUMBER, START, SIZE = (
    "$rows", "$total", "$more", "$last", "$next", "$link", "$pages", "$page", "$count", "$number",
    "$start", "$size",
)  # fmt: skip
"""Places in a result: the rows of the page, the number of all, whether there are more, whether it
is the last, the cursor and the link to the next, the number of pages, of this page, of its rows, of
the next page, of the first row, and the size of a page."""

_TYPES: Final[Mapping[str, Json]] = {
    ROWS: {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "id": {"type": "integer"},
                "owner": {"type": "string"},
                "hours": {"type": "integer"},
            },
            "required": ["id", "owner", "hours"],
        },
    },
    TOTAL: {"type": "integer"},
    COUNT: {"type": "integer"},
    PAGES: {"type": "integer"},
    PAGE: {"type": "integer"},
    START: {"type": "integer"},
    SIZE: {"type": "integer"},
    MORE: {"type": "boolean"},
    LAST: {"type": "boolean"},
    NEXT: {"type": ["string", "null"]},
    LINK: {"type": ["string", "null"]},
    NUMBER: {"type": ["integer", "null"]},
}
_KINDS: Final = {"i": "integer", "s": "string", "n": "number", "b": "boolean", "o": "object"}
_ARG: Final = re.compile(
    r"(?P<name>[^:\s]+):(?P<kind>[isnbo])(?P<needed>!?)(=(?P<default>\w+))?(<=(?P<most>\d+))?"
    r"(#(?P<text>\S+))?"
)


class Api(NamedTuple):
    """A tool of an API.

    `args` are `name:type`, with `!` where required, `=default`, `<=maximum` and `#description`.
    `pages` are its page arguments by kind. `size` is what the service gives without a limit, `cap`
    the most that it gives whatever is asked.
    """

    api: str
    tool: str
    args: str
    result: Json
    pages: Mapping[str, str]
    size: int = 20
    cap: int = 100
    first: int = 1

    @property
    def name(self) -> str:
        """The name of the tool."""
        return f"{self.api.lower().replace(' ', '_').replace('.', '')}_{self.tool}"

    @property
    def input_schema(self) -> dict[str, Json]:
        """The schema of the arguments."""
        properties: dict[str, Json] = {}
        needed: list[Json] = []
        for found in _ARG.finditer(self.args):
            node: dict[str, Json] = {"type": _KINDS[found["kind"]]}
            if found["default"]:
                is_number = found["default"].isdigit() and found["kind"] in "in"
                node["default"] = int(found["default"]) if is_number else found["default"]
            if found["most"]:
                node["maximum"] = int(found["most"])
            if found["text"]:
                node["description"] = found["text"].replace("_", " ")
            outer, _, inner = found["name"].partition("/")
            if inner:
                whole = properties.setdefault(outer, {"type": "object", "properties": {}})
                assert isinstance(whole, dict)
                assert isinstance(whole["properties"], dict)
                whole["properties"][inner] = node
            else:
                properties[outer] = node
            if found["needed"]:
                needed.append(found["name"])
        return {"type": "object", "properties": properties, "required": needed}

    @property
    def output_schema(self) -> Json:
        """The schema of the result."""
        return _schema(self.result)

    def answer(self, args: Mapping[str, Json], rows: Sequence[Json]) -> Json:
        """Return what the service answers."""
        asked = _given(args, self.pages.get("limit"))
        size = min(asked if isinstance(asked, int) and asked > 0 else self.size, self.cap)
        start = self._start(args, size)
        page = list(rows[start : start + size])
        more = start + size < len(rows)
        return _filled(
            self.result,
            {
                ROWS: page,
                TOTAL: len(rows),
                MORE: more,
                LAST: not more,
                NEXT: f"c{start + size}" if more else None,
                LINK: self._link(start + size, size) if more else None,
                PAGES: -(-len(rows) // size),
                PAGE: start // size + self.first,
                COUNT: len(page),
                NUMBER: self._number(start + size, size) if more else None,
                START: start,
                SIZE: size,
            },
        )

    def _number(self, start: int, size: int) -> int:
        return start if "offset" in self.pages else start // size + self.first

    def _link(self, start: int, size: int) -> str:
        kind = next((k for k in ("cursor", "page", "offset") if k in self.pages), "")
        if not kind:
            return "https://api.example.com/v1/things?before=77"
        value = {"cursor": f"c{start}", "page": start // size + self.first, "offset": start}[kind]
        return f"https://api.example.com/v1/things?{self.pages[kind].split('/')[-1]}={value}"

    def _start(self, args: Mapping[str, Json], size: int) -> int:
        cursor = _given(args, self.pages.get("cursor"))
        if cursor is not None and cursor != "":
            text = str(cursor)
            if text.startswith("c"):
                return int(text[1:])
            return int(text) + 1  # the id of the last row: rows are numbered from 0
        offset = _given(args, self.pages.get("offset"))
        if isinstance(offset, int):
            return offset - (self.api == "QuickBooks")  # which counts rows from 1
        page = _given(args, self.pages.get("page"))
        return ((page if isinstance(page, int) else self.first) - self.first) * size


def _given(args: Mapping[str, Json], name: str | None) -> Json:
    if name is None:
        return None
    outer, _, inner = name.partition("/")
    value = args.get(outer)
    return value.get(inner) if inner and isinstance(value, dict) else value


def _schema(template: Json) -> Json:
    if isinstance(template, str) and template in _TYPES:
        return _TYPES[template]
    if isinstance(template, dict):
        return {"type": "object", "properties": {k: _schema(v) for k, v in template.items()}}
    if isinstance(template, list):
        return {"type": "array", "items": {"type": "string"}}
    for kind, name in ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string")):
        if isinstance(template, kind):
            return {"type": name}
    return {"type": "null"}


def _filled(template: Json, values: Mapping[str, Json]) -> Json:
    if isinstance(template, str):
        return values.get(template, template)
    if isinstance(template, dict):
        return {key: _filled(inner, values) for key, inner in template.items()}
    return template


def _read() -> tuple[Api, ...]:
    rows = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
    return tuple(
        Api(api, tool, args, result, dict(each.split("=", 1) for each in pages.split()), *sizes)
        for api, tool, args, result, pages, *sizes in rows
    )


APIS: Final[Sequence[Api]] = _read()

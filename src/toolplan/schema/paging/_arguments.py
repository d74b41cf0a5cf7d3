"""The arguments of a tool that ask for a page of its list, by names, types and neighbours."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from toolplan.plan.path import Json, Path
from toolplan.schema._document import flat, types_stated
from toolplan.schema.paging import _names as names
from toolplan.schema.paging._facts import Facts, Field, at, facts_of, fields_of, put, whole
from toolplan.schema.paging._names import folded

_NUMBERS: Final = ("integer", "number")
_ROLES: Final = frozenset(("limit", "page", "offset", "cursor"))

_DATE: Final = re.compile(
    r"\b(dates?|datetime|times?|timestamp|iso[ -]?8601|rfc[ -]?3339|yyyy|epoch|unix|days?|hours?)\b"
    r"|\d{4}-\d\d"
)
_OF_PAGES: Final = re.compile(
    r"\b(cursors?|pag(e|es|ing|ination|inate|inated)|next (set|batch)"
    r"|previous (response|call|reply)|last (object|item|row|id|record)|continu\w+|opaque)\b"
)
_OF_ROWS: Final = re.compile(
    r"\b(returns?|returned|results?|per page|page size|pages?|fetch(ed)?|retrieve[d]?|hits?"
    r"|records|rows|entries|matches|to list|to show|at a time|response)\b"
)
_OF_SOMETHING_ELSE: Final = re.compile(
    r"\b(order(ed)?|buy|purchas\w+|charg\w+|generat\w+|creat\w+|cop(y|ies)|guests?|people|persons?"
    r"|seats?|nights?|dice|threshold|credit|budgets?|prices?|spend\w*|speed|temperature|money|amount"
    r"|weight|quantity|stock|units|adults?|tickets? to|rate|chapter|book|pdf|wiki|title)\b"
)
_GIVES_ALL: Final = re.compile(
    r"\b(all|every|everything|no limit|unlimited)\b[^.;]*\b(left out|omitted|by default|if not|"
    r"when not|unless|without)\b|\b(left out|omitted|default(s? to)?|without it|if not|when not)\b"
    r"[^.;]*\b(all|everything|no limit|unlimited)\b"
)
_OF_A_CURSOR: Final = re.compile(r"\b(cursor|pagination|next page)\b")
_OF_A_BOOK: Final = re.compile(r"\b(book|pdf|wiki|title|chapter|document|manual|scan)\b")
_OF_SEATS: Final = re.compile(r"\b(seats?|chairs?|tables?|plants?|garden|knit\w*)\b")
_DEFAULT: Final = re.compile(r"\bdefaults?(?: value)?(?: is| to|:|=)? ?`?(\d{1,6})\b")
_COUNTS_PAGES: Final = re.compile(
    r"\b(page (number|index|offset)|(number|index) of (the )?page|which page|pages to skip)\b"
)
_FROM_ZERO: Final = re.compile(r"\b(zero|0)[- ](based|indexed)|start(s|ing)? (at|from|with) 0\b")
_MAXIMUM: Final = re.compile(
    r"\b(?:max(?:imum)?(?: value)?(?: is| of|:|=)?|up to|at most|no more than|cannot exceed)"
    r" ?`?(\d{1,6})\b"
)


class Argument(Struct, frozen=True):
    """A page argument, at `path` among the arguments.

    `default` is its value where it is missing; `most` the largest value that is accepted. Each is
    None where the schema and its description do not say. `is_text`: numbers are sent as text.
    `gives_all`: without a limit the tool gives all rows, as its description says; `is_nullable`:
    its default is null, which may mean the same.
    """

    path: tuple[str, ...]
    default: int | None = None
    most: int | None = None
    is_text: bool = False
    gives_all: bool = False
    is_nullable: bool = False

    @property
    def name(self) -> str:
        """The argument as people write it."""
        return ".".join(self.path)

    def of(self, args: Mapping[str, Json]) -> Json:
        """Return its value in `args`, None where it has none."""
        return at(dict(args), self.path)

    def number(self, args: Mapping[str, Json]) -> int | None:
        """Return its number in `args`, else the default."""
        given = whole(self.of(args))
        return self.default if given is None else given

    def put(self, args: Mapping[str, Json], value: Json) -> dict[str, Json]:
        """Return `args` with `value` in its place, as a number or as text, as the schema asks."""
        if self.is_text and type(value) is int:
            value = str(value)
        elif not self.is_text and isinstance(value, str):
            number = whole(value) if self.default is not None or self.most is not None else None
            value = value if number is None else number
        key, *inner = self.path
        return {**args, key: put(args.get(key), tuple(inner), value)}


class Paging(Struct, frozen=True):
    """The paging of a tool's list.

    `page`, `offset` and `cursor` are arguments that ask for a further page; `facts` are the paths
    to facts about rows and further pages in the result.
    """

    limit: Argument | None = None
    page: Argument | None = None
    offset: Argument | None = None
    cursor: Argument | None = None
    facts: Facts = Facts()
    knows_result: bool = False
    gives_headers: bool = False

    @property
    def first_page(self) -> int:
        """The number of the first page."""
        return 1 if self.page is None or self.page.default is None else self.page.default

    @property
    def can_page(self) -> bool:
        """Whether further pages can be asked for."""
        if self.page is not None or self.offset is not None:
            return True
        continues = not self.knows_result or self.gives_headers or self.facts.can_continue
        return self.cursor is not None and continues

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """The page arguments."""
        found = (self.limit, self.page, self.offset, self.cursor)
        return tuple(each for each in found if each is not None)


_SILENT: Final = frozenset(("title", "description", "$schema", "$id"))


def paging_of(raw_input: Json, raw_output: Json = None, *, headers: bool = False) -> Paging | None:
    """Return the paging of a tool with these schemas, or None where they show none.

    `headers`: its results come with headers, which may link to the next page. `x-pages` at the root
    of the input schema goes before all names: `false` says that the tool gives whole lists, an
    object names arguments and paths (`{"page": "p", "rows": "data.items", "total": "meta.total"}`).
    """
    root, output = flat(raw_input), flat(raw_output)
    stated = root.get("x-pages")
    if stated is False:
        return None
    declared = stated if isinstance(stated, dict) else {}
    types = types_stated(output)
    is_open = "properties" not in output and output.get("additionalProperties") is not False
    # results of no schema, or of one that says nothing, may hold anything
    knows_result = bool(output.keys() - _SILENT) and not (types <= {"object", "null"} and is_open)
    known = output if knows_result else {}
    is_list = "array" in types_stated(known)
    has_list = not knows_result or is_list or any("array" in e.types for e in fields_of(known))
    arguments = list(_arguments(root))
    kinds = _Search(arguments, known, knows_result=knows_result).run(has_list=has_list)
    for kind in _ROLES & declared.keys():
        path = tuple(str(declared[kind]).split("."))
        of_kind = frozenset(("string",) if kind == "cursor" else ("integer",))
        made = Field(path, folded(path[-1]), "", of_kind, {})
        kinds[kind] = next((a for a in arguments if a.path in (path, (declared[kind],))), made)
    cursors = frozenset(each.name for kind, each in kinds.items() if kind != "limit")
    facts = Facts(rows=())
    if not is_list:
        facts = facts_of(known, is_paged=bool(kinds), declared=declared, args=cursors)
    if not kinds and not facts.shows_end:
        return None
    found = {kind: _argument(field, kind) for kind, field in kinds.items()}
    first = declared.get("first_page")
    if "page" in found and type(first) is int:
        found["page"] = replace(found["page"], default=first)
    return Paging(**found, facts=facts, knows_result=knows_result, gives_headers=headers)


def may_give_pages(raw_input: Json, raw_output: Json) -> bool:
    """Return whether a result may be a page, of a tool that has no page arguments.

    It may not where it holds no list, or where the tool says that its lists are whole.
    """
    if flat(raw_input).get("x-pages") is False or raw_output is False:
        return False
    whole = flat(raw_output)
    types = types_stated(whole)
    if not types or "array" in types or not whole.keys() - _SILENT:
        return True
    is_open = "properties" not in whole or whole.get("additionalProperties") not in (None, False)
    return "object" in types and (is_open or any(e.may_be("array") for e in fields_of(whole)))


class _Arg(Field, frozen=True):
    """An argument; `needed` where it is required, `text` is its description in lower case."""

    needed: bool = False
    text: str = ""

    @property
    def has_digits(self) -> bool:
        """Whether it is a text of which an example is a number."""
        examples = self.node.get("examples")
        given = (self.node.get("default"), *(examples if isinstance(examples, list) else ()))
        return "string" in self.types and any(isinstance(v, str) and v.isdigit() for v in given)

    @property
    def is_date(self) -> bool:
        """Whether it is a time, and not a place in a list."""
        about = " ".join(str(self.node.get(key, "")) for key in ("format", "pattern", "examples"))
        is_time = _DATE.search(self.text) or _DATE.search(about)
        return bool(is_time) and not _OF_PAGES.search(self.text)

    @property
    def is_other(self) -> bool:
        """Whether its description speaks of something else than rows."""
        return bool(_OF_SOMETHING_ELSE.search(self.text)) and not _OF_ROWS.search(self.text)


_SPLIT: Final = re.compile(r"[_\-. ]")
_PAGE_NAMES: Final = frozenset(("limit", "offset", "page", "cursor", "pagesize", "perpage"))


def _arguments(root: Mapping[str, Json]) -> Iterator[_Arg]:
    fields = list(fields_of(dict(root)))
    # without a prefix that two of them share: `sysparm_limit` beside `sysparm_offset` is `limit`,
    # and `credit_limit` is kept
    groups: dict[str, dict[Path, str]] = {}
    for each in fields:
        prefix, *rest = _SPLIT.split(str(list(each.path)[-1]))
        if (bare := folded("".join(rest))) in _PAGE_NAMES:
            groups.setdefault(prefix, {})[each.path] = bare
    several = [group for group in groups.values() if len(set(group.values())) > 1]
    short = {path: name for group in several for path, name in group.items()}
    for each in fields:
        *outer, key = each.path
        if len(outer) > 1 or (outer and each.container not in names.GROUPS):
            continue
        needed = at(dict(root), ("properties", *outer, "required") if outer else ("required",))
        name = folded("".join(map(str, each.path))) if each.container == "page" else each.name
        yield _Arg(
            each.path,
            short.get(each.path, name),
            each.container,
            each.types - {"null"},
            each.node,
            isinstance(needed, list) and key in needed,
            str(each.node.get("description") or "").lower(),
        )


class _Search:
    """The search for the page arguments of one tool."""

    def __init__(self, args: list[_Arg], output: Json, *, knows_result: bool) -> None:
        self.args = args
        self.knows_result = knows_result
        self.names = {each.name for each in args}
        self.facts = facts_of(output, is_paged=True, args=frozenset(self.names))
        self.found: dict[str, Field] = {}

    def run(self, *, has_list: bool) -> dict[str, Field]:
        """Return the argument of each kind; a kind that no argument has is missing."""
        for arg in self.args:
            role = arg.node.get("x-role")
            if isinstance(role, str) and role in _ROLES:
                self.found.setdefault(role, arg)
        if not has_list and not self.found:
            return {}
        # twice: neighbours are known now, and then those of neighbours
        for kind_of in (_sure_kind, self._likely_kind, self._likely_kind):
            for arg in self.args:
                kind = kind_of(arg)
                if kind and arg not in self.found.values() and "x-role" not in arg.node:
                    self.found.setdefault(kind, arg)
        return self.found

    def _likely_kind(self, arg: _Arg) -> str | None:
        """Return the kind of an argument by its name and by what stands beside it."""
        is_other = arg.is_date or arg.is_other
        if arg.name in names.PAGES and (arg.may_be(*_NUMBERS) or arg.has_digits):
            alone = not self.found and not self.facts.shows_end and not self._has_pager_name
            said = bool(_OF_PAGES.search(arg.text)) or arg.node.get("default") in (0, 1)
            is_other = is_other or bool(_OF_A_BOOK.search(arg.text))
            return None if is_other or (alone and (arg.needed or not said)) else "page"
        if arg.name in names.WEAK_LIMITS and arg.may_be(*_NUMBERS):
            said = bool(_OF_ROWS.search(arg.text)) and not _OF_SEATS.search(arg.text)
            return "limit" if said or (self._has_pager_name and not is_other) else None
        if not arg.types:
            return None
        has_limit = "limit" in self.found
        if arg.name in names.WEAK_PAGES and arg.may_be(*_NUMBERS):
            return "page" if has_limit and _OF_PAGES.search(arg.text) else None
        if arg.name in names.WEAK_OFFSETS and arg.may_be(*_NUMBERS) and has_limit:
            is_ranged = not self.names.isdisjoint(names.ENDS) or arg.needed
            return None if is_ranged or is_other else "offset"
        if arg.name in names.WEAK_CURSORS and arg.may_be("string") and self._is_cursor(arg):
            return "cursor"
        return None

    @property
    def _has_pager(self) -> bool:
        return not self.found.keys().isdisjoint(("page", "offset", "cursor"))

    @property
    def _has_pager_name(self) -> bool:
        """Whether a neighbour asks for a page, or would beside a limit."""
        if self._has_pager or ("first" in self.names and "after" in self.names):
            return True
        numbered = names.PAGES | {"start", "from"}
        return self.names.isdisjoint(names.ENDS) and any(
            each.name in numbered and each.types & frozenset(_NUMBERS) and not each.needed
            for each in self.args
        )

    def _is_cursor(self, arg: _Arg) -> bool:
        has_sign = "limit" in self.found or self._has_pager or self.facts.can_continue
        if not has_sign and not _OF_A_CURSOR.search(arg.text):
            return False
        if arg.is_date or arg.needed or arg.node.get("format") in ("date", "date-time", "email"):
            return False
        if _OF_PAGES.search(arg.text):
            return True
        # where its description does not say, the result must give a value for it
        if arg.name in ("after", "next", "offset"):
            return self.facts.can_continue or not self.knows_result
        return any(folded(str(path[-1])).endswith(arg.name) for path in self.facts.nexts)


def _sure_kind(arg: _Arg) -> str | None:
    """Return the kind of an argument whose name alone shows it."""
    number = arg.may_be(*_NUMBERS)
    if arg.name in names.LIMITS and (number or arg.has_digits):
        return None if arg.is_other else "limit"
    if arg.name in names.OFFSETS and number and arg.types - {"string"}:
        if arg.is_date or arg.is_other:
            return None
        return "page" if _COUNTS_PAGES.search(arg.text) else "offset"
    if arg.name in names.CURSORS and arg.may_be("string", "object"):
        return None if arg.is_date else "cursor"
    return None


def _argument(field: Field, kind: str) -> Argument:
    node = field.node
    path = tuple(str(each) for each in field.path)
    is_text = bool(field.types) and field.types.isdisjoint(_NUMBERS)
    if kind == "cursor":
        return Argument(path, is_text=is_text)
    text = str(node.get("description") or "").lower()
    default = whole(node.get("default"))
    if default is None:
        default = _stated(_DEFAULT, text)
    if kind == "offset":
        return Argument(path, 0 if default is None else default, None, is_text)
    if kind == "page":
        start = default if default in (0, 1) else whole(node.get("minimum"))
        is_zero = start == 0 or _FROM_ZERO.search(text)
        return Argument(path, 0 if is_zero else 1, None, is_text)
    most = whole(node.get("maximum"))
    above = whole(node.get("exclusiveMaximum"))
    if most is None:
        most = _stated(_MAXIMUM, text) if above is None else above - 1
    nullable = "default" in node and node["default"] is None
    return Argument(path, default, most, is_text, bool(_GIVES_ALL.search(text)), nullable)


def _stated(number: re.Pattern[str], text: str) -> int | None:
    found = number.search(text)
    return None if found is None else int(found[1])

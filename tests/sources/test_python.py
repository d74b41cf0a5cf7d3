"""`@tool`: a Python function becomes a tool."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any, Final, Literal, TypeAlias

import pytest
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints
from typing_extensions import TypedDict

from toolplan.plan.path import Json
from toolplan.schema.tool import Effects, ResultUnusable, Tool, ToolError, ToolObjectError
from toolplan.tools.python import tool

Limit = Annotated[int, Field(ge=1, le=100, description="How many at most.")]
Lower: TypeAlias = Annotated[str, StringConstraints(to_lower=True)]
A_TWICE: Final[dict[str, Json]] = {"A": 5, "a": 6}
REQUEST: contextvars.ContextVar[str] = contextvars.ContextVar("request", default="none")


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Size:
    width: int
    height: int = 1


class Folded(BaseModel):
    model_config = ConfigDict(str_to_lower=True)

    keys: dict[str, int]


class Declared(TypedDict):
    a: int


class Parcel(BaseModel):
    id: str
    sent: date
    weight: float = 1.5


def call(made: Tool, **arguments: Json) -> Json:
    return asyncio.run(called(made, **arguments))


async def called(made: Tool, **arguments: Json) -> Json:
    assert made.call is not None
    return await made.call(arguments)


def properties(schema: Json) -> dict[str, Any]:
    assert isinstance(schema, dict)
    found = schema["properties"]
    assert isinstance(found, dict)
    return found


def test_a_bare_decorator_reads_name_description_and_schemas() -> None:
    @tool
    def parcels_list(colour: Colour, limit: Limit = 10) -> list[str]:
        """List the parcels
        of a colour.

        Not shown.
        """
        return [f"{colour.value}{n}" for n in range(limit)]

    assert isinstance(parcels_list, Tool)
    assert parcels_list.name == "parcels_list"
    assert parcels_list.description == "List the parcels of a colour."
    assert parcels_list.effects is Effects.UNKNOWN
    assert parcels_list.unusable is None
    assert parcels_list.raw_input == {
        "type": "object",
        "$defs": {"Colour": {"enum": ["red", "blue"], "title": "Colour", "type": "string"}},
        "properties": {
            "colour": {"$ref": "#/$defs/Colour"},
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": 100,
                "default": 10,
                "description": "How many at most.",
            },
        },
        "required": ["colour"],
        "additionalProperties": False,
    }
    assert parcels_list.raw_output == {"type": "array", "items": {"type": "string"}}
    assert call(parcels_list, colour="red", limit=2) == ["red0", "red1"]


@pytest.mark.parametrize("effects", ["read", "write", "destructive"])
def test_a_tool_is_as_stated(effects: Literal["read", "write", "destructive"]) -> None:
    hints: dict[str, Json] = {"x-entity": "parcel", "x-aliases": ["parcels"]}

    @tool(name="other", effects=effects, idempotent=True, description="Said here.", hints=hints)
    def named() -> None: ...

    assert (named.name, named.description) == ("other", "Said here.")
    assert (named.effects.value, named.idempotent) == (effects, True)
    assert isinstance(named.raw_input, dict)
    assert hints.items() <= named.raw_input.items()
    assert named.aliases == ("parcels",)


def test_stated_schemas_replace_those_of_the_hints() -> None:
    stated_input: Json = {"type": "object", "properties": {"n": {"type": "integer"}}}
    stated_output: Json = {"type": "integer", "minimum": 0}

    @tool(input_schema=stated_input, output_schema=stated_output)
    def double(n: int) -> int:
        return 2 * n

    assert (double.raw_input, double.raw_output) == (stated_input, stated_output)
    assert call(double, n=4) == 8


def test_arguments_reach_the_function_as_its_hints_say() -> None:
    seen: list[object] = []

    @tool
    def look(day: date, at: datetime, size: Size, colour: Colour, days: set[date]) -> None:
        seen.extend([day, at, size, colour, days])

    call(
        look,
        day="2025-10-12",
        at="2025-10-12T10:30:00",
        size={"width": 3},
        colour="blue",
        days=["2025-01-01"],
    )
    assert seen == [
        date(2025, 10, 12),
        datetime(2025, 10, 12, 10, 30),
        Size(3, 1),
        Colour.BLUE,
        {date(2025, 1, 1)},
    ]


def test_defaults_are_filled_in_and_optional_arguments_may_be_null() -> None:
    @tool
    def show(a: int | None, b: str = "x", c: int = Field(7, ge=1)) -> list[object]:
        return [a, b, c]

    assert call(show, a=None) == [None, "x", 7]
    assert properties(show.raw_input)["a"] == {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    assert properties(show.raw_input)["c"] == {"type": "integer", "default": 7, "minimum": 1}


def test_parameters_may_have_names_that_models_use_themselves() -> None:
    @tool
    def odd(schema: str, model_config: int, copy: bool, _private: str, json: str) -> str:
        return f"{schema}{model_config}{copy}{_private}{json}"

    names = ["schema", "model_config", "copy", "_private", "json"]
    assert list(properties(odd.raw_input)) == names
    assert call(odd, schema="s", model_config=1, copy=True, _private="p", json="j") == "s1Truepj"


def test_a_stated_alias_is_the_name_of_the_argument() -> None:
    @tool
    def way(from_: Annotated[str, Field(alias="from")], to: str) -> str:
        return f"{from_}-{to}"

    assert list(properties(way.raw_input)) == ["from", "to"]
    assert call(way, **{"from": "Kiel", "to": "Bonn"}) == "Kiel-Bonn"


def test_extra_keywords_of_fields_stand_in_the_schema() -> None:
    @tool
    def parcels_list(
        since: Annotated[date, Field(json_schema_extra={"x-role": "range.start"})],
    ) -> list[str]:
        return [since.isoformat()]

    assert properties(parcels_list.raw_input)["since"] == {
        "type": "string",
        "format": "date",
        "x-role": "range.start",
    }


def test_arguments_that_do_not_fit_are_a_tool_error() -> None:
    @tool
    def show(day: date) -> str:
        return day.isoformat()

    with pytest.raises(ToolError, match="day: "):
        call(show, day="last week")
    with pytest.raises(ToolError, match="other: "):
        call(show, day="2025-10-12", other=1)


def test_results_are_plain_json() -> None:
    @tool
    def parcels_get(id: str) -> dict[str, Parcel | Size | float | None]:
        sent = date(2025, 10, 12)
        return {"parcel": Parcel(id=id, sent=sent), "size": Size(2), "no": float("nan"), "n": None}

    assert call(parcels_get, id="P1") == {
        "parcel": {"id": "P1", "sent": "2025-10-12", "weight": 1.5},
        "size": {"width": 2, "height": 1},
        "no": None,
        "n": None,
    }


def test_without_a_return_hint_no_output_is_declared_and_anything_plain_is_given() -> None:
    def bare(n: int) -> object:
        return {"n": n, "when": date(2025, 1, 2), "nan": float("inf")}

    del bare.__annotations__["return"]
    made = tool(bare)
    assert made.raw_output is None
    assert call(made, n=3) == {"n": 3, "when": "2025-01-02", "nan": None}


@pytest.mark.parametrize(
    "returned",
    [
        10**5000,
        {"n": [10**5000]},
        {1: "one", "1": "two"},
        [{(1, 2): 0, "1,2": 1}],
        {None: 1, "None": 2},
    ],
    ids=["long", "long inside", "number and text", "tuple and text", "none and text"],
)
@pytest.mark.parametrize("declared", [object, Any])
def test_what_json_would_change_is_in_doubt_with_the_value(returned: object, declared: Any) -> None:
    with pytest.raises(ResultUnusable, match="JSON") as refused:
        call(returning(returned, declared))
    assert refused.value.returned == (returned,)


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (float, 2**53 + 1),
        (float | None, -(2**53) - 1),
        (list[float], [1, 2**53 + 1]),
        (dict[str, dict[str, float]], {"a": {"b": 2**53 + 1}}),
        (dict[int, str], {"1": "a", "01": "b"}),
        (list[dict[int, str]], [{"1": "a", " 1": "b"}]),
        (dict[float, str], {"1": "a", "1.0": "b"}),
    ],
)
def test_an_argument_that_the_function_would_read_as_another_is_refused(
    hint: Any, value: Json
) -> None:
    def take(x: object) -> None:
        raise AssertionError(x)

    take.__annotations__["x"] = hint
    with pytest.raises(ToolError, match="The arguments do not fit"):
        call(tool(take), x=value)


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (float, 2**53 + 1),
        (list[float], [0.5, 2**53 + 1]),
        (dict[str, float | None], {"a": 2**53 + 1}),
        (tuple[float, ...], (2**53 + 1,)),
        (float, Decimal("0.12345678901234567890")),
    ],
)
def test_a_number_that_its_return_hint_would_round_is_refused(hint: Any, value: object) -> None:
    with pytest.raises(ResultUnusable, match="more than a float keeps"):
        call(returning(value, hint))


@pytest.mark.parametrize(
    ("hint", "value", "result"),
    [
        (float, 2**53, 2.0**53),
        (float, Decimal("0.10"), 0.1),
        (float, True, 1.0),
        (float | int, 2**53 + 1, 2**53 + 1),
        (list[float], [1, 2.5], [1.0, 2.5]),
        (dict[int, float], {1: 2}, {"1": 2.0}),
    ],
)
def test_a_number_that_a_float_keeps_is_returned(hint: Any, value: object, result: Json) -> None:
    assert call(returning(value, hint)) == result


def test_coroutine_functions_are_awaited_in_the_loop() -> None:
    @tool
    async def thread_name(pause: float) -> str:
        await asyncio.sleep(pause)
        return threading.current_thread().name

    assert call(thread_name, pause=0) == threading.current_thread().name


def test_objects_with_a_call_method_can_be_tools() -> None:
    class Adder:
        def __init__(self, base: int) -> None:
            self.base = base

        async def __call__(self, n: int) -> int:
            return self.base + n

    assert call(tool(name="add")(Adder(2)), n=3) == 5
    with pytest.raises(ToolObjectError, match="name"):
        tool(Adder(2))


async def test_other_functions_run_in_a_thread_with_the_context_of_the_caller() -> None:
    @tool
    def where() -> list[str]:
        return [threading.current_thread().name, REQUEST.get()]

    REQUEST.set("r-1")
    result = await called(where)
    assert result != [threading.current_thread().name, "r-1"]
    assert isinstance(result, list)
    assert result[1] == "r-1"


async def test_blocking_calls_overlap() -> None:
    together = threading.Barrier(3, timeout=20)

    @tool
    def meet() -> bool:
        together.wait()
        return True

    assert await asyncio.gather(*(called(meet) for _ in range(3))) == [True, True, True]


async def test_a_cancelled_call_is_left_at_once() -> None:
    go_on = threading.Event()

    @tool
    def hang() -> None:
        go_on.wait(20)

    started = time.monotonic()
    try:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(called(hang), 0.05)
        assert time.monotonic() - started < 10
    finally:
        go_on.set()


@pytest.mark.parametrize("error", [ValueError("no"), KeyError("k"), StopIteration()])
def test_what_a_function_raises_comes_through(error: Exception) -> None:
    @tool
    def fail() -> None:
        raise error

    with pytest.raises((ValueError, KeyError, RuntimeError)):
        call(fail)


def test_functions_that_no_schema_can_describe_are_refused() -> None:
    def many(*values: int) -> None: ...
    def named(**values: int) -> None: ...
    def placed(value: int, /) -> None: ...

    for function, name in ((many, "values"), (named, "values"), (placed, "value")):
        with pytest.raises(ToolObjectError, match=f"{function.__name__}.*{name}"):
            tool(function)


def test_hints_that_have_no_schema_are_refused() -> None:
    class Opaque: ...

    def look(thing: Opaque) -> None: ...
    def give() -> Opaque: ...

    for function in (look, give):
        with pytest.raises(ToolObjectError, match=function.__name__):
            tool(function)


def returning(value: object, hint: object) -> Tool:
    """Return a tool with the return hint `hint` that gives `value`."""

    def search() -> object:
        """Look."""
        return value

    search.__annotations__["return"] = hint
    return tool(effects="write")(search)


@pytest.mark.parametrize(
    ("value", "hint", "message"),
    [(["one"], list[int], "not what the tool declares"), (object(), object, "JSON")],
)
def test_an_unusable_result_is_a_tool_error(value: object, hint: object, message: str) -> None:
    with pytest.raises(ToolError, match=message):
        call(returning(value, hint))


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (dict[int | str, int], {1: 5, "1": 6}),
        (dict[int, int] | dict[str, int] | list[int], {1: 5, "1": 6}),
        (list[dict[int | str, int] | str], [{1: 5, "1": 6}]),
        (dict[int, int], {1: 5, "1": 6}),
        (dict[int, int], {"1": 5, "01": 6}),
        (dict[str, int] | str, {"a": 5, b"a": 6}),
        (dict[str, dict[int, int]], {"a": {1: 5, "1": 6}}),
        (dict[Any, Any], {None: 5, "None": 7}),
        (tuple[int, dict[int | str, int]], (1, {1: 5, "1": 6})),
        (Any, {1: 5, "1": 6}),
        (dict[Lower, int], {"A": 5, "a": 6}),
        (list[dict[Lower, int]] | None, [{"b": 1}, {"A": 5, "a": 6}]),
        (dict[str, dict[Annotated[str, StringConstraints(to_upper=True)], int]], {"x": A_TWICE}),
        (dict[Annotated[str, StringConstraints(strip_whitespace=True)], int], {"a": 5, "a ": 6}),
        (dict[Annotated[str, AfterValidator(str.casefold)], int], A_TWICE),
        (dict[Colour | Lower, int], {"RED": 5, "red": 6}),
        (Folded, {"keys": A_TWICE}),
    ],
)
def test_two_keys_that_become_one_hide_no_value(hint: object, value: object) -> None:
    with pytest.raises(ResultUnusable, match="same as text"):
        call(returning(value, hint))


@pytest.mark.parametrize(
    ("hint", "value", "read"),
    [
        (dict[Lower, int], {"A": 5, "b": 6}, {"a": 5, "b": 6}),
        (dict[str, int], A_TWICE, A_TWICE),
        (Declared, {"a": 5, "b": 6}, {"a": 5}),
        (dict[Literal["a", "A"], int], A_TWICE, A_TWICE),
        (None, None, None),
    ],
)
def test_keys_that_stay_apart_and_what_is_not_declared_are_no_doubt(
    hint: object, value: object, read: object
) -> None:
    assert call(returning(value, hint)) == read


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"effects": "reads"}, "effects='reads' is not a label"),
        ({"effects": 3}, "effects=3 is not a label"),
        ({"effects": []}, "is not a label"),
        ({"hints": "x"}, "hints is a value of type str"),
        ({"hints": 3}, "hints is a value of type int"),
        ({"inject": 3}, "inject is not a dict of functions"),
        ({"inject": {"city": 3}}, "inject is not a dict of functions"),
    ],
)
def test_a_wrong_option_names_the_tool_and_its_options(options: dict[str, Any], words: str) -> None:
    def look(city: str) -> str:
        return city

    with pytest.raises(ToolObjectError, match=words) as caught:
        tool(**options)(look)
    assert "Tool 'look'" in str(caught.value)
    assert caught.value.help
    if "effects" in options:
        assert caught.value.help == "The labels are read, write, destructive, unknown."


def test_what_is_no_function_is_named() -> None:
    three: Any = 3
    with pytest.raises(ToolObjectError, match="A value of type int cannot be a tool"):
        tool(three)

    def look(city: str) -> str:
        return city

    made: Any = tool(look)
    with pytest.raises(ToolObjectError, match="'look' is a tool already"):
        tool(made)

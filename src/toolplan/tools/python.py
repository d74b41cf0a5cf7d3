"""Tools from Python functions: `@tool` reads the schemas from the type hints."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from functools import partial
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, TypeAlias, cast, overload

import docstring_parser
from pydantic import Field, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue, JsonSchemaWarningKind
from pydantic_core import (
    ArgsKwargs,
    PydanticSerializationError,
    PydanticUndefined,
    core_schema,
    from_json,
    to_json,
)

from toolplan.base.threads import run_in_thread, threads_of
from toolplan.plan.path import Json
from toolplan.schema.tool import (
    Arguments,
    Call,
    Effects,
    ResultUnusable,
    Tool,
    ToolError,
    ToolObjectError,
)

Function: TypeAlias = Callable[..., object]
Provider: TypeAlias = Callable[[], object]
"""Provides a resource to a function that is called as a tool: a connection, a client, a user."""

NOTHING: Final[Mapping[str, Provider]] = MappingProxyType({})
StatedEffects: TypeAlias = Literal["read", "write", "destructive"]

_REFUSED_KINDS: Final[Mapping[object, str]] = {
    inspect.Parameter.VAR_POSITIONAL: "takes any number of values",
    inspect.Parameter.VAR_KEYWORD: "takes any names",
    inspect.Parameter.POSITIONAL_ONLY: "cannot be given by name",
}
_MOST_ERRORS: Final = 5
_LONGEST_DEFAULT: Final = 200
_SCALARS: Final = (str, int, float, bool, type(None))
_FOLDS: Final = ("to_lower", "to_upper", "strip_whitespace")
_SAME_KEYS: Final = "The result cannot be said in JSON: keys of an object are the same as text."
_HINTS: Final = "Write type hints that pydantic knows; they become the schema of the tool."
_EMPTY: Final[Mapping[object, Json]] = {
    list: [], tuple: [], set: [], frozenset: [], dict: {}, str: "", int: 0, float: 0.0, bool: False,
}  # fmt: skip
_ONLY_DECORATED: Final = (
    "A function that is no tool is left out where others have @toolplan.tool, or where its name"
    " begins with an underscore."
)


class _Schemas(GenerateJsonSchema):
    """Schemas without titles that only repeat names."""

    def field_title_should_be_set(self, schema: object) -> bool:
        """Never: a title made of the name says nothing."""
        return False

    def emit_warning(self, kind: JsonSchemaWarningKind, detail: str) -> None:
        """Ignore a warning: `default_schema` keeps a default that JSON cannot state."""

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """Return the schema of a value with a default; `x-default` describes one without JSON."""
        found = super().default_schema(schema)
        default, factory = schema.get("default", PydanticUndefined), schema.get("default_factory")
        if factory in _EMPTY:
            return {**found, "default": _EMPTY[factory]}
        if factory is not None:
            return {**found, "x-default": "made when the tool is called"}
        stated = found.get("default")
        has_address = isinstance(stated, str) and " at 0x" in stated and stated != default
        if default is PydanticUndefined or ("default" in found and not has_address):
            return found
        found.pop("default", None)
        shown = repr(default)  # with an address it is another text in each process
        text = f"an object of {type(default).__name__}" if " at 0x" in shown else shown
        return {**found, "x-default": text[:_LONGEST_DEFAULT]}


@overload
def tool(function: Function, /) -> Tool: ...


@overload
def tool(
    *,
    name: str | None = None,
    effects: StatedEffects | None = None,
    idempotent: bool = False,
    description: str | None = None,
    input_schema: Json = None,
    output_schema: Json = None,
    hints: Mapping[str, Json] | None = None,
    inject: Mapping[str, Provider] = NOTHING,
) -> Callable[[Function], Tool]: ...


def tool(
    function: Function | None = None,
    /,
    *,
    name: str | None = None,
    effects: StatedEffects | None = None,
    idempotent: bool = False,
    description: str | None = None,
    input_schema: Json = None,
    output_schema: Json = None,
    hints: Mapping[str, Json] | None = None,
    inject: Mapping[str, Provider] = NOTHING,
) -> Tool | Callable[[Function], Tool]:
    """Make a `Tool` of a function: `@tool`, or `@tool(effects="read")`.

    The schemas come from the type hints: everything that pydantic knows (`Annotated[…,
    Field(…)]`, `Literal`, enums, dates, dataclasses, models), closed against arguments that are not
    declared. Arguments reach the function as its hints say, a date as a `datetime.date`; its
    result is held to its return hint and given as plain JSON. A function without a return hint
    declares no output. A coroutine function is awaited; any other runs in a thread, with the
    context variables of its caller. The text of the docstring about a parameter (in Google's,
    numpy's, reST's or Epydoc's form) is the argument's description where its hint has none.

    Args:
        function: the function that the tool calls.
        name: the tool's name; the function's by default.
        effects: the changes a call may make. Not stating it means unknown, which is treated as
            destructive.
        idempotent: calling twice is the same as calling once.
        description: by default the first paragraph of the docstring.
        input_schema: instead of the schema that is read from the type hints.
        output_schema: instead of the schema that is read from the return hint.
        hints: keywords for the root of the input schema, such as `x-entity` (`docs/hints.md`).
        inject: parameters that are not arguments, by name: a function that gives the value, called
            again for each call. No plan sees them or can set them.

    Raises:
        ToolObjectError: the function cannot be called by named arguments alone, or lacks hints.
    """

    def make(function: Function) -> Tool:
        called = _checked_name(function, name, effects, hints, inject)
        signature = _signature(called, function)
        parameters = _parameters(called, signature, inject, _descriptions(function))
        returned = _returned(called, signature)
        read_input = _schema(called, parameters, "validation")
        base = read_input if input_schema is None else input_schema
        read_output = None if returned is None else _schema(called, returned, "serialization")
        return Tool(
            name=called,
            description=_description(function) if description is None else description,
            raw_input={**base, **(hints or {})} if isinstance(base, dict) else base,
            raw_output=read_output if output_schema is None else output_schema,
            effects=Effects.UNKNOWN if effects is None else Effects(effects),
            idempotent=idempotent,
            call=_call(function, parameters, returned, dict(inject)),
            source="python",
        )

    return make if function is None else make(function)


def _checked_name(
    function: object, name: str | None, effects: object, hints: object, inject: object
) -> str:
    """Return the name of the tool, where its options can be used."""
    if isinstance(function, Tool):
        raise ToolObjectError(f"{function.name!r} is a tool already.", "Decorate it once.")
    if not callable(function):
        raise ToolObjectError(
            f"A value of type {type(function).__name__} cannot be a tool.",
            "Decorate a function: @toolplan.tool above its `def`.",
        )
    called = name or getattr(function, "__name__", "")
    if name is None and not (isinstance(called, str) and called.isidentifier()):
        raise ToolObjectError(
            "A function without a name of its own cannot be a tool.",
            "Give it one: @toolplan.tool(name=…).",
        )
    provided = cast("Mapping[object, object]", inject)
    if effects is not None and effects not in tuple(Effects):
        fault = f"effects={effects!r:.100} is not a label", f"The labels are {', '.join(Effects)}."
    elif hints is not None and not isinstance(hints, Mapping):
        fault = (
            f"hints is a value of type {type(hints).__name__}",
            'Give a dict, as in hints={"x-entity": "book"}.',
        )
    elif not isinstance(inject, Mapping) or not all(map(callable, provided.values())):
        fault = (
            "inject is not a dict of functions",
            "Give the function that provides each parameter: inject={'db': open_database}.",
        )
    else:
        return called
    raise ToolObjectError(f"Tool {called!r}: {fault[0]}.", fault[1])


def _call(
    function: Function,
    parameters: TypeAdapter[dict[str, object]],
    returned: TypeAdapter[object] | None,
    inject: Mapping[str, Provider],
) -> Call:
    functions = (function, type(function).__call__)
    is_async = any(inspect.iscoroutinefunction(each) for each in functions)
    folds = returned is not None and _folds_keys(returned.core_schema)
    folds_arguments = _folds_keys(parameters.core_schema)
    takes_floats = "'float'" in repr(parameters.core_schema)
    gives_floats = returned is not None and "'float'" in repr(returned.core_schema)
    threads = threads_of(str(getattr(function, "__module__", "")) or "python")

    async def call(arguments: Arguments) -> Json:
        given = {name: provide() for name, provide in inject.items()}
        try:
            read = parameters.validate_python(ArgsKwargs((), dict(arguments)))
        except ValidationError as error:
            raise ToolError(f"The arguments do not fit: {_shown_errors(error)}") from error
        if folds_arguments and _loses_keys(arguments, read, folds_arguments):
            raise ToolError("The arguments do not fit: two keys of an object are read as one.")
        if takes_floats and (number := _rounded(arguments, read)) is not None:
            raise ToolError(f"The arguments do not fit: {number} is more than a float keeps.")
        made = partial(function, **read, **given)
        result = made() if is_async else await run_in_thread(made, threads)
        if inspect.isawaitable(result):
            result = await cast("Awaitable[object]", result)
        return _plain(result, returned, folds, gives_floats)

    return call


def _plain(
    result: object, returned: TypeAdapter[object] | None, folds: bool, has_floats: bool
) -> Json:
    """Return `result` as plain JSON; NaN and infinities become null."""
    try:
        if returned is None:
            text = to_json(result, inf_nan_mode="null")
        else:
            valid = returned.validate_python(result, by_alias=True, by_name=True)
            if _loses_keys(result, valid, folds):
                raise ResultUnusable(_SAME_KEYS, result)
            if has_floats and (number := _rounded(result, valid)) is not None:
                said = f"{number} is more than a float keeps; declare int or Decimal"
                raise ResultUnusable(f"The result is not what the tool declares: {said}.", result)
            text = returned.dump_json(valid, by_alias=True)
    except ValidationError as error:
        raise ResultUnusable(
            f"The result is not what the tool declares: {_shown_errors(error)}", result
        ) from error
    except (PydanticSerializationError, RecursionError) as error:
        raise ResultUnusable(f"The result cannot be said in JSON: {error}", result) from error
    try:
        plain = cast("Json", from_json(text))
    except ValueError as error:  # an integer of thousands of digits
        raise ResultUnusable(f"The result cannot be read as JSON: {error}", result) from error
    if len(to_json(plain)) != len(text):
        raise ResultUnusable(_SAME_KEYS, result)
    return plain


def _folds_keys(hint: object) -> bool:
    """Return whether a type hint, as pydantic reads it, may make one key of two texts.

    A key that is a text stays what it is, unless its hint folds its case, strips it, or gives it to
    a function or an enum.
    """
    if isinstance(hint, list | tuple):
        return any(map(_folds_keys, cast("list[object]", hint)))
    if not isinstance(hint, Mapping):
        return False
    part = cast("Mapping[str, object]", hint)
    keys: object = part.get("keys_schema") if part.get("type") == "dict" else None
    if isinstance(keys, Mapping):
        key = cast("Mapping[str, object]", keys)
        kept = key.get("type") in ("str", "any", "literal")
        if not kept or any(key.get(fold) for fold in _FOLDS):
            return True
    if any(part.get(f"str_{fold}") for fold in _FOLDS):  # the settings of a model
        return True
    return any(_folds_keys(each) for name, each in part.items() if name != "metadata")


def _loses_keys(result: object, valid: object, folds: bool) -> bool:
    """Return whether an object in `result` has keys that are one key in `valid`, or one as text.

    `valid` is `result` as its type hint reads it: `{1: …, "1": …}` has one key under
    `dict[int, …]`, and two that are the same in JSON under others. Where the hint `folds` keys, no
    object may have fewer than were given: nothing shows which of them were merged.
    """
    pairs: Iterable[tuple[object, object]] = ()
    if isinstance(result, Mapping):
        given = cast("Mapping[object, object]", result)
        read = cast("dict[object, object]", valid) if isinstance(valid, dict) else None
        has_texts = all(isinstance(key, str) for key in given)
        if not has_texts:
            names = from_json(to_json(dict.fromkeys(given), serialize_unknown=True))
            if len(names) < len(given):
                return True
        # a TypedDict leaves out what it does not declare: its keys are texts before and after
        leaves_out = not folds and has_texts and all(isinstance(key, str) for key in read or ())
        if read is not None and len(read) < len(given) and not leaves_out:
            return True
        pairs = _members(given, cast("object", valid))
    elif isinstance(result, list | tuple) and isinstance(valid, list | tuple):
        pairs = zip(cast("list[object]", result), cast("list[object]", valid), strict=False)
    return any(
        _loses_keys(raw, read, folds) for raw, read in pairs if not isinstance(raw, _SCALARS)
    )


def _rounded(raw: object, read: object) -> int | Decimal | None:
    """Return a number in `raw` that its type hint reads as another one, None where there is none.

    A decimal that a float writes with the same digits is the same number.
    """
    pairs: Iterable[tuple[object, object]] = ()
    if isinstance(read, float) and isinstance(raw, int | Decimal):
        kept = read if isinstance(raw, int) else Decimal(repr(read))
        return None if raw == kept else raw
    if isinstance(raw, Mapping):
        pairs = _members(cast("Mapping[object, object]", raw), read)
    elif isinstance(raw, list | tuple) and isinstance(read, list | tuple):
        pairs = zip(cast("list[object]", raw), cast("list[object]", read), strict=False)
    found = (_rounded(*pair) for pair in pairs)
    return next((each for each in found if each is not None), None)


def _members(raw: Mapping[object, object], read: object) -> Iterator[tuple[object, object]]:
    """Yield the members of an object with what each became; keys may be read as others."""
    if not isinstance(read, dict):  # a model or a dataclass: its fields are attributes
        texts = ((key, item) for key, item in raw.items() if isinstance(key, str))
        yield from ((item, getattr(read, key, item)) for key, item in texts)
        return
    taken = cast("dict[object, object]", read)
    by_place = [*taken.values()] if len(taken) == len(raw) else []
    for at, (key, item) in enumerate(raw.items()):
        if key in taken:
            yield item, taken[key]
        elif by_place:
            yield item, by_place[at]


def _signature(name: str, function: Function) -> inspect.Signature:
    try:
        signature = inspect.signature(function)
        target = function
        if not inspect.isroutine(function) and not isinstance(function, type | partial):
            target = type(function).__call__
        while isinstance(target, partial):
            target = cast("partial[object]", target).func
        resolved = typing.get_type_hints(target, include_extras=True)
    except (NameError, TypeError, ValueError) as error:
        raise ToolObjectError(
            f"Tool {name!r}: its signature cannot be read: {error}.", _HINTS
        ) from error
    parameters = [
        each.replace(annotation=resolved.get(each.name, each.annotation))
        for each in signature.parameters.values()
    ]
    returned = resolved.get("return", signature.return_annotation)
    return signature.replace(parameters=parameters, return_annotation=returned)


def _parameters(
    name: str,
    signature: inspect.Signature,
    inject: Mapping[str, Provider],
    descriptions: Mapping[str, str],
) -> TypeAdapter[dict[str, object]]:
    """Return the validator of arguments for the parameters, which may have any name."""
    if unknown := inject.keys() - signature.parameters.keys():
        raise ToolObjectError(
            f"Tool {name!r}: there is no parameter {min(unknown)!r} to inject.",
            f"Its parameters: {', '.join(signature.parameters) or 'none'}.",
        )
    taken: list[inspect.Parameter] = []
    for parameter in signature.parameters.values():
        if parameter.name in inject:
            continue
        if reason := _REFUSED_KINDS.get(parameter.kind):
            raise ToolObjectError(
                f"Tool {name!r}: the parameter {parameter.name!r} {reason}, so no schema can"
                " describe it.",
                f"Give the function named parameters. {_ONLY_DECORATED}",
            )
        if parameter.annotation is inspect.Parameter.empty:
            raise ToolObjectError(
                f"Tool {name!r}: the parameter {parameter.name!r} has no type hint.",
                f"Write one, as in `{parameter.name}: str`. {_ONLY_DECORATED}",
            )
        stated = [*typing.get_args(parameter.annotation), parameter.default]
        text = descriptions.get(parameter.name)
        if text and not any(isinstance(e, FieldInfo) and e.description for e in stated):
            described = Annotated[parameter.annotation, Field(description=text)]
            parameter = parameter.replace(annotation=described)
        taken.append(parameter)

    def arguments(**values: object) -> dict[str, object]:
        return values

    vars(arguments)["__signature__"] = signature.replace(parameters=taken)
    arguments.__annotations__ = {each.name: each.annotation for each in taken}
    return cast("TypeAdapter[dict[str, object]]", _adapter(arguments, f"Tool {name!r}"))


def _returned(name: str, signature: inspect.Signature) -> TypeAdapter[object] | None:
    hint: object = signature.return_annotation
    if hint is inspect.Signature.empty or hint is Any or hint is object:
        return None
    return _adapter(hint, f"Tool {name!r}: its return hint")


def _adapter(hint: object, place: str) -> TypeAdapter[object]:
    try:
        return TypeAdapter(cast("type[object]", hint))
    except (PydanticUserError, TypeError, NameError) as error:
        raise ToolObjectError(f"{place}: {_first_line(error)}", _HINTS) from error


def _schema(
    name: str, adapter: TypeAdapter[Any], mode: Literal["validation", "serialization"]
) -> JsonSchemaValue:
    try:
        schema = adapter.json_schema(mode=mode, by_alias=True, schema_generator=_Schemas)
    except PydanticUserError as error:
        raise ToolObjectError(f"Tool {name!r}: {_first_line(error)}", _HINTS) from error
    if mode == "validation":
        schema.pop("title", None)
    return schema


def _description(function: Function) -> str:
    paragraph = (inspect.getdoc(function) or "").strip().partition("\n\n")[0]
    return " ".join(paragraph.split())


def _descriptions(function: Function) -> dict[str, str]:
    """Return the docstring's description of each parameter, on one line."""
    text = inspect.getdoc(function)
    if not text:
        return {}
    try:
        read = docstring_parser.parse(text)
    except docstring_parser.ParseError:
        return {}  # prose that looks like a form and is none
    return {
        each.arg_name: " ".join(each.description.split())
        for each in read.params
        if each.description
    }


def _shown_errors(error: ValidationError) -> str:
    found = error.errors(include_url=False, include_context=False, include_input=False)
    shown = [
        f"{'.'.join(map(str, each['loc'])) or 'value'}: {each['msg']}"
        for each in found[:_MOST_ERRORS]
    ]
    rest = len(found) - len(shown)
    return "; ".join(shown) + (f"; and {rest} more." if rest else ".")


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]

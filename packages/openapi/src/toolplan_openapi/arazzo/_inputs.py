"""The inputs of a workflow, and what a user chooses: which workflow, with which values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl

from msgspec import Struct

from toolplan.path import Json
from toolplan.plan import Literal, Value
from toolplan.sources.replies import read_json
from toolplan_openapi._document import Place
from toolplan_openapi.arazzo._expressions import Outputs

_SHARED_INPUTS: Final = "#/components/inputs/"


class Choice(Struct, frozen=True):
    """Which workflow is the plan, None for the first, and the values of its inputs as text."""

    workflow: str | None = None
    inputs: tuple[tuple[str, str], ...] = ()

    @classmethod
    def read(cls, text: str) -> Choice:
        """Return what `:NAME?INPUT=VALUE&INPUT=VALUE`, behind the name of the dialect, chooses."""
        name, _, inputs = text.partition("?")
        pairs = parse_qsl(inputs, keep_blank_values=True)
        return cls(name.removeprefix(":") or None, tuple(pairs))


class Inputs(Struct, frozen=True):
    """The inputs of a workflow: their schemas by name, and the names of those that are required."""

    declared: Mapping[str, Mapping[str, Json]]
    required: list[Json]

    @classmethod
    def of(cls, workflow: Place, root: Place) -> Inputs:
        """Return the inputs that `workflow` declares, or refers to in the components of `root`."""

        def followed(place: Place) -> Place:
            reference = place.text("$ref")
            if not reference.startswith(_SHARED_INPUTS):
                return place
            return root.at("components", "inputs", reference.removeprefix(_SHARED_INPUTS))

        schema = followed(workflow.at("inputs"))
        properties = schema.at("properties")
        declared = {name: followed(properties.at(name)).node for name in properties.node}
        return cls(declared, schema.at("required").items)

    def filled(self, given: Outputs) -> dict[str, Value]:
        """Return the values `given`, and the `const` or `default` of the other inputs."""
        stated = {
            name: Literal(schema.get("const", schema.get("default")))
            for name, schema in self.declared.items()
            if "const" in schema or "default" in schema
        }
        return {**stated, **given}

    def read(self, given: tuple[tuple[str, str], ...]) -> dict[str, Value]:
        """Return values given as text: JSON, or plain text, as an input that is a string wants."""
        return {name: Literal(self._value(name, text)) for name, text in given}

    def _value(self, name: str, text: str) -> Json:
        if self.declared.get(name, {}).get("type") == "string":
            return text
        try:
            return read_json(text)
        except (ValueError, RecursionError):
            return text

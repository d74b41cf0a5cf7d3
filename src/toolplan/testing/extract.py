"""The tool `extract` without a model."""

from __future__ import annotations

import json
from collections.abc import Callable

from toolplan.extract import extract_tool
from toolplan.path import Json
from toolplan.providers import ModelRequest
from toolplan.testing.model import ScriptedModel
from toolplan.tools import Tool


def scripted_extract(read: Callable[[str, str], Json]) -> Tool:
    """Return the tool `extract` whose model is `read`: of the text and the instruction, the value.

    It is checked against the schema like the reply of any model. None stands for what the text
    does not say.
    """

    def reply(request: ModelRequest) -> str:
        asked = json.loads(request.messages[1].text)
        value = read(asked["text"], asked["instruction"])
        return json.dumps({"found": value is not None, "value": value})

    model = ScriptedModel([reply], name="scripted:extract")
    return extract_tool(lambda: model)

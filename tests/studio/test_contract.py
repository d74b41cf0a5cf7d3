"""The OpenAPI document that the page's types are generated from is that of the server."""

from __future__ import annotations

import json
from pathlib import Path

from toolplan.path import Json
from toolplan.studio import openapi_text

DOCUMENT = Path(__file__).parents[2] / "web" / "openapi.json"


def test_the_kept_document_is_that_of_the_server() -> None:
    kept = DOCUMENT.read_text("utf-8")
    assert kept == openapi_text(), "Write it anew: .venv/bin/python tools/openapi.py"


def test_every_reference_of_the_document_leads_somewhere() -> None:
    document = json.loads(openapi_text())
    schemas = document["components"]["schemas"]
    found: set[str] = set()

    def collect(value: Json) -> None:
        match value:
            case {"$ref": str(target)}:
                found.add(target.rpartition("/")[2])
            case dict():
                for each in value.values():
                    collect(each)
            case list():
                for each in value:
                    collect(each)
            case _:
                pass

    collect(document)
    assert found <= set(schemas)
    assert {"EventOut", "NodeOut", "Problem"} <= set(schemas)

"""Diagnostics as SARIF 2.1.0 (Static Analysis Results Interchange Format), for CI services."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from toolplan.diagnostics import Severity
from toolplan.path import Json
from toolplan.render.diagnostics import Located
from toolplan.source import line_and_column

_LEVELS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning"}


def sarif(
    located: Iterable[Located],
    text: str,
    *,
    file: str,
    pages: Mapping[str, str],
    version: str,
) -> dict[str, Json]:
    """Return the SARIF log of the diagnostics `located` in `text`, the content of `file`.

    `pages` are the pages of the codes, by code; `version` is that of this program.
    """
    found = list(located)
    codes = list(dict.fromkeys(each.diagnostic.code for each in found))
    rules: list[Json] = [_rule(code, pages.get(code, code)) for code in codes]
    results: list[Json] = [_result(each, text, file, codes) for each in found]
    driver: dict[str, Json] = {"name": "toolplan", "version": version, "rules": rules}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
        ],
    }


def _rule(code: str, page: str) -> Json:
    return {
        "id": code,
        "shortDescription": {"text": page.partition("\n")[0]},
        "fullDescription": {"text": page},
    }


def _result(located: Located, text: str, file: str, codes: list[str]) -> Json:
    diagnostic, span = located
    texts = [diagnostic.message, diagnostic.help] if diagnostic.help else [diagnostic.message]
    place: dict[str, Json] = {"artifactLocation": {"uri": file}}
    if span is not None:
        line, column = line_and_column(text, span.start)
        end_line, end_column = line_and_column(text, span.end)
        place["region"] = {
            "startLine": line,
            "startColumn": column,
            "endLine": end_line,
            "endColumn": end_column,
        }
    return {
        "ruleId": diagnostic.code,
        "ruleIndex": codes.index(diagnostic.code),
        "level": _LEVELS[diagnostic.severity],
        "message": {"text": " ".join(texts)},
        "locations": [{"physicalLocation": place}],
        "properties": {"pointer": diagnostic.pointer, "fixed": diagnostic.fixed},
    }

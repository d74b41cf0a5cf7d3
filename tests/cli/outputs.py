"""What a command prints with `--json`, held to its schema."""

import json
from collections.abc import Sequence
from functools import cache

import jsonschema_rs

from toolplan.cli.schema import OUTPUTS, output_schema
from toolplan.dialects import DIALECTS, known_dialect
from toolplan.plan.path import Json

_UNSTABLE = {"--accept", "--backup", "--dry-run", "--lint", "--prune", "--state"}
_FOREIGN = {name for name in DIALECTS if name != "toolplan" and known_dialect(name).json}


def problems(name: str, document: Json) -> list[str]:
    """Return where `document` is not what the command is documented to print."""
    return [
        f"{name}{error.instance_path}: {error.message}: {error.kind.as_dict()}"
        for error in _validator(name).iter_errors(document)
    ]


@cache
def _validator(name: str) -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(output_schema(name), validate_formats=True)


def hold(words: Sequence[str], code: int, out: str, err: str) -> None:
    """Compare what a command printed with its schema: its output, or the error.

    Raises:
        AssertionError: it is another form.
    """
    if not out.strip():
        document = json.loads(err.splitlines()[-1])
        assert problems("error", document) == []
        assert code != 0
    elif words[0] in OUTPUTS and not (_UNSTABLE.intersection(words) or _is_other(words)):
        assert problems(words[0], json.loads(out)) == []


def _is_other(words: Sequence[str]) -> bool:
    """Return whether a policy, or a plan of another JSON dialect, is printed."""
    dialects = _FOREIGN.intersection(words) if words[0] in ("plan", "convert") else ()
    return tuple(words[:2]) == ("policy", "init") or any(
        words[words.index(each) - 1] in ("--to", "--dialect") for each in dialects
    )

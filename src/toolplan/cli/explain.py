"""`toolplan explain CODE`."""

from __future__ import annotations

from typing import Final

from toolplan.cli._options import JsonFlag
from toolplan.cli._terminal import CommandError, Exit, out, print_json
from toolplan.diagnostics import did_you_mean, near
from toolplan.rules import RULES, SYNTAX_PAGES

PAGES: Final = {**SYNTAX_PAGES, **{rule.code: rule.page for rule in RULES}}


def explain_command(code: str | None = None, *, as_json: JsonFlag = False) -> int:
    """Say what the code of a problem means, and the way out; without CODE, list them all."""
    if code is None:
        if as_json:
            print_json({name: page.partition("\n")[0] for name, page in PAGES.items()})
        else:
            for name, page in sorted(PAGES.items()):
                summary = page.partition("\n")[0]
                out().print(f"{name:24}{summary}", soft_wrap=True)
        return Exit.FINE.value
    if code not in PAGES:
        raise CommandError(
            "unknown-code",
            f"There is no code {code!r}.",
            did_you_mean(near(code, PAGES)) or "`toolplan explain` lists them.",
        )
    if as_json:
        print_json({"code": code, "page": PAGES[code]})
    else:
        out().print(f"{code}\n\n{PAGES[code]}", soft_wrap=True)
    return Exit.FINE.value

"""`toolplan explain CODE`."""

from __future__ import annotations

from toolplan.cli.options import JsonFlag
from toolplan.cli.terminal import CommandError, Exit, out, print_json
from toolplan.diagnostics import did_you_mean, near
from toolplan.error_pages import ERROR_PAGES
from toolplan.rules import rule_pages


def explain_command(code: str | None = None, *, as_json: JsonFlag = False) -> int:
    """Explain the code of a problem or an error; without CODE, list all codes."""
    pages = {**ERROR_PAGES, **rule_pages()}
    if code is None:
        if as_json:
            print_json({name: page.partition("\n")[0] for name, page in pages.items()})
        else:
            for name, page in sorted(pages.items()):
                summary = page.partition("\n")[0]
                out().print(f"{name:24}{summary}")
        return Exit.FINE.value
    if code not in pages:
        raise CommandError(
            "unknown-code",
            f"There is no code {code!r}.",
            did_you_mean(near(code, pages)) or "`toolplan explain` lists them.",
        )
    if as_json:
        print_json({"code": code, "page": pages[code]})
    else:
        out().print(f"{code}\n\n{pages[code]}")
    return Exit.FINE.value

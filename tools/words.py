"""The words gate: the project's own old words, which no engineer of the field would search for.

Run as `python tools/words.py src docs tests README.md`. It prints each place and exits 1 if there
is any. A line that needs such a word in another sense (a test of English, a quotation) is listed in
`ALLOWED`, with what it says.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

BANNED: Final = {
    r"\b(?:re)?(?:[tT]ell|tells|telling|told)\b|_told\b|\btold_|_tell\b|\btell_": "report, show",
    r"\bway(?:s)? out\b|\bway_out\b": "help",
    r"\bmend(?:s|ed|ing)?\b|_mended\b": "fix",
    r"\b(?:g[ia]v(?:e|es|en|ing)|asks? for|asked for|without) leave\b|\bleave to run\b": "approval",
    r"\bcircles?\b|\bcircular order\b": "cycle",
    r"\bdriven\b|\bnot_driven\b|\bdrives a plan\b": "scenario, unchecked",
    r"\bmade[- _]up\b|\bMadeUp\b": "sample",
    r"\bhead[- _]start\b": "eager",
    r"\bat_once\b|--at-once\b": "concurrency",
    r"--early\b|--loop\b|--llm\b|--session\b|--done\b|--dry(?![-\w])": "the new names of options",
    r"\bladders?\b|\brungs?\b|\bstep[- _]up\b|\bsteps up\b": "fallback chain, planner, escalation",
    r"\b(?:Framer|Chainer|Deeds?|grafts?|grafted)\b": "parser, plan builder, action, insert",
    r"\b(?:Patience|Surroundings|Crossing|OpenCalls|known_settings)\b": "the table of words",
    r"\b[Nn]obody knows\b|\b[Nn]obody's\b": "it is not known",
    r"\bwhat becomes of\b|\bin earnest\b|\blet go of\b": "plain words",
    r"\bgone with\b|\bgo(?:es|ne|ing)? on with\b": "resume, continue",
    r"\bfaces for\b": "adapters",
    r"\blongest way\b": "critical path",
}
_BANNED: Final = [(re.compile(pattern), instead) for pattern, instead in BANNED.items()]
_SUFFIXES: Final = {".py", ".md", ".toml"}
ALLOWED: Final = {
    "tools/words.py": re.compile("."),
    # English that questions and summaries are written in
    "src/toolplan/summary/words.py": re.compile(r"target tell test"),
}
"""Lines that may say it: by file, what they hold."""


def breaches(path: Path) -> Iterator[str]:
    """Yield the places in the file at `path`, a line each."""
    allowed = ALLOWED.get(path.as_posix())
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        if allowed is not None and allowed.search(line):
            continue
        for pattern, instead in _BANNED:
            if found := pattern.search(line):
                yield f"{path}:{number}: {found[0]!r}: {instead}"


def files(names: list[str]) -> Iterator[Path]:
    """Yield the files that `names` are, or that stand below them."""
    for name in names:
        path = Path(name)
        found = sorted(path.rglob("*")) if path.is_dir() else [path]
        yield from (each for each in found if each.suffix in _SUFFIXES and each.is_file())


def main(names: list[str]) -> int:
    """Check the files; return the exit code."""
    found = [breach for path in files(names) for breach in breaches(path)]
    sys.stdout.writelines(f"{line}\n" for line in found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""JSON that is safe to show.

A module of its own: errors and help are printed without the libraries and classes of plans.
"""

from __future__ import annotations

import json
import re
from typing import Final

_STEERING: Final = re.compile(
    "[\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def harmless_json(text: str) -> str:
    r"""Return JSON `text` with escapes for what would steer a terminal; it reads as before.

    >>> harmless_json('"a\x9b31m\u202e"')
    '"a\\u009b31m\\u202e"'
    """
    return _STEERING.sub(lambda found: _json_escape(found[0]), text)


def _json_escape(char: str) -> str:
    return f"\\u{ord(char):04x}" if char == "\x7f" else json.dumps(char)[1:-1]

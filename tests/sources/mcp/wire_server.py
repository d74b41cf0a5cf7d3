"""A server over stdio that says what a script says, word for word: `wire_server.py SCRIPT.json`.

Only the standard library, so that it starts at once. The script is read again for each request:
`pages` (by cursor, "" for the first), `results` (by tool: a result, an `error`, or `raw`: what is
written instead, a character for each byte, with ID for the id of the request), `hello` (lines
written at the start), `exit` (the server ends at the start), `waits` (a file: nothing is answered
before it is there).
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any


def main(path: Path) -> None:
    script = _read(path)
    for line in script.get("hello", []):
        print(line, flush=True)
    if "stderr" in script:
        print(script["stderr"], file=sys.stderr, flush=True)
    if "exit" in script:
        sys.exit(script["exit"])
    while "waits" in script and not Path(script["waits"]).exists():
        time.sleep(0.01)
    for line in sys.stdin:
        _note(path, line)
        request: dict[str, Any] = json.loads(line)
        if "id" in request and "method" in request:
            _answer(request, _read(path))


def _answer(request: dict[str, Any], script: dict[str, Any]) -> None:
    params: dict[str, Any] = request.get("params") or {}
    match request["method"]:
        case "initialize":
            result: dict[str, Any] = {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {"listChanged": True}, "logging": {}},
                "serverInfo": script.get("info", {"name": "wire", "version": "1"}),
            }
        case "tools/list":
            result = script["pages"][params.get("cursor", "")]
        case "tools/call":
            result = script["results"][params["name"]]
            if "die" in result:
                os._exit(1)
            for message in result.pop("sends", []):
                token = params.get("_meta", {}).get("progressToken")
                print(json.dumps(message).replace('"TOKEN"', json.dumps(token)), flush=True)
            time.sleep(result.pop("sleep", 0))
            if "raw" in result:
                lines = result["raw"].replace("ID", str(request["id"]))
                sys.stdout.buffer.write(lines.encode("latin-1") + b"\n")
                sys.stdout.flush()
                return
            if result.pop("echo", False):
                text = json.dumps({"arguments": params["arguments"], "env": dict(os.environ)})
                result = {"content": [{"type": "text", "text": text}]}
        case _:
            result = {"error": {"code": -32601, "message": "Method not found"}}
    envelope = {"jsonrpc": "2.0", "id": request["id"]}
    reply = result if "error" in result else {"result": result}
    print(json.dumps({**envelope, **reply}), flush=True)


def _read(path: Path) -> dict[str, Any]:
    script: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return script


def _note(path: Path, line: str) -> None:
    with path.with_suffix(".log").open("a", encoding="utf-8") as log:
        log.write(line)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

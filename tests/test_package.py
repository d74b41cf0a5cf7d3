"""What is published: the source archive and the wheel, built, checked, installed and used."""

import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import httpx2
import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "packages/studio/src/toolplan_studio/static/index.html"


def run(*command: str | Path, folder: Path, home: Path | None = None) -> str:
    """Return what a command prints; fail with all of it where it fails."""
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    environment |= {
        "NO_COLOR": "1",
        "TOOLPLAN_PAGE": "0",
        **({} if home is None else {"TOOLPLAN_HOME": str(home)}),
    }
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.timeout(300)
def test_the_wheel_answers_a_question_in_a_fresh_environment(tmp_path: Path) -> None:
    dist = tmp_path / "dist"
    beside = sorted(each.parent for each in ROOT.glob("packages/*/pyproject.toml"))
    for folder in (ROOT, *beside):
        build = (sys.executable, "-m", "build", "--no-isolation", "--outdir", dist, folder)
        run(*build, folder=tmp_path)
    (wheel,), (archive,) = dist.glob("toolplan-*.whl"), dist.glob("toolplan-*.tar.gz")
    (studio,) = dist.glob("toolplan_studio-*.whl")
    wheels = sorted(dist.glob("*.whl"))
    assert len(wheels) == 1 + len(beside)

    # 1. Both are what the package index takes, and its page has no link into nowhere.
    checked = run(
        sys.executable, "-m", "twine", "check", "--strict", *sorted(dist.iterdir()), folder=tmp_path
    )
    assert checked.count("PASSED") == 2 * len(wheels)
    with zipfile.ZipFile(wheel) as inside:
        names = inside.namelist()
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        page = inside.read(metadata).decode()
    assert "](docs/" not in page
    assert "](https://" in page
    assert "toolplan/py.typed" in names
    assert not [name for name in names if name.startswith(("tests/", "benchmarks/"))]
    # the page of the studio, where it was built: `make page` comes before the tests
    with zipfile.ZipFile(studio) as inside:
        assert ("toolplan_studio/static/index.html" in inside.namelist()) == PAGE.is_file()
    with tarfile.open(archive) as packed:
        assert any(name.endswith("/tests/test_package.py") for name in packed.getnames())

    # 2. Installed with all that stand beside it, and their libraries, its command works.
    fresh = tmp_path / "fresh"
    venv.create(fresh, with_pip=False)
    python = fresh / ("Scripts" if os.name == "nt" else "bin") / "python"
    ours = ["toolplan", *(f"toolplan-{folder.name}" for folder in beside)]
    install = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet")
    run(*install, "--no-index", "--no-deps", "--find-links", dist, *ours, folder=tmp_path)
    packages = Path(
        run(
            python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", folder=tmp_path
        ).strip()
    )
    # the libraries are those of the tests, behind its own: no test reaches the package index
    libraries = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "libraries.pth").write_text("\n".join(libraries) + "\n", "utf-8")
    for module in (each.replace("-", "_") for each in ours):
        home = run(python, "-c", f"import {module}; print({module}.__file__)", folder=tmp_path)
        assert home.startswith(str(fresh))
    answer = run(
        python.with_name("toolplan"),
        "ask",
        "Get contaminated shipments from last week",
        folder=tmp_path,
        home=tmp_path / "home",
    )
    assert "shipments were found" in answer

    # 3. It serves the studio's page, where no node can be found.
    if PAGE.is_file():
        _serves_the_page(python.with_name("toolplan"), tmp_path)


def _serves_the_page(command: Path, folder: Path) -> None:
    environment = {"PATH": os.devnull, "TOOLPLAN_HOME": str(folder / "home"), "NO_COLOR": "1"}
    with subprocess.Popen(
        [command, "studio", "--no-open", "--port", "0"],
        cwd=folder,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stderr is not None
            said = ""
            while (address := re.search(r"(http://127\.0\.0\.1:\d+)/#token=", said)) is None:
                line = process.stderr.readline()
                assert line, said
                said += line
            page = httpx2.get(f"{address[1]}/").text
            assert "<title>" in page
            scripts = re.findall(r'src="\.?(/assets/[^"]+\.js)"', page)
            assert scripts
            for script in scripts:
                response = httpx2.get(address[1] + script)
                assert response.status_code == 200
                assert "javascript" in response.headers["content-type"]
        finally:
            process.terminate()

"""Results as JUnit XML, which build servers read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from toolplan.plan_tests.runner import CaseResult
from toolplan.render.printable import visible


def junit(results: Sequence[tuple[Path, CaseResult]]) -> str:
    """Return the results, each with its file, as JUnit XML."""
    root = ElementTree.Element("testsuites", _counts([result for _, result in results]))
    for path in dict.fromkeys(path for path, _ in results):
        own = [result for each, result in results if each == path]
        suite = ElementTree.SubElement(
            root, "testsuite", {"name": visible(str(path)), **_counts(own)}
        )
        for result in own:
            case = ElementTree.SubElement(
                suite,
                "testcase",
                classname=visible(path.stem),
                name=visible(result.case.question),
                time=f"{result.seconds:.3f}",
            )
            if not result.succeeded:
                said = next(each for each in result.problems if each)
                failure = ElementTree.SubElement(
                    case,
                    "failure",
                    message=f"{result.passed} of {len(result.problems)} plans as expected",
                )
                failure.text = "\n".join(visible(line) for line in "\n".join(said).splitlines())
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _counts(results: Sequence[CaseResult]) -> dict[str, str]:
    return {
        "tests": str(len(results)),
        "failures": str(sum(not each.succeeded for each in results)),
        "errors": "0",
        "time": f"{sum(each.seconds for each in results):.3f}",
    }

"""From text to a plan that may run: read it, check it, apply safe fixes, check again."""

from toolplan.compiler._compile import (
    MAX_ROUNDS,
    Compiled,
    Fixed,
    PlanText,
    Tools,
    about_question,
    check,
    compile_plan,
    examine,
    fix,
    flows_of,
    output_schemas,
    parse,
    text_of,
    to_text,
    toolbox,
)
from toolplan.compiler._save import fixed_text
from toolplan.compiler._stream import CompileStream, compile_stream

__all__ = [
    "MAX_ROUNDS",
    "CompileStream",
    "Compiled",
    "Fixed",
    "PlanText",
    "Tools",
    "about_question",
    "check",
    "compile_plan",
    "compile_stream",
    "examine",
    "fix",
    "fixed_text",
    "flows_of",
    "output_schemas",
    "parse",
    "text_of",
    "to_text",
    "toolbox",
]

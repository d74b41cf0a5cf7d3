"""From text to a plan that may run: parse, check, mend what is safe to mend, check again."""

from toolplan.compiler._compile import (
    MAX_ROUNDS,
    Compiled,
    Examined,
    Fixed,
    Tools,
    check,
    compile_plan,
    examine,
    mend,
    output_schemas,
    parse,
    to_text,
    toolbox,
)
from toolplan.compiler._stream import CompileStream, compile_stream

__all__ = [
    "MAX_ROUNDS",
    "CompileStream",
    "Compiled",
    "Examined",
    "Fixed",
    "Tools",
    "check",
    "compile_plan",
    "compile_stream",
    "examine",
    "mend",
    "output_schemas",
    "parse",
    "to_text",
    "toolbox",
]

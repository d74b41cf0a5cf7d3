"""From text to a plan that may run: read it, check it, apply safe fixes, check again."""

from toolplan.compiler._compile import MAX_ROUNDS as MAX_ROUNDS
from toolplan.compiler._compile import Compiled as Compiled
from toolplan.compiler._compile import Fixed as Fixed
from toolplan.compiler._compile import PlanText as PlanText
from toolplan.compiler._compile import Tools as Tools
from toolplan.compiler._compile import about_question as about_question
from toolplan.compiler._compile import check as check
from toolplan.compiler._compile import compile_plan as compile_plan
from toolplan.compiler._compile import examine as examine
from toolplan.compiler._compile import fix as fix
from toolplan.compiler._compile import flows_of as flows_of
from toolplan.compiler._compile import output_schemas as output_schemas
from toolplan.compiler._compile import parse as parse
from toolplan.compiler._compile import text_of as text_of
from toolplan.compiler._compile import to_text as to_text
from toolplan.compiler._compile import toolbox as toolbox
from toolplan.compiler._save import fixed_text as fixed_text
from toolplan.compiler._stream import CompileStream as CompileStream
from toolplan.compiler._stream import compile_stream as compile_stream

"""JSON Schema read as types.

`Schema.load` reads a schema from outside and refuses harmful ones. `at` follows a path through it,
as `plan.path.select` does through a value. `assignable` says whether values of one schema fit
another; where nothing is declared, the verdict is `UNKNOWN`.
"""

from toolplan.schema._document import ALL_TYPES as ALL_TYPES
from toolplan.schema._document import ANNOTATIONS as ANNOTATIONS
from toolplan.schema._document import APPLIES as APPLIES
from toolplan.schema._document import JsonType as JsonType
from toolplan.schema._document import SchemaError as SchemaError
from toolplan.schema._document import flat as flat
from toolplan.schema._document import sub_schemas as sub_schemas
from toolplan.schema._document import tool_version as tool_version
from toolplan.schema._document import tool_without_words as tool_without_words
from toolplan.schema._document import types_stated as types_stated
from toolplan.schema._document import value_types as value_types
from toolplan.schema._example import NoExample as NoExample
from toolplan.schema._idle import idle_keywords as idle_keywords
from toolplan.schema._schema import Absent as Absent
from toolplan.schema._schema import Schema as Schema
from toolplan.schema._schema import Violation as Violation
from toolplan.schema._types import Verdict as Verdict
from toolplan.schema._types import accepted as accepted
from toolplan.schema._types import assignable as assignable
from toolplan.schema._types import at as at
from toolplan.schema._types import describe as describe
from toolplan.schema._types import elements as elements
from toolplan.schema._types import required as required
from toolplan.schema._types import types_of as types_of
from toolplan.schema._types import undecided as undecided
from toolplan.schema._types import without_null as without_null

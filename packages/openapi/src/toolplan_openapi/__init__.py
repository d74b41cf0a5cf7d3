"""Tools from an OpenAPI document, 3.0 or 3.1: each operation is one tool.

`openapi_toolbox` gives the tools, `read_openapi` only their declarations in the document, and
`read_document` reads the text of a document. Nothing but the calls themselves opens a connection.
"""

from toolplan_openapi._addresses import Guard, HostBlocked, Origin, Resolve
from toolplan_openapi._document import Fault, RemoteReference, read_document
from toolplan_openapi._http import ClientCredentials, Request, Response, Transport
from toolplan_openapi._operations import Operation, Operations, read_openapi
from toolplan_openapi._transport import HttpLimits, HttpTransport
from toolplan_openapi.opening import OpenApiToolbox, openapi_toolbox

__all__ = [
    "ClientCredentials",
    "Fault",
    "Guard",
    "HostBlocked",
    "HttpLimits",
    "HttpTransport",
    "OpenApiToolbox",
    "Operation",
    "Operations",
    "Origin",
    "RemoteReference",
    "Request",
    "Resolve",
    "Response",
    "Transport",
    "openapi_toolbox",
    "read_document",
    "read_openapi",
]

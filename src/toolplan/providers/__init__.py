"""Models: requests to them and their replies. A truncated reply is never taken as whole."""

from toolplan.providers._base import Ended as Ended
from toolplan.providers._base import Message as Message
from toolplan.providers._base import Model as Model
from toolplan.providers._base import ModelCall as ModelCall
from toolplan.providers._base import ModelError as ModelError
from toolplan.providers._base import ModelRequest as ModelRequest
from toolplan.providers._base import Piece as Piece
from toolplan.providers._base import Reply as Reply
from toolplan.providers._base import Restarted as Restarted
from toolplan.providers._base import Text as Text
from toolplan.providers._base import Usage as Usage
from toolplan.providers._base import UsageTracker as UsageTracker
from toolplan.providers._base import complete as complete
from toolplan.providers._base import total as total
from toolplan.providers._chain import ConfiguredModel as ConfiguredModel
from toolplan.providers._chain import configured_models as configured_models
from toolplan.providers._chain import open_model as open_model
from toolplan.providers._endpoint import Answered as Answered
from toolplan.providers._endpoint import CallFailed as CallFailed
from toolplan.providers._endpoint import Endpoint as Endpoint
from toolplan.providers._endpoint import Failure as Failure
from toolplan.providers._endpoint import Manner as Manner
from toolplan.providers._endpoint import OpensEndpoint as OpensEndpoint
from toolplan.providers._endpoint import Part as Part
from toolplan.providers._endpoint import Spec as Spec
from toolplan.providers._requests import SETTABLE as SETTABLE

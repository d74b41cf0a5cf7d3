"""Pages of lists: the tools that give their list in pages, and facts in a page about the rest."""

from toolplan.schema.paging._arguments import Paging as Paging
from toolplan.schema.paging._arguments import may_give_pages as may_give_pages
from toolplan.schema.paging._arguments import paging_of as paging_of
from toolplan.schema.paging._pager import PageError as PageError
from toolplan.schema.paging._pager import Pager as Pager
from toolplan.schema.paging._results import Verdict as Verdict
from toolplan.schema.paging._results import begins_later as begins_later
from toolplan.schema.paging._results import next_link as next_link
from toolplan.schema.paging._results import page_of as page_of
from toolplan.schema.paging._results import verdict_on as verdict_on
from toolplan.schema.paging._signs import part_of as part_of

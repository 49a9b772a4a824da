from ._definition import stored as stored
from ._operations import ViewsWrapper as ViewsWrapper
from ._requests import chunker as chunker
from ._requests import query_view as query_view
from ._requests import udtf as udtf

"""What went wrong, in one line: Spark wraps the error of a task, or of a statement, into pages of Java."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import lance_namespace
from lance_namespace import InternalError, InvalidInputError, LanceNamespaceError

from lancespace.authoring import public as checked
from lancespace.authoring import translate
from lancespace_jobs import JobFailedError

Given = ParamSpec("Given")
Answer = TypeVar("Answer")

_TRACE = "Traceback (most recent call last):"
_RAISED = re.compile(r"^(?:[A-Za-z_]\w*\.)*([A-Za-z_]\w*)(?:: (.*))?$")
"""The line of a trace that names the error, which is not indented as the others are."""
_JOB = re.compile(r"the job \w+ \(.*?\): (\w+): (.*)", re.DOTALL)
_STATE = re.compile(r"\s*SQLSTATE: \w+")
_SPARKS = frozenset({"pyspark", "py4j"})
_RAISED_BY_SQL = re.compile(r"\[USER_RAISED_EXCEPTION\] (.*)")
"""What an expression raises, as those do that check the keys of an upsert; it may be deep in pages of Java."""
_OF_STATEMENTS = frozenset({"AnalysisException", "ParseException"})


def public(function: Callable[Given, Answer]) -> Callable[Given, Answer]:
    """As :func:`lancespace.authoring.public`, also for what Spark raises."""

    @functools.wraps(function)
    def call(*args: Given.args, **kwargs: Given.kwargs) -> Answer:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            if type(error).__module__.partition(".")[0] not in _SPARKS:
                raise
            raise cause(error) from error

    return checked(call)


def cause(error: BaseException, otherwise: type[LanceNamespaceError] = InternalError) -> LanceNamespaceError:
    """The error that a task, a job or Spark's analysis failed with; the caller raises it ``from`` the given one.

    Args:
        error: What was caught.
        otherwise: The class for an error of Python that the spec has no class for.
    """
    if isinstance(error, JobFailedError):
        told = _JOB.fullmatch(str(error))
        return error if told is None else _known(told[1], told[2]) or error
    if isinstance(error, LanceNamespaceError):
        return error
    if type(error).__module__.partition(".")[0] not in _SPARKS:
        return translate(error)
    raised = _raised(str(error))
    if raised is not None:
        return _known(*raised) or otherwise(": ".join(filter(None, raised)))
    by_sql = _RAISED_BY_SQL.search(str(error))
    if by_sql is not None:
        return InvalidInputError(_first_line(by_sql[1]))
    kind = InvalidInputError if type(error).__name__ in _OF_STATEMENTS else InternalError
    return kind(_first_line(str(error)))


def _raised(text: str) -> tuple[str, str] | None:
    """The class and the message of the error that Python's last trace ends with."""
    _, found, trace = text.rpartition(_TRACE)
    lines = (_RAISED.match(line) for line in trace.splitlines()) if found else iter(())
    return next(((line[1], line[2] or "") for line in lines if line is not None), None)


def _known(name: str, message: str) -> LanceNamespaceError | None:
    kind = getattr(lance_namespace, name, None)
    is_spec = isinstance(kind, type) and issubclass(kind, LanceNamespaceError)
    return kind(message) if is_spec and kind is not None else None


def _first_line(text: str) -> str:
    return _STATE.sub("", text.strip().partition("\n")[0]).rstrip(";, ")

"""Errors of functions that a study brings: its metrics, predicates, and those that process recordings."""

from __future__ import annotations

import traceback
from contextlib import contextmanager
from typing import TYPE_CHECKING

from quiclab.errors import QuiclabError, RequestError

if TYPE_CHECKING:
    from collections.abc import Iterator


class OwnCodeError(QuiclabError):
    """A function of a study has failed."""


@contextmanager
def own_code(what: str) -> Iterator[None]:
    """Turn an exception in a function of a study into an error of one line.

    Parameters
    ----------
    what
        The function and its input, such as "metric `goodput_mbps`, seed 1".

    Raises
    ------
    QuiclabError
        With the exception, and the line of the function that raised it. Errors of quiclab itself pass; those about a
        request, such as a setting that does not exist, say what made it.
    """
    try:
        yield
    except RequestError as error:
        raise RequestError(f"{what}: {error.message}", path=error.path, kind=error.kind) from error
    except QuiclabError:
        raise
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        message = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise OwnCodeError(f"{what}: {message} ({place.filename}:{place.lineno}); stored runs are kept") from error

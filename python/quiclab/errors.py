"""Errors that reach the user: one sentence and the exit code of the command line."""

from __future__ import annotations


class QuiclabError(Exception):
    """Something the user should read.

    Parameters
    ----------
    sentence
        What is wrong, in one sentence without a traceback.
    exit_code
        1: something failed or is incomplete; 2: the request was wrong.
    """

    def __init__(self, sentence: str, exit_code: int = 1) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.exit_code = exit_code


class RequestError(QuiclabError):
    """The request was wrong: exit code 2."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence, exit_code=2)


class ScenarioError(RequestError):
    """A scenario is wrong.

    Parameters
    ----------
    sentence
        File, line, field, what was expected and what was found, in one sentence.
    path
        The field, with dots between its steps, such as `links.down1.rate`.
    kind
        `Syntax`, `UnknownField`, `MissingField`, `WrongType`, `OutOfRange`, `UnknownName`, `Conflict` or
        `Unsupported`.
    expected
        What the field takes, in words.
    rendered
        The sentence with the line of the file and the place marked, as compilers show it.
    """

    def __init__(self, sentence: str, path: str, kind: str, expected: str, rendered: str) -> None:
        super().__init__(sentence)
        self.path = path
        self.kind = kind
        self.expected = expected
        self.rendered = rendered

    @classmethod
    def of(cls, error: Exception) -> ScenarioError:
        """Return the error for an exception of the engine."""
        path, kind, expected, rendered = (getattr(error, name) for name in ("path", "kind", "expected", "rendered"))
        return cls(str(error), path, kind, expected, rendered)

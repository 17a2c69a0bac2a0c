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

"""Errors a caller can catch. Each says on one line what is wrong and on another what to do next."""

from __future__ import annotations


class MigrationError(Exception):
    """Base of all. ``remedy`` is the next step; ``exit_code`` is the command line's."""

    exit_code = 1

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.remedy = remedy


class ReadError(MigrationError):
    """A file or folder cannot be read."""


class WriteError(MigrationError):
    """The result cannot be written, or what was written does not read back the same."""


class Unavailable(MigrationError):
    """A service on the network cannot be asked, or does not answer as it should."""


class UsageError(MigrationError):
    """The request itself cannot be met: an option out of range, a folder that must be named."""

    exit_code = 2


class FormatError(MigrationError):
    """No reader recognises the format."""

    exit_code = 2


class NotFound(MigrationError):
    """No such session, model, agent or id."""

    exit_code = 3


class Ambiguous(NotFound):
    """The name fits more than one."""


class NoConversation(NotFound):
    """The file is a session's, but holds no conversation."""


class UnknownModel(NotFound):
    """No window is known for the model; ``near`` holds known ids that look like it."""

    def __init__(self, message: str, remedy: str = "", near: tuple[str, ...] = ()) -> None:
        super().__init__(message, remedy)
        self.near = near


class Refused(MigrationError):
    """It could be done and would do harm: it does not fit, it would overwrite, it went on since."""

    exit_code = 4

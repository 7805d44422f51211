"""Every error that this package raises on purpose; each message says what was wrong and what to do."""

from __future__ import annotations


class PyramidError(Exception):
    """Base of all errors below."""


class UnknownGameError(PyramidError, ValueError):
    """No game has this name; the message lists those that exist."""


class OptionError(PyramidError, ValueError):
    """A game's option is unknown or has a value that the rules do not allow."""


class IllegalActionError(PyramidError, ValueError):
    """An action or a chance outcome that the position does not allow; the row is untouched."""


class ActionNameError(PyramidError, ValueError):
    """A text that names no action of the game."""


class PositionError(PyramidError, ValueError):
    """A position that cannot arise, or a dict that is no position; the message names the fault."""


class AgentError(PyramidError, ValueError):
    """An agent that does not exist, or that cannot play this game."""


class CheckpointError(PyramidError, ValueError):
    """A checkpoint that is missing, damaged, or made for something else."""


class SolutionError(PyramidError, OSError):
    """A solved game's table that cannot be written or read, or that is damaged or made for something else."""


class RecordError(PyramidError, ValueError):
    """A recorded game that cannot be written or read, is damaged, or belongs to another version of the rules."""


class PlayError(PyramidError, ValueError):
    """What a person at a game wants and cannot have, with the reason."""


class MissingExtraError(PyramidError, ImportError):
    """A feature needs packages that are not installed; the message names the extra to install."""

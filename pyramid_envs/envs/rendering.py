"""What the environments show when they are asked to render: the same modes everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import logger
from numpy.typing import NDArray

from pyramid_envs.game import Game, Row
from pyramid_envs.render.window import Window

RENDER_MODES = ["ansi", "rgb_array", "svg", "human"]
MANY_RENDER_MODES = RENDER_MODES[:-1]  # of environments of many games, for which one window would not do
RENDER_FPS = 2
Picture = str | NDArray[np.uint8]


class Renderer:
    """Shows positions of a game in one mode.

    ``ansi`` is the game's text, ``svg`` the text of an SVG document, ``rgb_array`` an image, uint8[H, W, 3] with 640 pixels on
    its larger side, ``human`` a window on the screen. The last two need the extra ``[render]``.

    Args:
        game: the game.
        mode: one of `modes`, or None: `picture` only warns.
        modes: those that the environment allows.

    Raises:
        ValueError: for another mode.
    """

    def __init__(self, game: Game, mode: str | None, modes: Sequence[str] = RENDER_MODES) -> None:
        if mode is not None and mode not in modes:
            raise ValueError(f"render_mode is one of {', '.join(modes)} or None, not {mode!r}")
        self.game, self.mode, self.modes = game, mode, modes
        self._window = Window(game.title)

    def picture(self, row: Row, seat: int | None, last: tuple[Row, int] | None, fps: float | None = None) -> Picture | None:
        """The position as a seat sees it, None: all of it; nothing where it goes to the window, which keeps to `fps`."""
        match self.mode:
            case "ansi":
                return self.game.text(row, seat)
            case "svg":
                return str(self.game.svg(row, seat, last))
            case "rgb_array":
                return self.game.image(row, seat, last)
            case "human":
                self._window.show(self.game.canvas(row, seat, last), fps)
                return None
        logger.warn(f"render() shows nothing: make the environment with render_mode={' or '.join(map(repr, self.modes))}")
        return None

    def close(self) -> None:
        """Close the window; may be called at any time, repeatedly."""
        self._window.close()

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy has no window until it shows something."""
        return Renderer, (self.game, self.mode, self.modes)

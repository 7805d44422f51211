"""The picture of a game that has no drawing of its own: its text, and a button for every legal action."""

from __future__ import annotations

from collections.abc import Sequence

from pyramid_envs.render.canvas import Canvas
from pyramid_envs.render.svg import MONO_ADVANCE

SIZE = (960.0, 720.0)
_MARGIN, _LARGEST = 24.0, 22.0


def draw_words(canvas: Canvas, lines: Sequence[str], buttons: Sequence[tuple[str, str]], last: str | None) -> None:
    """The lines in letters of one width, above them what was done last, below them the buttons: (key, name) of each."""
    top = _MARGIN
    if last is not None:
        canvas.text(_MARGIN, top + 10, last, 19, canvas.theme.accent, anchor="start", bold=True)
        top += 40
    room = (canvas.height - _MARGIN - top) * (0.55 if buttons else 1.0)
    longest = max((len(line) for line in lines), default=1) or 1
    size = min(_LARGEST, room / (1.35 * max(1, len(lines))), (canvas.width - 2 * _MARGIN) / (MONO_ADVANCE * longest))
    for number, line in enumerate(lines):
        canvas.text(_MARGIN, top + size * (0.7 + 1.35 * number), line, size, anchor="start", mono=True)
    if buttons:
        _grid(canvas, buttons, top + room + 10)


def _grid(canvas: Canvas, buttons: Sequence[tuple[str, str]], top: float) -> None:
    """The buttons in rows, made as small as their number needs."""
    width, height = canvas.width - 2 * _MARGIN, canvas.height - _MARGIN - top
    longest = max(len(name) for _, name in buttons)
    size = 20.0
    while True:
        wide, high = 0.62 * size * longest + 1.6 * size, 2.2 * size
        columns = max(1, int(width / wide))
        if columns * int(height / high) >= len(buttons) or size < 2:
            break
        size *= 0.93
    for number, (key, name) in enumerate(buttons):
        line, column = divmod(number, columns)
        canvas.button(key, _MARGIN + column * wide, top + line * high, 0.92 * wide, 0.85 * high, name, size)

"""Pictures of a game's course: a picture for each position, as SVG files or as a film."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyramid_envs.errors import MissingExtraError, RecordError
from pyramid_envs.game import Row
from pyramid_envs.play.record import Course

FILMS = (".gif", ".mp4")


def last_of(course: Course, ply: int) -> tuple[Row, int] | None:
    """The action that led to a position, with the position before it."""
    return (course.rows[ply - 1], course.actions[ply - 1]) if ply else None


def write_svgs(course: Course, folder: str | Path, seat: int | None = None, theme: str = "light") -> list[Path]:
    """An SVG file for each position, 0000.svg and so on.

    Raises:
        RecordError: if they cannot be written.
    """
    written = []
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        for ply, row in enumerate(course.rows):
            written.append(Path(folder) / f"{ply:04}.svg")
            written[-1].write_text(course.game.svg(row, seat, last_of(course, ply), theme), encoding="utf-8")
    except OSError as error:
        raise RecordError(f"{folder} cannot be written to: {error}") from None
    return written


def write_film(
    course: Course, path: str | Path, seat: int | None = None, theme: str = "light", size: int = 720, seconds: float = 1.0
) -> None:
    """A GIF or MP4 with a picture for each position.

    Args:
        course: the game.
        path: the file, which ends in .gif or .mp4.
        seat: whose view is shown; None: everything.
        theme: light or dark.
        size: of the longer side, in pixels.
        seconds: how long each position is shown.

    Raises:
        RecordError: if it cannot be written.
        MissingExtraError: if the packages for it are not installed.
    """
    if Path(path).suffix.lower() not in FILMS:
        raise RecordError(f"a film is a file that ends in {' or '.join(FILMS)}, not {path}")
    try:
        import imageio.v2 as imageio
    except ImportError as error:
        raise MissingExtraError(f'films need imageio: pip install "pyramid-envs[play]" ({error})') from error
    gif = Path(path).suffix.lower() == ".gif"
    # An MP4 has ten frames a second, for players that do not like slow films.
    film: Any
    manner: dict[str, Any] = {"duration": 1000 * seconds, "loop": 0} if gif else {"fps": 10, "macro_block_size": 2}
    repeats = 1 if gif else max(1, round(10 * seconds))
    try:
        with imageio.get_writer(path, **manner) as film:
            for frame in frames(course, seat, theme, size):
                for _ in range(repeats):
                    film.append_data(frame)
    except OSError as error:
        raise RecordError(f"{path} cannot be written: {error}") from None


def frames(course: Course, seat: int | None, theme: str, size: int) -> Iterator[Any]:
    """uint8[H, W, 3] for each position."""
    for ply, row in enumerate(course.rows):
        yield course.game.image(row, seat, last_of(course, ply), theme, size)

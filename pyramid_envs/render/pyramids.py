"""Pyramids, drawn in space: seen from a little above and a little from the right, so that their lie is unmistakable.

A size is 0, 1 or 2 for small, medium and large, and has as many pips. Lengths are inches times `unit`; the origin of a symbol is
the middle of the ground that the piece stands or lies on.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pyramid_envs.render.canvas import Pen, Point, Symbol, Theme, ink_on, mix, symbol

BASES = (9 / 16, 25 / 32, 1.0)  # widths in inches, small to large
HEIGHTS = (1.0, 1.375, 1.75)
LEFT, UP, RIGHT = range(3)

_YAW, _TILT = math.radians(24), math.radians(14)  # of the eye
_LIGHT = np.array([-0.52, -0.62, 0.59])
# Corners of a standing pyramid of base 1 and height 1: front left, front right, back right, back left, top. The eye is in front.
_CORNERS = np.array([[-0.5, -0.5, 0], [0.5, -0.5, 0], [0.5, 0.5, 0], [-0.5, 0.5, 0], [0, 0, 1]])
_SIDES = ((0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4))  # front, right, back, left, seen from outside counterclockwise
_BASE = (3, 2, 1, 0)


def _solid(size: int, direction: int) -> NDArray[np.float64]:
    """float64[5, 3]: the corners of a piece that stands or lies on the ground, x to the right, y away, z up."""
    corners = _CORNERS * [BASES[size], BASES[size], HEIGHTS[size]]
    if direction != UP:
        # It lies on a side: its axis falls by half the angle at the top.
        fall = math.atan2(BASES[size] / 2, HEIGHTS[size])
        ahead = -1 if direction == LEFT else 1
        angle = ahead * (math.pi / 2 + fall)
        x, z = corners[:, 0].copy(), corners[:, 2].copy()
        corners[:, 0] = x * math.cos(angle) + z * math.sin(angle)
        corners[:, 2] = z * math.cos(angle) - x * math.sin(angle)
        corners[:, 0] -= (corners[:, 0].min() + corners[:, 0].max()) / 2
    corners[:, 2] -= corners[:, 2].min()
    return corners


def _seen(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """float64[.., 2]: where points in space appear."""
    x, y, z = points[..., 0], points[..., 1], points[..., 2]
    across = x * math.cos(_YAW) - y * math.sin(_YAW)
    away = x * math.sin(_YAW) + y * math.cos(_YAW)
    return np.stack([across, -z * math.cos(_TILT) - away * math.sin(_TILT)], axis=-1)


@lru_cache(16)
def reach(size: int, direction: int) -> tuple[float, float]:
    """How far a piece is seen to reach to the left and to the right of its origin, in inches."""
    across = _seen(_solid(size, direction))[:, 0]
    return -float(across.min()), float(across.max())


def rise(lower: int, upper: int, compact: bool = False) -> float:
    """How far a standing piece is drawn above the one below it, in inches; `compact` for the low feet of high stacks.

    A smaller piece sits on the point of a larger one, as it does in truth. A larger one would hide a smaller one wholly, so it is
    drawn higher: the foot of a piece, with its pips, is always in sight.
    """
    least, tip = (0.33, 0.06) if compact else (0.5, 0.31)
    return max(least, HEIGHTS[lower] - HEIGHTS[upper] + tip)


@lru_cache(4096)
def pyramid(theme: Theme, size: int, direction: int, colour: str, label: str, unit: float, compact: bool = False) -> Symbol:
    """A piece with its pips and a letter above them, or beside them if `compact`."""
    corners = _solid(size, direction)
    flat = _seen(corners) * unit
    edge = max(0.8, 0.022 * unit)
    outline = mix(colour, "#000000", 0.6)

    def draw(pen: Pen) -> None:
        for side in (_BASE, *_SIDES):
            face = flat[list(side)]
            if _turn(face) < 0:
                normal = _normal(corners[list(side)])
                light = float(normal @ _LIGHT) - 0.62
                shade = mix(colour, "#ffffff", 0.9 * light) if light > 0 else mix(colour, "#000000", -0.45 * light)
                if side == _BASE:
                    shade = mix(colour, "#000000", 0.35)
                pen.polygon(_points(face), shade, outline, edge)
                if side == _BASE:  # it is hollow
                    pen.polygon(_points(face.mean(axis=0) + 0.72 * (face - face.mean(axis=0))), mix(colour, "#000000", 0.68))
        _mark(pen, corners, size, direction, colour, label, unit, compact)

    return symbol(theme, draw)


def _mark(
    pen: Pen,
    corners: NDArray[np.float64],
    size: int,
    direction: int,
    colour: str,
    label: str,
    unit: float,
    compact: bool,
) -> None:
    """Pips along the base of the front face, and the letter."""
    ink = ink_on(colour)
    left, right, top = corners[0], corners[1], corners[4]
    middle = (left + right) / 2
    along = (right - left) / BASES[size]
    up = (top - middle) / np.linalg.norm(top - middle)
    apart, beside, height, letter = (0.13, 0.16, 0.155, 0.0) if compact and label else (0.15, 0.0, 0.11, 0.21)
    for pip in range(size + 1):
        at = _seen(middle + along * (apart * (pip - size / 2) + beside * 0.62) + up * height) * unit
        pen.circle(float(at[0]), float(at[1]), 0.05 * unit, ink)
    if label:
        if direction != UP:
            letter = 0.26
        sideways = -beside * 0.38 - (apart * size / 2 + 0.07 if beside else 0)
        at = _seen(middle + along * sideways + up * (height + letter)) * unit
        pen.text(float(at[0]), float(at[1]), label, (0.25 if beside else 0.28) * unit, ink, bold=True)


@lru_cache(1024)
def silhouette(size: int, direction: int, unit: float) -> tuple[Point, ...]:
    """The outline of a piece, to be drawn around it."""
    points = sorted(_points(_seen(_solid(size, direction)) * unit))
    hull: list[Point] = []
    for half in (points, points[::-1]):
        begin = len(hull)
        for x, y in half:
            while len(hull) - begin > 1 and _turn(np.array([hull[-2], hull[-1], (x, y)])) <= 0:
                hull.pop()
            hull.append((x, y))
        hull.pop()
    return tuple(hull)


def _points(array: NDArray[np.float64]) -> list[Point]:
    return [(round(float(x), 3), round(float(y), 3)) for x, y in array]


def _turn(face: NDArray[np.float64]) -> float:
    """Twice the area of a polygon, positive if it runs clockwise as seen (y is downwards)."""
    x, y = face[:, 0], face[:, 1]
    return float(np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y))


def _normal(face: NDArray[np.float64]) -> NDArray[np.float64]:
    normal = np.cross(face[1] - face[0], face[2] - face[0])
    return normal / np.linalg.norm(normal)

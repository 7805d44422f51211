"""Pictures of positions: a canvas of shapes, as SVG text and as an image.

A game's ``draw.py`` puts shapes on a `canvas.Canvas`; `svg` and `raster` turn any canvas into text and pixels, knowing nothing of
games. Only `raster` and `window` need pygame, and they load it when they are first used.
"""

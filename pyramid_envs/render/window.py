"""A window on the screen that shows pictures one after the other."""

from __future__ import annotations

from pyramid_envs.render.canvas import Canvas
from pyramid_envs.render.raster import load_pygame, to_surface

SIZE = 960  # the larger side


class Window:
    """Opened by the first picture; once a person closes it, it stays closed until `close` has been called."""

    def __init__(self, title: str) -> None:
        self.title = title
        self._open = self._dismissed = False

    def show(self, canvas: Canvas, fps: float | None) -> None:
        """Show a picture; with `fps`, wait then for as long as it takes to show no more than so many a second."""
        pygame = load_pygame()
        if self._dismissed:
            return
        picture = to_surface(canvas, SIZE)
        if not self._open:
            pygame.display.init()
            pygame.display.set_mode(picture.get_size())
            pygame.display.set_caption(self.title)
            self._open, self._clock = True, pygame.time.Clock()
        if pygame.event.get(pygame.QUIT):
            self.close()
            self._dismissed = True
            return
        pygame.event.pump()
        pygame.display.get_surface().blit(picture, (0, 0))
        pygame.display.flip()
        if fps is not None:
            self._clock.tick(fps)

    def close(self) -> None:
        """Close the window, if it is open."""
        if self._open:
            load_pygame().display.quit()
        self._open = self._dismissed = False

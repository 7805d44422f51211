"""One folder a game; each package's docstring is the game's manual page."""

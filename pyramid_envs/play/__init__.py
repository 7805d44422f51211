"""Playing games as people do, in the terminal or in the browser, and keeping them: `python -m pyramid_envs.play`.

Loading this package loads no web library; `pyramid_envs.play.web` does.
"""

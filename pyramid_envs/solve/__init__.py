"""Games solved exactly: `python -m pyramid_envs.solve --help`."""

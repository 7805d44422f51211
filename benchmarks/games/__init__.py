"""Games that others have too, on our core, for comparison; they are no part of the package."""

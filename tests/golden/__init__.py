"""Golden playthroughs: one whole game of every kind, written down to be read by people and compared by a test."""

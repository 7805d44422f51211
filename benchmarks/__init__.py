"""What the project claims of its speed, as commands that anyone can run."""

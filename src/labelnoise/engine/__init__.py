"""The training loop and the ways to execute a step; it knows no method by name."""

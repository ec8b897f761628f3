"""Learning when the training labels are partly wrong."""

__version__ = "0.1.0"

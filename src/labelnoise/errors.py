"""The one exception for what a person can mend: its message is a sentence, and the command ends with code 2."""


class InputError(ValueError):
    """Something given from outside is wrong; the message says what, where, and what to do."""

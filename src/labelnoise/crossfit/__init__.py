"""Networks that take turns in leaving rows aside, so that each row is judged by one that has not learnt from it."""

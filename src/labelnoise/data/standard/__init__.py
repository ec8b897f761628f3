"""The standard data sets of the field: their official files, checked, and the cache they are converted to."""

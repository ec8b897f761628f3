"""Wrong labels as people decide about them: the page, its corrections, and cleaned data."""

"""How fast this machine trains: rows of figures from one run, each beside what a plain loop does."""

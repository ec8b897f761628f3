"""Tables of papers trained anew: which runs they need, and what came out beside what was published."""

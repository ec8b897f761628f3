"""Which labels are wrong, how many, and how sure that is."""

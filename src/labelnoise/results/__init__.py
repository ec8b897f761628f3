"""Records of runs, the folder that holds them, and the rules that pick an epoch from them."""

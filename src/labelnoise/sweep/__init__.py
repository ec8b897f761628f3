"""Many runs: configs into packs, packs into records."""

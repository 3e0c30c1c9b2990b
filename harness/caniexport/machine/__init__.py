"""What this machine has and runs: Pythons, disk, processes."""

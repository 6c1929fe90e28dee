"""Design of the motion to record next."""

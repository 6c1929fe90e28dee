"""Run each command with the options that its module in ``commands`` has read."""

"""MuJoCo's coordinates of any model: their order, dimensions and addresses."""

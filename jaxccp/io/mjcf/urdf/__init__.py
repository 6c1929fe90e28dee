"""URDF files as MuJoCo's compiler reads them."""

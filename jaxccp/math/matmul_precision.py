"""Matrix products of float32 numbers in float32, on every device.

By default XLA multiplies float32 matrices with 11 bits on GPUs (TF32) and with 8 on TPUs
(bfloat16). That suffices for layers of a neural network, but a position 1 m from the origin may
have an error of half a millimetre, or of four.
"""

import jax

OPTION = "jax_default_matmul_precision"


def keep_all_digits() -> None:
    """Set JAX's default precision of matrix products to "highest", unless the user has set it."""
    if getattr(jax.config, OPTION) is None:
        jax.config.update(OPTION, "highest")

"""Products of single-precision numbers in single precision, on every device.

XLA multiplies matrices of float32 with 11 bits on GPUs (TF32) and with 8 on TPUs (bfloat16) unless
told otherwise. That is enough for layers of a network, but a place 1 m from the origin may be off
by half a millimetre, or by four.
"""

import jax

OPTION = "jax_default_matmul_precision"


def keep_all_digits() -> None:
    """Set JAX's default precision of matrix products to "highest", unless the user has set it."""
    if getattr(jax.config, OPTION) is None:
        jax.config.update(OPTION, "highest")

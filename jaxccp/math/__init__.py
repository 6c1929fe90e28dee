"""Quaternions, guarded norms, tangent frames and other mathematics without bodies or contacts."""

from jaxccp.math.matmul_precision import keep_all_digits

keep_all_digits()

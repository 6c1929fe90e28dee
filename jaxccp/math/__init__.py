"""Quaternions, guarded norms and tangent frames; knows nothing of bodies or contacts."""

from jaxccp.math.products import keep_all_digits

keep_all_digits()

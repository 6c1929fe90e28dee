"""Methods that algorithms are made of: interior points, boxed LCPs, proximal steps, momentum."""

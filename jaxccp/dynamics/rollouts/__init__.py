"""Rollouts of many steps: plain, adaptive and batched, with the capacity that contacts need."""

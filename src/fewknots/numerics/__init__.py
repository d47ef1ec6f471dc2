"""Numerical primitives: exp, log Φ, quadrature, linear algebra, dtype and device."""

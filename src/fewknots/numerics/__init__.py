"""Numbers: exp, log Φ, quadrature, linear algebra; arithmetic type and device they run on."""

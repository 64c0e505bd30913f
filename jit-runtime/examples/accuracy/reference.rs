//! Error function and gamma function of higher precision.

//! The outside world: what is kept between runs.

//! Limits of what is read as a picture.

/// The longest side of a picture in pixels.
pub const MAX_SIDE: u32 = 16_384;

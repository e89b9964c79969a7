//! Size of everything in the window, as a person chooses it.

/// Factor by which everything in the window is larger than the system has it, in steps of a tenth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zoom {
    tenths: u8,
}

impl Zoom {
    /// The smallest.
    pub const MIN: Self = Self { tenths: 5 };
    /// The largest.
    pub const MAX: Self = Self { tenths: 30 };

    /// The step nearest to this factor; the usual size where it is no number.
    #[must_use]
    pub fn from_factor(factor: f32) -> Self {
        if !factor.is_finite() {
            return Self::default();
        }
        Self { tenths: (factor * 10.0).round().clamp(f32::from(Self::MIN.tenths), f32::from(Self::MAX.tenths)) as u8 }
    }

    /// The factor; 1 is as the system has it.
    #[must_use]
    pub fn factor(self) -> f32 {
        f32::from(self.tenths) / 10.0
    }

    /// The factor in per cent.
    #[must_use]
    pub fn percent(self) -> u32 {
        u32::from(self.tenths) * 10
    }

    /// One step larger, where there is one.
    #[must_use]
    pub fn larger(self) -> Self {
        Self { tenths: (self.tenths + 1).min(Self::MAX.tenths) }
    }

    /// One step smaller, where there is one.
    #[must_use]
    pub fn smaller(self) -> Self {
        Self { tenths: (self.tenths - 1).max(Self::MIN.tenths) }
    }
}

impl Default for Zoom {
    fn default() -> Self {
        Self { tenths: 10 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_end_at_both_bounds_and_come_back_to_the_usual_size() {
        let steps = |from: Zoom, step: fn(Zoom) -> Zoom| (0..50).fold(from, |zoom, _| step(zoom));
        assert_eq!(steps(Zoom::default(), Zoom::larger), Zoom::MAX);
        assert_eq!(steps(Zoom::default(), Zoom::smaller), Zoom::MIN);
        assert_eq!(Zoom::default().larger().smaller(), Zoom::default());
        assert_eq!((Zoom::default().factor(), Zoom::default().percent()), (1.0, 100));
    }

    #[test]
    fn any_number_of_a_file_becomes_a_step() {
        for (factor, percent) in [(1.26, 130), (0.0, 50), (-3.0, 50), (1e30, 300), (f32::NAN, 100), (f32::INFINITY, 100)] {
            assert_eq!(Zoom::from_factor(factor).percent(), percent, "{factor}");
        }
    }
}

//! Smooth continuation of colours that are known in a part of the pixels: the pull-push pyramid.

/// Colours with a weight each, in rows: 1 is known, 0 is not.
pub(super) struct Weighted {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) colours: Vec<[f32; 3]>,
    pub(super) weights: Vec<f32>,
}

impl Weighted {
    /// The colours with unknown ones taken from coarser and coarser means of the known; 0 where
    /// nothing is known.
    pub(super) fn continued(self) -> Vec<[f32; 3]> {
        if self.width.max(self.height) <= 1 || self.weights.iter().all(|weight| *weight >= 1.0) {
            return self.colours;
        }
        let half = self.halved();
        let (half_width, half_height) = (half.width, half.height);
        let coarse = half.continued();
        let mut colours = self.colours;
        for y in 0..self.height {
            let (top, bottom, down) = neighbours(y, half_height);
            for x in 0..self.width {
                let at = y * self.width + x;
                let weight = self.weights[at];
                if weight >= 1.0 {
                    continue;
                }
                let (left, right, along) = neighbours(x, half_width);
                for channel in 0..3 {
                    let value = |row: usize, column: usize| coarse[row * half_width + column][channel];
                    let upper = value(top, left) + (value(top, right) - value(top, left)) * along;
                    let lower = value(bottom, left) + (value(bottom, right) - value(bottom, left)) * along;
                    let between = upper + (lower - upper) * down;
                    colours[at][channel] = colours[at][channel] * weight + between * (1.0 - weight);
                }
            }
        }
        colours
    }

    /// Half as large: weighted means of two by two.
    fn halved(&self) -> Self {
        let (width, height) = (self.width.div_ceil(2), self.height.div_ceil(2));
        let mut half = Self { width, height, colours: vec![[0.0; 3]; width * height], weights: vec![0.0; width * height] };
        for y in 0..self.height {
            for x in 0..self.width {
                let (from, to) = (y * self.width + x, y / 2 * width + x / 2);
                half.weights[to] += self.weights[from];
                for channel in 0..3 {
                    half.colours[to][channel] += self.colours[from][channel] * self.weights[from];
                }
            }
        }
        for (colour, weight) in half.colours.iter_mut().zip(&mut half.weights) {
            if *weight > 0.0 {
                *colour = colour.map(|value| value / *weight);
            }
            *weight = weight.min(1.0);
        }
        half
    }
}

/// The two pixels of half the size that lie around a pixel, and the second one's share.
fn neighbours(at: usize, length: usize) -> (usize, usize, f32) {
    let position = (at as f32 - 0.5) / 2.0;
    let first = position.floor().max(0.0) as usize;
    (first.min(length - 1), (first + 1).min(length - 1), (position - first as f32).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_stays_and_what_is_not_lies_between() {
        let (width, height) = (32, 9);
        let known = |x: usize| x == 0 || x == width - 1;
        let colour = |x: usize| if x == 0 { [0.0; 3] } else { [100.0, 50.0, -20.0] };
        let colours = (0..width * height).map(|at| colour(at % width)).collect();
        let weights = (0..width * height).map(|at| f32::from(u8::from(known(at % width)))).collect();
        let continued = Weighted { width, height, colours, weights }.continued();
        for (at, found) in continued.iter().enumerate() {
            let x = at % width;
            if known(x) {
                assert_eq!(*found, colour(x));
            }
            assert!(found[0] >= -0.01 && found[0] <= 100.01 && found[2] <= 0.01, "{x}: {found:?}");
        }
        let middle = &continued[4 * width..5 * width];
        assert!(middle[8][0] < 40.0 && middle[24][0] > 60.0, "{middle:?}");
        let nothing = Weighted { width: 3, height: 2, colours: vec![[0.0; 3]; 6], weights: vec![0.0; 6] };
        assert_eq!(nothing.continued(), vec![[0.0; 3]; 6]);
    }
}

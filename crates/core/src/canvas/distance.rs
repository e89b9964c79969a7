//! The exact Euclidean distance transform in linear time (Felzenszwalb and Huttenlocher: one pass
//! by columns, one by rows).

/// For each pixel the nearest one of a set, and the square of the distance to it.
pub(super) struct Distances {
    /// In square pixels; [`FAR`](Self::FAR) where the set is empty.
    pub(super) squared: Vec<u32>,
    /// Index of the nearest pixel of the set; without meaning where it is empty.
    pub(super) nearest: Vec<u32>,
}

impl Distances {
    /// Stands for a distance that does not exist.
    pub(super) const FAR: u32 = u32::MAX;

    /// Distances of a picture of this size to the pixels of which `is_member` is true, by their
    /// index.
    pub(super) fn to(width: usize, height: usize, is_member: impl Fn(usize) -> bool) -> Self {
        let mut rows = vec![Self::FAR; width * height];
        for x in 0..width {
            nearest_in_column(&mut rows, (width, height), x, &is_member);
        }
        let mut distances = Self { squared: vec![Self::FAR; width * height], nearest: vec![0; width * height] };
        let mut envelope = Envelope::default();
        for y in 0..height {
            let line = y * width..(y + 1) * width;
            envelope.build(&rows[line.clone()], y);
            for (x, at) in line.enumerate() {
                if let Some((column, squared)) = envelope.nearest(x) {
                    distances.squared[at] = u32::try_from(squared).unwrap_or(Self::FAR - 1);
                    distances.nearest[at] = rows[y * width + column] * width as u32 + column as u32;
                }
            }
        }
        distances
    }

    /// The distance of a pixel; infinite where the set is empty.
    pub(super) fn distance(&self, at: usize) -> f32 {
        if self.squared[at] == Self::FAR { f32::INFINITY } else { (f64::from(self.squared[at])).sqrt() as f32 }
    }
}

/// For each pixel of a column the row of the nearest member in it.
fn nearest_in_column(rows: &mut [u32], (width, height): (usize, usize), x: usize, is_member: &impl Fn(usize) -> bool) {
    let mut last = Distances::FAR;
    for y in 0..height {
        if is_member(y * width + x) {
            last = y as u32;
        }
        rows[y * width + x] = last;
    }
    let mut next = Distances::FAR;
    for y in (0..height).rev() {
        let row = &mut rows[y * width + x];
        if *row == y as u32 {
            next = *row;
        }
        let is_nearer = next != Distances::FAR && (*row == Distances::FAR || next - (y as u32) < y as u32 - *row);
        if is_nearer {
            *row = next;
        }
    }
}

/// The lower envelope of the parabolas of one row: the nearest column of each pixel.
#[derive(Default)]
struct Envelope {
    /// Columns whose parabola is the lowest somewhere, and their heights.
    columns: Vec<(i64, i64)>,
    /// The first pixel at which each is the lowest.
    starts: Vec<i64>,
    /// The parabola that was asked for last: pixels are asked for in order.
    current: usize,
}

impl Envelope {
    /// `rows`: for each column of row `y` the row of its nearest member.
    fn build(&mut self, rows: &[u32], y: usize) {
        self.columns.clear();
        self.starts.clear();
        self.current = 0;
        for (x, row) in rows.iter().enumerate().filter(|(_, row)| **row != Distances::FAR) {
            let (x, height) = (x as i64, (i64::from(*row) - y as i64).pow(2));
            let mut start = 0;
            while let (Some(&(column, its_height)), Some(&its_start)) = (self.columns.last(), self.starts.last()) {
                // The first pixel at which the new one is lower.
                start = (height - its_height + x * x - column * column).div_euclid(2 * (x - column)) + 1;
                if start > its_start {
                    break;
                }
                self.columns.pop();
                self.starts.pop();
                start = 0;
            }
            if start < rows.len() as i64 {
                self.columns.push((x, height));
                self.starts.push(start);
            }
        }
    }

    /// The nearest column of a pixel, and the squared distance to its member. Pixels are asked for
    /// from left to right.
    fn nearest(&mut self, x: usize) -> Option<(usize, i64)> {
        while self.starts.get(self.current + 1).is_some_and(|start| *start <= x as i64) {
            self.current += 1;
        }
        let (column, height) = *self.columns.get(self.current)?;
        Some((column as usize, (x as i64 - column).pow(2) + height))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_distance_is_the_least_one((width, members) in (1_usize..14).prop_flat_map(|width| {
            (Just(width), (1_usize..12).prop_flat_map(move |height| prop::collection::vec(prop::bool::weighted(0.12), width * height)))
        })) {
            let height = members.len() / width;
            let distances = Distances::to(width, height, |at| members[at]);
            let squared = |one: usize, other: usize| {
                ((one % width).abs_diff(other % width).pow(2) + (one / width).abs_diff(other / width).pow(2)) as u32
            };
            for at in 0..members.len() {
                let least = (0..members.len()).filter(|it| members[*it]).map(|it| squared(at, it)).min();
                prop_assert_eq!(distances.squared[at], least.unwrap_or(Distances::FAR));
                if least.is_some() {
                    let nearest = distances.nearest[at] as usize;
                    prop_assert!(members[nearest]);
                    prop_assert_eq!(squared(at, nearest), distances.squared[at]);
                } else {
                    prop_assert!(distances.distance(at).is_infinite());
                }
            }
        }
    }
}

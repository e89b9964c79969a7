//! Geometry of the grid: square cells in rows, under headings where the pictures are grouped. Pure.
//!
//! Offsets are `f64`: a hundred thousand pictures are millions of points high, where `f32` is too
//! coarse for even spaces.

use std::ops::Range;

/// Space between cells, in points.
pub(crate) const GAP: f64 = 8.0;
/// Height of a heading, in points.
pub(crate) const HEADING_HEIGHT: f64 = 34.0;

/// Places of all cells.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Layout {
    columns: usize,
    /// Side of a cell, in points.
    side: f64,
    groups: Vec<GroupPlace>,
    height: f64,
}

/// Place of a group.
#[derive(Clone, Debug, PartialEq)]
struct GroupPlace {
    /// Indices of its pictures.
    pictures: Range<usize>,
    /// Top of its heading, or of its first row where it has none.
    top: f64,
    heading: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Item {
    /// The heading of this group, with its top.
    Heading(usize, f64),
    /// The picture of this index, with left and top of its cell.
    Cell(usize, f64, f64),
}

impl Layout {
    /// Lays out groups of so many pictures within a width in points. `side`: the least side of a
    /// cell; cells grow until they fill the row.
    pub(crate) fn new(counts: &[usize], has_headings: bool, width: f64, side: f64) -> Self {
        let columns = (((width + GAP) / (side + GAP)).floor() as usize).max(1);
        let side = ((width - GAP * (columns - 1) as f64) / columns as f64).floor().max(1.0);
        let heading = if has_headings { HEADING_HEIGHT } else { 0.0 };
        let (mut groups, mut top, mut first) = (Vec::with_capacity(counts.len()), 0.0, 0);
        for count in counts {
            groups.push(GroupPlace { pictures: first..first + count, top, heading });
            top += heading + count.div_ceil(columns) as f64 * (side + GAP);
            first += count;
        }
        Self { columns, side, groups, height: top }
    }

    /// Side of a cell, in points.
    pub(crate) const fn side(&self) -> f64 {
        self.side
    }

    /// Height of everything, in points.
    pub(crate) const fn height(&self) -> f64 {
        self.height
    }

    fn len(&self) -> usize {
        self.groups.last().map_or(0, |it| it.pictures.end)
    }

    /// Left and top of a picture's cell.
    pub(crate) fn place(&self, index: usize) -> Option<(f64, f64)> {
        let group = self.groups.get(self.group_of(index)?)?;
        let (row, column) = ((index - group.pictures.start) / self.columns, (index - group.pictures.start) % self.columns);
        let step = self.side + GAP;
        Some((column as f64 * step, group.top + group.heading + row as f64 * step))
    }

    fn group_of(&self, index: usize) -> Option<usize> {
        let at = self.groups.partition_point(|it| it.pictures.end <= index);
        (at < self.groups.len()).then_some(at)
    }

    /// What reaches into these heights, in order.
    pub(crate) fn items(&self, seen: Range<f64>) -> Vec<Item> {
        let mut items = Vec::new();
        let from = self.groups.partition_point(|it| it.top <= seen.start).saturating_sub(1);
        for (at, group) in self.groups.iter().enumerate().skip(from) {
            if group.top >= seen.end {
                break;
            }
            if group.heading > 0.0 && group.top + group.heading > seen.start {
                items.push(Item::Heading(at, group.top));
            }
            let step = self.side + GAP;
            let below = |height: f64| ((height - group.top - group.heading) / step).max(0.0);
            let first = below(seen.start).floor() as usize * self.columns;
            let last = (below(seen.end).ceil() as usize).saturating_mul(self.columns);
            let count = group.pictures.len();
            for within in first.min(count)..last.min(count) {
                let (left, top) =
                    ((within % self.columns) as f64 * step, group.top + group.heading + (within / self.columns) as f64 * step);
                items.push(Item::Cell(group.pictures.start + within, left, top));
            }
        }
        items
    }

    /// Indices of the cells that a rectangle touches: left and right, top and bottom, in points.
    pub(crate) fn touched(&self, across: &Range<f64>, down: Range<f64>) -> Vec<usize> {
        let cells = self.items(down.clone()).into_iter().filter_map(|item| match item {
            Item::Cell(index, left, top) => {
                let touches = left < across.end && left + self.side > across.start && top < down.end && top + self.side > down.start;
                touches.then_some(index)
            }
            Item::Heading(..) => None,
        });
        cells.collect()
    }

    /// The picture that lies so many rows below (above, where negative) the one of this index, in
    /// its column or the nearest; the same index where there is no such row.
    pub(crate) fn row_step(&self, index: usize, rows: isize) -> usize {
        let mut at = index;
        for _ in 0..rows.unsigned_abs() {
            let Some(next) = self.neighbour_row(at, rows > 0) else { break };
            at = next;
        }
        at
    }

    fn neighbour_row(&self, index: usize, is_down: bool) -> Option<usize> {
        let at = self.group_of(index)?;
        let group = self.groups.get(at)?;
        let within = index - group.pictures.start;
        let (row, column) = (within / self.columns, within % self.columns);
        let last_row = (group.pictures.len() - 1) / self.columns;
        let cell = |group: &GroupPlace, row: usize| group.pictures.start + (row * self.columns + column).min(group.pictures.len() - 1);
        match (is_down, row) {
            (true, row) if row < last_row => Some(cell(group, row + 1)),
            (true, _) => self.groups[at + 1..].iter().find(|it| !it.pictures.is_empty()).map(|next| cell(next, 0)),
            (false, 0) => {
                let before = self.groups[..at].iter().rev().find(|it| !it.pictures.is_empty())?;
                Some(cell(before, (before.pictures.len() - 1) / self.columns))
            }
            (false, row) => Some(cell(group, row - 1)),
        }
    }

    /// The index moved by so many pictures, not past the ends.
    pub(crate) fn step(&self, index: usize, by: isize) -> usize {
        index.saturating_add_signed(by).min(self.len().saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Groups of 5, 0 and 3 pictures in rows of 3.
    fn three_groups() -> Layout {
        let layout = Layout::new(&[5, 0, 3], true, 316.0, 90.0);
        assert_eq!((layout.columns, layout.side()), (3, 100.0));
        layout
    }

    #[test]
    fn cells_fill_the_width_and_headings_have_room() {
        let layout = three_groups();
        assert_eq!(layout.place(0), Some((0.0, 34.0)));
        assert_eq!(layout.place(4), Some((108.0, 142.0)));
        assert_eq!(layout.place(5), Some((0.0, 34.0 + 216.0 + 34.0 + 34.0)));
        assert_eq!(layout.place(8), None);
        assert_eq!(layout.height(), 34.0 * 3.0 + 108.0 * 3.0);
    }

    #[test]
    fn the_arrows_keep_their_column_across_groups() {
        let layout = three_groups();
        assert_eq!([layout.row_step(1, 1), layout.row_step(2, 1), layout.row_step(4, 1), layout.row_step(7, 1)], [4, 4, 6, 7]);
        assert_eq!([layout.row_step(6, -1), layout.row_step(4, -1), layout.row_step(0, -1), layout.row_step(0, 9)], [4, 1, 0, 5]);
        assert_eq!([layout.step(0, -1), layout.step(7, 1), layout.step(3, 2)], [0, 7, 5]);
    }

    #[test]
    fn a_band_touches_the_cells_under_it() {
        let layout = three_groups();
        assert_eq!(layout.touched(&(50.0..120.0), 40.0..150.0), [0, 1, 3, 4]);
        assert!(layout.touched(&(101.0..107.0), 40.0..50.0).is_empty(), "between two cells");
    }

    proptest! {
        #[test]
        fn what_is_drawn_is_what_can_be_seen(
            counts in prop::collection::vec(0_usize..40, 1..6), headings: bool, width in 50.0..900.0, from in 0.0..3000.0, high in 1.0..900.0,
        ) {
            let layout = Layout::new(&counts, headings, width, 80.0);
            let drawn = layout.items(from..from + high);
            for index in 0..counts.iter().sum() {
                let (left, top) = layout.place(index).unwrap();
                let is_seen = top < from + high && top + layout.side() > from;
                let is_drawn = drawn.contains(&Item::Cell(index, left, top));
                prop_assert!(is_drawn || !is_seen, "{index} can be seen");
                prop_assert!(left >= 0.0 && (left + layout.side() <= width || layout.columns == 1));
            }
        }
    }
}

//! Positions of the board's columns and rows.

use eframe::egui::{Pos2, Rect, pos2, vec2};

use crate::gui::devices::board::CardPart;
use crate::gui::devices::view::card_paint::{RUNTIME_HEIGHT, WEIGHTS_HEIGHT};
use atelier_core::placement::WeightLocation;

/// Space between columns, in points.
pub(crate) const GAP: f32 = 8.0;

/// Space between the halves of a split card, in points.
pub(crate) const PART_GAP: f32 = 2.0;

/// Space between rows, in points.
pub(crate) const ROW_GAP: f32 = 13.0;

/// Least and greatest width of a device's column, in points.
pub(crate) const COLUMN_WIDTH: (f32, f32) = (164.0, 300.0);

/// Width of the disk's column relative to a device's.
pub(crate) const DISK_SHARE: f32 = 0.72;

/// Space around the board, in points.
pub(crate) const EDGE: f32 = 14.0;

/// Positions of columns and rows.
pub(crate) struct Grid {
    pub(crate) columns: Vec<(WeightLocation, Rect)>,
    /// Columns of other studios, by their names.
    pub(crate) studios: Vec<(String, Rect)>,
    /// Top of the first row.
    pub(crate) rows_top: f32,
}

impl Grid {
    /// Rectangle of a card's half in a row and in the column of a place; `None` without such a
    /// column.
    pub(crate) fn rect(&self, location: &WeightLocation, row: usize, part: CardPart) -> Option<Rect> {
        let (_, column) = self.columns.iter().find(|(it, _)| it == location)?;
        let top = self.rows_top + row as f32 * (RUNTIME_HEIGHT + WEIGHTS_HEIGHT + PART_GAP + ROW_GAP);
        let (top, height) = match part {
            CardPart::Runtime => (top, RUNTIME_HEIGHT),
            CardPart::Weights => (top + RUNTIME_HEIGHT + PART_GAP, WEIGHTS_HEIGHT),
        };
        Some(Rect::from_min_size(pos2(column.left() + 8.0, top), vec2(column.width() - 16.0, height)))
    }

    /// The column under a point, and the half of a row in it that is there; the first one of these
    /// halves where none is.
    pub(crate) fn place_at(&self, point: Pos2, row: usize, parts: &[CardPart]) -> Option<(&WeightLocation, CardPart)> {
        let (location, _) = self.columns.iter().find(|(_, column)| column.x_range().contains(point.x))?;
        let is_there = |part: &&CardPart| self.rect(location, row, **part).is_some_and(|rect| rect.expand(2.0).contains(point));
        let part = parts.iter().find(is_there).or(parts.first())?;
        Some((location, *part))
    }
}

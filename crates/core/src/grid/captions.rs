//! What a sheet is called: names of its axes and of their values.

use serde::{Deserialize, Serialize};

use super::{Axis, MAX_AXES, MAX_CELLS};

/// A cell's column, row and page, from 0.
pub type Place = [usize; MAX_AXES];

/// Names of an axis and of its values, as they are shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct AxisCaptions {
    name: String,
    values: Vec<String>,
}

/// Names of a sheet's axes and of their values: columns, rows, pages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Captions(Vec<AxisCaptions>);

impl From<&[Axis]> for Captions {
    fn from(axes: &[Axis]) -> Self {
        let values = |axis: &Axis| axis.values.iter().map(|value| value.label.clone()).collect();
        Self(axes.iter().map(|axis| AxisCaptions { name: axis.name.clone(), values: values(axis) }).collect())
    }
}

impl Captions {
    /// Number of axes.
    #[must_use]
    pub fn axes(&self) -> usize {
        self.0.len()
    }

    /// Number of columns, rows and pages.
    #[must_use]
    pub fn size(&self) -> Place {
        [0, 1, 2].map(|index| self.0.get(index).map_or(1, |axis| axis.values.len()))
    }

    /// True for captions that a sheet can have; what was read from a file may be anything.
    #[must_use]
    pub fn are_of_a_sheet(&self) -> bool {
        let cells = self.size().into_iter().fold(1_usize, usize::saturating_mul);
        (1..=MAX_AXES).contains(&self.0.len()) && (1..=MAX_CELLS).contains(&cells)
    }

    /// True for a place on the sheet.
    #[must_use]
    pub fn has(&self, at: Place) -> bool {
        at.into_iter().zip(self.size()).all(|(index, count)| index < count)
    }

    /// A value of an axis: "steps 8".
    #[must_use]
    pub fn value(&self, axis: usize, value: usize) -> Option<String> {
        let axis = self.0.get(axis)?;
        Some(format!("{} {}", axis.name, axis.values.get(value)?))
    }

    /// What a cell differs in, by axis: "steps 8, sampler heun".
    #[must_use]
    pub fn caption(&self, at: Place) -> String {
        let parts = at.into_iter().enumerate().filter_map(|(axis, value)| self.value(axis, value));
        parts.collect::<Vec<_>>().join(", ")
    }
}

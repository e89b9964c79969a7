//! Detections, before those that are one thing are told apart.

/// Two detections of one class that share more of their area are one.
const MAX_OVERLAP: f32 = 0.45;
/// Maximum number of detections.
pub(crate) const MAX_DETECTIONS: usize = 300;

/// A detection in the pixels of the model's input.
#[derive(Clone, Copy)]
pub(crate) struct Candidate {
    pub(crate) left: f32,
    pub(crate) top: f32,
    pub(crate) right: f32,
    pub(crate) bottom: f32,
    pub(crate) probability: f32,
    pub(crate) class: usize,
}

/// The most probable of those that are one thing, the most probable first.
pub(crate) fn distinct(mut found: Vec<Candidate>) -> Vec<Candidate> {
    found.sort_by(|a, b| b.probability.total_cmp(&a.probability));
    // Quadratic below: a model that finds something everywhere finds nothing.
    found.truncate(10 * MAX_DETECTIONS);
    let mut kept: Vec<Candidate> = Vec::new();
    for candidate in found {
        let is_known = kept.iter().any(|known| known.class == candidate.class && known.overlap(&candidate) > MAX_OVERLAP);
        if !is_known && kept.len() < MAX_DETECTIONS {
            kept.push(candidate);
        }
    }
    kept
}

impl Candidate {
    /// Common area as a part of the area of both, 0 to 1.
    fn overlap(&self, other: &Self) -> f32 {
        let area = |at: &Self| (at.right - at.left).max(0.0) * (at.bottom - at.top).max(0.0);
        let width = self.right.min(other.right) - self.left.max(other.left);
        let height = self.bottom.min(other.bottom) - self.top.max(other.top);
        let common = width.max(0.0) * height.max(0.0);
        common / (area(self) + area(other) - common).max(f32::MIN_POSITIVE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_is_found_once() {
        let at =
            |left: f32, probability: f32, class: usize| Candidate { left, top: 0.0, right: left + 10.0, bottom: 10.0, probability, class };
        let kept = distinct(vec![at(0.0, 0.5, 0), at(1.0, 0.9, 0), at(30.0, 0.6, 0), at(1.0, 0.4, 1)]);
        assert_eq!(kept.iter().map(|it| (it.left, it.class)).collect::<Vec<_>>(), [(1.0, 0), (30.0, 0), (1.0, 1)]);
    }
}

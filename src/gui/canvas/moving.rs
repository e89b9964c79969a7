//! Moving, scaling and turning the current layer with the pointer.

use atelier_core::canvas::{LayerId, LayerTransform, PixelRect, TileImage};

/// Angles that turning snaps to with Shift, in radians.
const SNAP: f32 = std::f32::consts::PI / 12.0;
/// Smallest factor of one drag.
const MIN_FACTOR: f32 = 0.01;

/// A layer that was moved, as long as nothing else changes: it is moved on from its first pixels,
/// so that it stays sharp.
#[derive(Clone, Debug)]
pub struct LayerMove {
    pub(crate) layer: LayerId,
    /// The document's version after it was moved last.
    pub(crate) version: u64,
    /// The pixels before it was first moved.
    pub(crate) from: TileImage,
    /// Their bounds.
    pub(crate) bounds: PixelRect,
    pub(crate) by: LayerTransform,
}

/// What a drag does to the layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grip {
    Inside,
    /// A corner, clockwise from the left upper one.
    Corner(usize),
    /// Beside the layer: it turns.
    Outside,
}

/// A drag of the current layer.
#[derive(Clone, Debug)]
pub struct LayerDrag {
    pub(crate) grip: Grip,
    /// Where the pointer was pressed, in pixels of the document.
    pub(crate) start: (f32, f32),
    /// What was moved before, with the transform so far.
    pub(crate) before: LayerMove,
    pub(crate) by: LayerTransform,
}

impl LayerMove {
    /// Its corners in the document with a transform, clockwise from the left upper one.
    pub(crate) fn corners(&self, by: &LayerTransform) -> [(f32, f32); 4] {
        let (left, top, right, bottom) = (self.bounds.left, self.bounds.top, self.bounds.right(), self.bounds.bottom());
        [(left, top), (right, top), (right, bottom), (left, bottom)].map(|(x, y)| by.apply((x as f32, y as f32)))
    }

    /// What a press at a place takes hold of. `reach` in pixels.
    pub(crate) fn grip(&self, at: (f32, f32), reach: f32) -> Grip {
        let near = |corner: &(f32, f32)| (corner.0 - at.0).hypot(corner.1 - at.1) <= reach;
        if let Some(corner) = self.corners(&self.by).iter().position(near) {
            return Grip::Corner(corner);
        }
        let (left, top, right, bottom) = (self.bounds.left, self.bounds.top, self.bounds.right(), self.bounds.bottom());
        let is_inside = self.by.inverse().is_some_and(|back| {
            let (x, y) = back.apply(at);
            x >= left as f32 && x <= right as f32 && y >= top as f32 && y <= bottom as f32
        });
        if is_inside { Grip::Inside } else { Grip::Outside }
    }
}

impl LayerDrag {
    /// The transform once the pointer is here. `shift`: along one axis, freely in both, or in steps.
    pub(crate) fn dragged(&self, to: (f32, f32), shift: bool) -> LayerTransform {
        let before = &self.before.by;
        let corners = self.before.corners(&LayerTransform::default());
        match self.grip {
            Grip::Inside => {
                let (dx, dy) = ((to.0 - self.start.0).round(), (to.1 - self.start.1).round());
                let (dx, dy) = match (shift, dx.abs() > dy.abs()) {
                    (false, _) => (dx, dy),
                    (true, true) => (dx, 0.0),
                    (true, false) => (0.0, dy),
                };
                before.then(&LayerTransform::moved(dx, dy))
            }
            Grip::Corner(at) => {
                let (corner, kept) = (corners[at], corners[(at + 2) % 4]);
                let Some((x, y)) = before.inverse().map(|back| back.apply(to)) else { return *before };
                let (wide, high) = (corner.0 - kept.0, corner.1 - kept.1);
                let (x, y) = (x - kept.0, y - kept.1);
                let factor = |by: f32| if by.abs() < MIN_FACTOR { MIN_FACTOR.copysign(by) } else { by };
                let (wide, high) = if shift {
                    (factor(x / wide), factor(y / high))
                } else {
                    let both = factor((x * wide + y * high) / (wide * wide + high * high));
                    (both, both)
                };
                LayerTransform::scaled(kept, wide, high).then(before)
            }
            Grip::Outside => {
                let [one, _, other, _] = self.before.corners(before);
                let middle = (f32::midpoint(one.0, other.0), f32::midpoint(one.1, other.1));
                let angle = |(x, y): (f32, f32)| (y - middle.1).atan2(x - middle.0);
                let by = angle(to) - angle(self.start);
                let by = if shift { (by / SNAP).round() * SNAP } else { by };
                before.then(&LayerTransform::turned(middle, by))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drag(grip: Grip, start: (f32, f32)) -> LayerDrag {
        let bounds = PixelRect { left: 10, top: 20, width: 40, height: 20 };
        let by = LayerTransform::default();
        let before = LayerMove { layer: LayerId(0), version: 0, from: TileImage::new(100, 100), bounds, by };
        LayerDrag { grip, start, before, by }
    }

    fn is_near(one: (f32, f32), other: (f32, f32)) -> bool {
        (one.0 - other.0).abs() < 1e-3 && (one.1 - other.1).abs() < 1e-3
    }

    #[test]
    fn each_place_of_the_layer_is_a_grip_of_its_own() {
        let layer = drag(Grip::Inside, (0.0, 0.0)).before;
        assert_eq!(layer.grip((51.0, 41.0), 3.0), Grip::Corner(2));
        assert_eq!(layer.grip((30.0, 30.0), 3.0), Grip::Inside);
        assert_eq!(layer.grip((80.0, 30.0), 3.0), Grip::Outside);
    }

    #[test]
    fn a_drag_moves_scales_or_turns() {
        let moved = drag(Grip::Inside, (20.0, 25.0)).dragged((25.4, 24.0), false);
        assert!(is_near(moved.apply((10.0, 20.0)), (15.0, 19.0)));
        let along = drag(Grip::Inside, (20.0, 25.0)).dragged((25.4, 24.0), true);
        assert!(is_near(along.apply((10.0, 20.0)), (15.0, 20.0)));
        // The corner follows, the opposite one stays.
        let scaled = drag(Grip::Corner(2), (50.0, 40.0)).dragged((90.0, 60.0), false);
        assert!(is_near(scaled.apply((50.0, 40.0)), (90.0, 60.0)) && is_near(scaled.apply((10.0, 20.0)), (10.0, 20.0)));
        let freely = drag(Grip::Corner(0), (10.0, 20.0)).dragged((30.0, 20.0), true);
        assert!(is_near(freely.apply((10.0, 20.0)), (30.0, 20.0)) && is_near(freely.apply((50.0, 40.0)), (50.0, 40.0)));
        let flat = drag(Grip::Corner(2), (50.0, 40.0)).dragged((10.0, 20.0), false);
        assert!(flat.inverse().is_some(), "it never vanishes");
        let turned = drag(Grip::Outside, (80.0, 30.0)).dragged((30.0, 90.0), false);
        assert!(is_near(turned.apply((50.0, 30.0)), (30.0, 50.0)), "a quarter, about its middle");
        let in_steps = drag(Grip::Outside, (80.0, 30.0)).dragged((30.0 + 1.0, 90.0), true);
        assert!(is_near(in_steps.apply((50.0, 30.0)), (30.0, 50.0)));
    }
}

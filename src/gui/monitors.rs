//! Place of the window on the monitors that are there. Pure: asks no system.

use crate::settings::WindowPlace;

/// Height of the strip at the window's upper edge by which a person moves it, in points.
const TITLE_BAR: f64 = 32.0;
/// Least width and height of that strip that must be on a monitor, in points.
const MIN_VISIBLE: (f64, f64) = (96.0, 8.0);

/// A rectangle of the desktop, in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PixelArea {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

impl PixelArea {
    /// Width and height of the part that both have; zero where they have none.
    fn overlap(self, other: Self) -> (f64, f64) {
        let along = |from: f64, length: f64, other_from: f64, other_length: f64| {
            ((from + length).min(other_from + other_length) - from.max(other_from)).max(0.0)
        };
        (along(self.x, self.width, other.x, other.width), along(self.y, self.height, other.y, other.height))
    }

    /// Squared distance between the middles.
    fn distance(self, other: Self) -> f64 {
        let (dx, dy) = (self.x + self.width / 2.0 - other.x - other.width / 2.0, self.y + self.height / 2.0 - other.y - other.height / 2.0);
        dx * dx + dy * dy
    }
}

/// A monitor, with its pixels per point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Monitor {
    pub(crate) area: PixelArea,
    pub(crate) scale: f64,
}

/// Where the window goes, in pixels of the desktop: the upper left corner of its frame and the size
/// of its inside. The monitor is the one that shows most of the window as it was; where none shows
/// enough of its upper edge to take hold of it, the window is moved onto the nearest. `None` where
/// the place has no corner, or no monitor is known.
pub(crate) fn place_on(monitors: &[Monitor], place: &WindowPlace) -> Option<PixelArea> {
    let scale = f64::from(place.scale.unwrap_or(1.0));
    let (left, top) = (f64::from(place.x?) * scale, f64::from(place.y?) * scale);
    let area = |scale: f64| PixelArea { x: left, y: top, width: f64::from(place.width) * scale, height: f64::from(place.height) * scale };
    let before = area(scale);
    let shown = |monitor: &Monitor| {
        let (width, height) = before.overlap(monitor.area);
        width * height
    };
    let most = monitors.iter().max_by(|a, b| shown(a).total_cmp(&shown(b))).filter(|monitor| shown(monitor) > 0.0);
    let nearest = || monitors.iter().min_by(|a, b| before.distance(a.area).total_cmp(&before.distance(b.area)));
    let monitor = most.or_else(nearest)?;
    let mut after = area(monitor.scale);
    after.width = after.width.min(monitor.area.width);
    after.height = after.height.min(monitor.area.height);
    let title_bar = PixelArea { height: TITLE_BAR * monitor.scale, ..after };
    let can_be_held = monitors.iter().any(|it| {
        let (width, height) = title_bar.overlap(it.area);
        width >= MIN_VISIBLE.0 * it.scale && height >= MIN_VISIBLE.1 * it.scale
    });
    if !can_be_held {
        let within = |at: f64, length: f64, from: f64, available: f64| at.clamp(from, from + (available - length).max(0.0));
        after.x = within(after.x, after.width, monitor.area.x, monitor.area.width);
        after.y = within(after.y, after.height, monitor.area.y, monitor.area.height);
    }
    Some(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn monitor(x: f64, y: f64, width: f64, height: f64, scale: f64) -> Monitor {
        Monitor { area: PixelArea { x, y, width, height }, scale }
    }

    fn place(x: f32, y: f32, width: f32, height: f32, scale: f32) -> WindowPlace {
        WindowPlace { x: Some(x), y: Some(y), width, height, maximized: false, scale: Some(scale) }
    }

    #[allow(clippy::unnecessary_wraps, reason = "what is compared may be none")]
    fn area(x: f64, y: f64, width: f64, height: f64) -> Option<PixelArea> {
        Some(PixelArea { x, y, width, height })
    }

    #[test]
    fn a_window_opens_where_it_was_on_the_monitor_where_it_was() {
        let two = [monitor(0.0, 0.0, 1920.0, 1080.0, 1.0), monitor(1920.0, 0.0, 3840.0, 2160.0, 2.0)];
        assert_eq!(place_on(&two, &place(100.0, 80.0, 1360.0, 860.0, 1.0)), area(100.0, 80.0, 1360.0, 860.0));
        // Its corner is at 2400, 200 in pixels, and its size is in points of that monitor.
        assert_eq!(place_on(&two, &place(1200.0, 100.0, 1360.0, 860.0, 2.0)), area(2400.0, 200.0, 2720.0, 1720.0));
        // Half of it may be outside, as long as it can be taken hold of.
        assert_eq!(place_on(&two[..1], &place(-700.0, 500.0, 1360.0, 860.0, 1.0)), area(-700.0, 500.0, 1360.0, 860.0));
    }

    #[test]
    fn a_window_whose_monitor_is_gone_is_moved_onto_the_nearest_that_is_there() {
        let laptop = [monitor(0.0, 0.0, 1440.0, 900.0, 1.0)];
        for (x, y) in [(1920.0, 100.0), (-3000.0, 100.0), (100.0, 4000.0), (100.0, -2000.0), (1400.0, 100.0)] {
            let at = place_on(&laptop, &place(x, y, 1000.0, 700.0, 1.0)).unwrap();
            assert!(at.x >= 0.0 && at.y >= 0.0 && at.x + at.width <= 1440.0 && at.y + at.height <= 900.0, "{x}, {y}: {at:?}");
        }
        let right = [laptop[0], monitor(1440.0, 0.0, 1920.0, 1080.0, 1.0)];
        assert_eq!(place_on(&right, &place(5000.0, 300.0, 800.0, 600.0, 1.0)), area(2560.0, 300.0, 800.0, 600.0));
    }

    #[test]
    fn a_window_is_no_larger_than_its_monitor_and_its_upper_edge_can_be_reached() {
        let small = [monitor(0.0, 0.0, 1024.0, 700.0, 1.0)];
        assert_eq!(place_on(&small, &place(40.0, 20.0, 1360.0, 860.0, 1.0)), area(40.0, 20.0, 1024.0, 700.0));
        // The strip above the screen is where one would take hold of it.
        assert_eq!(place_on(&small, &place(40.0, -60.0, 800.0, 600.0, 1.0)), area(40.0, 0.0, 800.0, 600.0));
    }

    #[test]
    fn without_a_corner_or_a_monitor_the_system_chooses() {
        let one = [monitor(0.0, 0.0, 1440.0, 900.0, 1.0)];
        let nowhere = WindowPlace { x: None, ..place(0.0, 0.0, 800.0, 600.0, 1.0) };
        assert_eq!(place_on(&one, &nowhere), None);
        assert_eq!(place_on(&[], &place(0.0, 0.0, 800.0, 600.0, 1.0)), None);
    }
}

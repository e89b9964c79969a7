//! Icons, drawn with lines so that they are sharp at every scale and follow the theme.

use std::f32::consts::TAU;

use eframe::egui::{Color32, Painter, Pos2, Rect, Shape, Stroke, StrokeKind, Vec2, pos2, vec2};

/// The icons, named after their shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Icon {
    Close,
    Plus,
    Minus,
    Dice,
    Locked,
    Unlocked,
    Swap,
    Reuse,
    Undo,
    Redo,
    Picture,
    Copy,
    Save,
    Folder,
    Fit,
    Sun,
    Moon,
    HalfMoon,
    Pencil,
    Dots,
    Pin,
    Pinned,
    Check,
    Warning,
    Info,
    Pause,
    Play,
    Search,
    History,
    Menu,
    List,
    Brush,
    Eraser,
    Mask,
    Lasso,
    Selection,
    Bucket,
    Gradient,
    Pipette,
    Crop,
    Layers,
    Live,
    Eye,
    EyeClosed,
    Up,
    Down,
}

/// Draws a star, full or as an outline.
pub(crate) fn star(painter: &Painter, center: Pos2, radius: f32, color: Color32, is_full: bool) {
    let corner = |at: u8, radius: f32| center + radius * Vec2::angled(f32::from(at) * TAU / 10.0 - TAU / 4.0);
    let corners: Vec<Pos2> = (0..10).map(|at| corner(at, if at % 2 == 0 { radius } else { radius * 0.45 })).collect();
    if is_full {
        // A star is not convex, as egui wants its filled shapes: five kites are.
        for point in 0..5_usize {
            let kite = [corners[(2 * point + 9) % 10], corners[2 * point], corners[2 * point + 1], center];
            painter.add(Shape::convex_polygon(kite.to_vec(), color, Stroke::NONE));
        }
    } else {
        painter.add(Shape::closed_line(corners, Stroke::new(1.0, color)));
    }
}

/// Draws the icon in the middle of this rectangle, 16 points wide.
pub(crate) fn paint(painter: &Painter, rect: Rect, icon: Icon, stroke: Stroke) {
    let stroke = Stroke::new(1.4, stroke.color);
    let origin = rect.center() - vec2(8.0, 8.0);
    let at = |x: f32, y: f32| pos2(origin.x + x, origin.y + y);
    let line = |points: &[(f32, f32)]| {
        painter.add(Shape::line(points.iter().map(|(x, y)| at(*x, *y)).collect(), stroke));
    };
    let frame = |left: f32, top: f32, right: f32, bottom: f32, radius: f32| {
        let rect = Rect::from_min_max(at(left, top), at(right, bottom));
        painter.rect_stroke(rect, radius, stroke, StrokeKind::Middle);
    };
    let dot = |x: f32, y: f32, radius: f32| {
        painter.circle_filled(at(x, y), radius, stroke.color);
    };
    match icon {
        Icon::List => {
            for y in [4.0, 8.0, 12.0] {
                line(&[(5.5, y), (13.5, y)]);
                dot(3.0, y, 1.0);
            }
        }
        Icon::Close => {
            line(&[(4.5, 4.5), (11.5, 11.5)]);
            line(&[(11.5, 4.5), (4.5, 11.5)]);
        }
        Icon::Plus => {
            line(&[(8.0, 3.5), (8.0, 12.5)]);
            line(&[(3.5, 8.0), (12.5, 8.0)]);
        }
        Icon::Minus => line(&[(3.5, 8.0), (12.5, 8.0)]),
        Icon::Dice => {
            frame(2.5, 2.5, 13.5, 13.5, 2.5);
            for (x, y) in [(5.5, 5.5), (10.5, 5.5), (8.0, 8.0), (5.5, 10.5), (10.5, 10.5)] {
                dot(x, y, 1.0);
            }
        }
        Icon::Locked | Icon::Unlocked => {
            frame(3.5, 7.2, 12.5, 13.5, 1.5);
            let top = if icon == Icon::Locked { 5.0 } else { 3.8 };
            let mut shackle = vec![at(5.5, 7.2)];
            shackle.extend(arc(at(8.0, top), 2.5, 0.5, 1.0));
            if icon == Icon::Locked {
                shackle.push(at(10.5, 7.2));
            }
            painter.add(Shape::line(shackle, stroke));
        }
        Icon::Swap => {
            line(&[(2.5, 5.5), (13.0, 5.5)]);
            line(&[(10.2, 2.7), (13.0, 5.5), (10.2, 8.3)]);
            line(&[(13.5, 11.0), (3.0, 11.0)]);
            line(&[(5.8, 8.2), (3.0, 11.0), (5.8, 13.8)]);
        }
        Icon::Reuse => {
            painter.add(Shape::line(arc(at(8.0, 8.4), 5.0, -0.40, 0.36), stroke));
            line(&[(3.0, 2.4), (3.0, 6.0), (6.6, 6.0)]);
        }
        Icon::Undo => {
            line(&[(3.0, 6.2), (9.6, 6.2)]);
            painter.add(Shape::line(arc(at(9.6, 9.4), 3.2, -0.25, 0.25), stroke));
            line(&[(9.6, 12.6), (6.4, 12.6)]);
            line(&[(5.8, 3.4), (3.0, 6.2), (5.8, 9.0)]);
        }
        Icon::Redo => {
            line(&[(13.0, 6.2), (6.4, 6.2)]);
            painter.add(Shape::line(arc(at(6.4, 9.4), 3.2, 0.25, 0.75), stroke));
            line(&[(6.4, 12.6), (9.6, 12.6)]);
            line(&[(10.2, 3.4), (13.0, 6.2), (10.2, 9.0)]);
        }
        Icon::Picture => {
            frame(2.0, 3.0, 14.0, 13.0, 1.5);
            line(&[(2.4, 11.4), (6.2, 7.6), (9.0, 10.4), (10.6, 9.0), (13.6, 11.8)]);
            dot(10.6, 6.2, 1.2);
        }
        Icon::Copy => {
            frame(5.5, 5.5, 13.5, 13.5, 1.5);
            line(&[(3.6, 10.4), (2.5, 10.4), (2.5, 2.5), (10.4, 2.5), (10.4, 3.6)]);
        }
        Icon::Save => {
            line(&[(8.0, 2.2), (8.0, 10.0)]);
            line(&[(4.8, 7.0), (8.0, 10.2), (11.2, 7.0)]);
            line(&[(2.5, 10.5), (2.5, 13.5), (13.5, 13.5), (13.5, 10.5)]);
        }
        Icon::Folder => line(&[(2.0, 12.8), (2.0, 3.6), (6.4, 3.6), (8.0, 5.4), (14.0, 5.4), (14.0, 12.8), (2.0, 12.8)]),
        Icon::Fit => {
            for (x, y, dx, dy) in [(2.5, 2.5, 1.0, 1.0), (13.5, 2.5, -1.0, 1.0), (2.5, 13.5, 1.0, -1.0), (13.5, 13.5, -1.0, -1.0)] {
                line(&[(x + 3.5 * dx, y), (x, y), (x, y + 3.5 * dy)]);
            }
        }
        Icon::Sun => {
            painter.circle_stroke(at(8.0, 8.0), 3.0, stroke);
            for ray in 0..8_u8 {
                let angle = f32::from(ray) / 8.0 * TAU;
                let (sin, cos) = angle.sin_cos();
                line(&[(8.0 + 5.0 * cos, 8.0 + 5.0 * sin), (8.0 + 6.8 * cos, 8.0 + 6.8 * sin)]);
            }
        }
        Icon::Moon => {
            // A crescent between two circles that meet at its tips.
            let (outer, inner) = (at(7.4, 8.4), at(10.6, 5.2));
            let between = inner - outer;
            let (far, turn) = (between.length(), between.angle() / TAU);
            let (radius, small) = (5.6_f32, 4.6_f32);
            let half = |a: f32, b: f32| ((far * far + a * a - b * b) / (2.0 * far * a)).clamp(-1.0, 1.0).acos() / TAU;
            let (wide, narrow) = (half(radius, small), half(small, radius));
            let mut points = arc(outer, radius, turn + wide, turn + 1.0 - wide);
            points.extend(arc(inner, small, turn + 0.5 + narrow, turn + 0.5 - narrow));
            painter.add(Shape::closed_line(points, stroke));
        }
        Icon::HalfMoon => {
            painter.circle_stroke(at(8.0, 8.0), 5.5, stroke);
            let mut half = arc(at(8.0, 8.0), 5.5, -0.25, 0.25);
            half.push(at(8.0, 2.5));
            painter.add(Shape::convex_polygon(half, stroke.color, Stroke::NONE));
        }
        Icon::Pencil => {
            line(&[(3.0, 13.0), (3.6, 10.2), (10.8, 3.0), (13.0, 5.2), (5.8, 12.4), (3.0, 13.0)]);
            line(&[(9.2, 4.6), (11.4, 6.8)]);
        }
        Icon::Dots => {
            for x in [3.6, 8.0, 12.4] {
                dot(x, 8.0, 1.2);
            }
        }
        Icon::Pin | Icon::Pinned => {
            if icon == Icon::Pinned {
                painter.rect_filled(Rect::from_min_max(at(5.6, 2.6), at(10.4, 8.6)), 1.0, stroke.color);
            }
            frame(5.6, 2.6, 10.4, 8.6, 1.0);
            line(&[(3.8, 8.8), (12.2, 8.8)]);
            line(&[(8.0, 8.8), (8.0, 13.6)]);
        }
        Icon::Pause => {
            line(&[(5.6, 3.6), (5.6, 12.4)]);
            line(&[(10.4, 3.6), (10.4, 12.4)]);
        }
        Icon::Play => line(&[(5.0, 3.4), (12.2, 8.0), (5.0, 12.6), (5.0, 3.4)]),
        Icon::Search => {
            painter.circle_stroke(at(7.0, 7.0), 4.2, stroke);
            line(&[(10.2, 10.2), (13.4, 13.4)]);
        }
        Icon::History => {
            painter.circle_stroke(at(8.0, 8.0), 5.6, stroke);
            line(&[(8.0, 4.8), (8.0, 8.2), (10.6, 9.6)]);
        }
        Icon::Menu => {
            for y in [4.0, 8.0, 12.0] {
                line(&[(2.5, y), (13.5, y)]);
            }
        }
        Icon::Brush => {
            line(&[(13.4, 2.6), (7.4, 8.6)]);
            painter.add(Shape::closed_line(vec![at(7.2, 8.4), at(8.6, 10.6), at(6.6, 12.8), at(2.6, 13.4), at(4.2, 9.6)], stroke));
        }
        Icon::Eraser => {
            painter.add(Shape::closed_line(vec![at(9.4, 2.8), at(13.4, 6.8), at(7.6, 12.6), at(5.2, 12.6), at(2.8, 9.4)], stroke));
            line(&[(6.0, 6.2), (10.0, 10.2)]);
        }
        Icon::Mask => {
            frame(2.5, 2.5, 13.5, 13.5, 1.5);
            painter.circle_filled(at(8.0, 8.0), 3.2, stroke.color);
        }
        Icon::Lasso => {
            painter.add(Shape::line(arc(at(8.0, 6.6), 4.6, 0.30, 1.20), stroke));
            line(&[(6.6, 11.0), (5.4, 12.2), (6.6, 13.8)]);
        }
        Icon::Selection => {
            for (x, y) in [(2.5, 3.5), (9.5, 3.5), (2.5, 12.5), (9.5, 12.5)] {
                line(&[(x, y), (x + 4.0, y)]);
            }
            for x in [2.5, 13.5] {
                line(&[(x, 5.6), (x, 7.4)]);
                line(&[(x, 9.0), (x, 10.8)]);
            }
        }
        Icon::Bucket => {
            painter.add(Shape::closed_line(vec![at(7.0, 2.8), at(12.2, 8.0), at(7.0, 13.2), at(1.8, 8.0)], stroke));
            line(&[(13.2, 9.6), (13.2, 12.6)]);
            dot(13.2, 12.8, 1.2);
        }
        Icon::Gradient => {
            frame(2.5, 4.0, 13.5, 12.0, 1.0);
            for (x, step) in [(4.2, 1.4), (6.4, 2.4), (9.4, 4.0)] {
                let mut y = 5.6;
                while y < 11.0 {
                    dot(x, y, 0.7);
                    y += step;
                }
            }
        }
        Icon::Pipette => {
            line(&[(3.0, 13.0), (3.4, 10.8), (9.0, 5.2), (10.8, 7.0), (5.2, 12.6), (3.0, 13.0)]);
            line(&[(8.0, 4.2), (11.8, 8.0)]);
            line(&[(10.0, 6.0), (13.0, 3.0)]);
        }
        Icon::Live => {
            let bolt = [(9.4, 2.2), (4.2, 9.0), (7.6, 9.0), (6.6, 13.8), (11.8, 7.0), (8.4, 7.0)];
            painter.add(Shape::closed_line(bolt.map(|(x, y)| at(x, y)).to_vec(), stroke));
        }
        Icon::Crop => {
            line(&[(4.5, 1.8), (4.5, 11.5), (14.2, 11.5)]);
            line(&[(1.8, 4.5), (11.5, 4.5), (11.5, 14.2)]);
        }
        Icon::Layers => {
            painter.add(Shape::closed_line(vec![at(8.0, 2.4), at(14.0, 5.8), at(8.0, 9.2), at(2.0, 5.8)], stroke));
            line(&[(2.0, 9.6), (8.0, 13.0), (14.0, 9.6)]);
        }
        Icon::Eye | Icon::EyeClosed => {
            painter.add(Shape::line(arc(at(8.0, 13.4), 7.6, 0.625, 0.875), stroke));
            painter.add(Shape::line(arc(at(8.0, 2.6), 7.6, 0.125, 0.375), stroke));
            if icon == Icon::Eye {
                painter.circle_filled(at(8.0, 8.0), 1.8, stroke.color);
            } else {
                line(&[(3.0, 13.0), (13.0, 3.0)]);
            }
        }
        Icon::Up => line(&[(3.6, 10.0), (8.0, 5.6), (12.4, 10.0)]),
        Icon::Down => line(&[(3.6, 6.0), (8.0, 10.4), (12.4, 6.0)]),
        Icon::Check => line(&[(3.0, 8.4), (6.6, 12.0), (13.0, 4.6)]),
        Icon::Info => {
            painter.circle_stroke(at(8.0, 8.0), 5.8, stroke);
            line(&[(8.0, 7.4), (8.0, 11.0)]);
            dot(8.0, 5.2, 0.9);
        }
        Icon::Warning => {
            line(&[(8.0, 2.4), (14.2, 13.4), (1.8, 13.4), (8.0, 2.4)]);
            line(&[(8.0, 6.4), (8.0, 9.8)]);
            dot(8.0, 11.6, 0.9);
        }
    }
}

/// A small angle that points so many parts of a turn away from the right.
pub(crate) fn chevron(painter: &Painter, center: Pos2, turn: f32, color: Color32) {
    let (sin, cos) = (turn * TAU).sin_cos();
    let at = |x: f32, y: f32| center + vec2(x * cos - y * sin, x * sin + y * cos);
    painter.add(Shape::line(vec![at(-2.0, -4.0), at(2.0, 0.0), at(-2.0, 4.0)], Stroke::new(1.4, color)));
}

/// Points on a circle, from one part of a turn to another; 0 is to the right, a quarter is down.
fn arc(center: Pos2, radius: f32, from: f32, to: f32) -> Vec<Pos2> {
    const PARTS: u8 = 20;
    (0..=PARTS)
        .map(|part| {
            let angle = (from + (to - from) * f32::from(part) / f32::from(PARTS)) * TAU;
            center + vec2(angle.cos(), angle.sin()) * radius
        })
        .collect()
}

//! The contact sheet: the pictures of the newest job beside those that were chosen before. Pure.
//!
//! Invariants: no picture is in two cells; cells of a job stand in the order of its pictures; there
//! are at most [`MAX_CELLS`].

use eframe::egui::{Rect, Vec2, vec2};

use crate::gui::create::forming::Origin;
use crate::gui::create::session::SessionPictureId;
use atelier_core::recipe::Recipe;
use atelier_engine::JobId;
use atelier_gallery::queue::QueuedJobId;

/// Cells of a sheet; more pictures are in the filmstrip.
const MAX_CELLS: usize = 24;
/// Jobs that are awaited beside a picture; those asked for longest ago are forgotten first.
const MAX_ASKED: usize = 32;
/// Space between cells, in points.
pub(crate) const GAP: f32 = 10.0;

/// A place for a picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The job that makes it; `None` for one that was there before.
    job: Option<QueuedJobId>,
    /// The engine's number of it.
    pub(crate) origin: Option<Origin>,
    /// The picture, once it is finished.
    pub picture: Option<SessionPictureId>,
}

impl Cell {
    const fn of(picture: SessionPictureId) -> Self {
        Self { job: None, origin: None, picture: Some(picture) }
    }
}

/// A job that was asked for beside a picture.
struct AskedJob {
    /// The recipe without its pictures, which the queue puts into files.
    recipe: Recipe,
    of: SessionPictureId,
}

/// The pictures that are no longer seen in their cells, for the moment in which they fade.
#[derive(Default)]
pub(crate) struct LeavingPictures {
    /// Since when, in seconds of `egui`'s clock.
    pub(crate) since_secs: f64,
    /// How many cells there were.
    pub(crate) count: usize,
    /// The pictures, each with the number of its cell.
    pub(crate) pictures: Vec<(usize, SessionPictureId)>,
}

impl LeavingPictures {
    /// The pictures of these cells but for those that stay. `seen_secs`: the time, where the person
    /// sees them.
    fn of(cells: &[Cell], stays: impl Fn(SessionPictureId) -> bool, seen_secs: Option<f64>) -> Self {
        let in_cells = cells.iter().enumerate().filter_map(|(at, cell)| Some((at, cell.picture?)));
        let pictures = in_cells.filter(|(_, picture)| seen_secs.is_some() && !stays(*picture)).collect();
        Self { since_secs: seen_secs.unwrap_or_default(), count: cells.len(), pictures }
    }
}

/// The pictures that are shown side by side.
#[derive(Default)]
pub struct Sheet {
    cells: Vec<Cell>,
    /// The cells of a job that began while the person looked at another picture.
    next: Option<Vec<Cell>>,
    leaving: LeavingPictures,
    /// One of its pictures is shown large instead.
    pub is_large: bool,
    /// The picture that another one is to be compared with.
    pub compared: Option<SessionPictureId>,
    asked: Vec<AskedJob>,
}

/// A way through the cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Left,
    Right,
    Up,
    Down,
}

impl Sheet {
    /// The cells, in the order in which they are shown.
    #[must_use]
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// True where there are several pictures to be seen side by side.
    #[must_use]
    pub fn is_several(&self) -> bool {
        self.cells.len() > 1
    }

    /// True where this picture is in a cell.
    #[must_use]
    pub fn has(&self, picture: SessionPictureId) -> bool {
        self.cells.iter().any(|cell| cell.picture == Some(picture))
    }

    /// The pictures in its cells.
    pub fn pictures(&self) -> impl Iterator<Item = SessionPictureId> {
        self.cells.iter().filter_map(|cell| cell.picture)
    }

    /// The pictures that are no longer seen since others came last, or one was made large.
    #[must_use]
    pub(crate) fn leaving(&self) -> &LeavingPictures {
        &self.leaving
    }

    /// Puts these cells in the place of all others. `seen_secs`: the time, where the person sees
    /// them.
    fn replace(&mut self, cells: Vec<Cell>, seen_secs: Option<f64>) {
        let before = std::mem::replace(&mut self.cells, cells);
        self.leaving = LeavingPictures::of(&before, |picture| self.has(picture), seen_secs);
    }

    /// One picture is shown large in the place of all. `seen_secs`: the time, where the person sees
    /// the sheet.
    pub(crate) fn enlarge(&mut self, chosen: Option<SessionPictureId>, seen_secs: Option<f64>) {
        self.is_large = true;
        self.leaving = LeavingPictures::of(&self.cells, |picture| chosen == Some(picture), seen_secs);
    }

    /// The pictures are shown side by side again.
    pub(crate) fn go_back(&mut self) {
        self.is_large = false;
        self.leaving = LeavingPictures::default();
    }

    /// The pictures of a job of this recipe, without its pictures, are to stand beside this one.
    pub(crate) fn ask_beside(&mut self, recipe: Recipe, of: SessionPictureId) {
        if self.asked.len() >= MAX_ASKED {
            self.asked.remove(0);
        }
        self.asked.push(AskedJob { recipe, of });
    }

    /// A job begins. `recipe`: without its pictures. `chosen`: the pictures that stay. Where
    /// `follows` is false, the person looks at something else, and the cells wait. `seen_secs`: the
    /// time, where the sheet is what the person sees.
    pub(crate) fn begin_job(
        &mut self,
        (job, engine_job): (QueuedJobId, JobId),
        (recipe, count): (&Recipe, u32),
        chosen: impl Iterator<Item = SessionPictureId>,
        follows: bool,
        seen_secs: Option<f64>,
    ) {
        let cell = |index| Cell { job: Some(job), origin: Some((engine_job, index)), picture: None };
        let new = (0..count.max(1)).map(cell).take(MAX_CELLS);
        // The rest of a job that was interrupted.
        if self.cells.iter().any(|cell| cell.job == Some(job)) {
            self.cells.extend(new);
            self.cells.truncate(MAX_CELLS);
            return;
        }
        if let Some(at) = self.asked.iter().position(|asked| asked.recipe == *recipe) {
            let AskedJob { of, .. } = self.asked.remove(at);
            if !self.has(of) {
                self.cells = vec![Cell::of(of)];
            }
            let room = MAX_CELLS.saturating_sub(count as usize).max(1);
            // The picture itself stays, and so do the newest.
            while self.cells.len() > room {
                let Some(at) = self.cells.iter().position(|cell| cell.picture.is_some_and(|id| id != of)) else { break };
                self.cells.remove(at);
            }
            self.cells.extend(new);
            self.cells.truncate(MAX_CELLS);
            self.is_large = false;
            return;
        }
        let room = MAX_CELLS.saturating_sub(count as usize);
        let mut cells: Vec<Cell> = chosen.map(Cell::of).take(room).collect();
        cells.extend(new);
        if follows {
            self.replace(cells, seen_secs);
            self.is_large = false;
            self.next = None;
        } else {
            self.next = Some(cells);
        }
    }

    /// The person looks at what is made now. `seen_secs`: the time, where the sheet is what they
    /// saw.
    pub(crate) fn follow(&mut self, seen_secs: Option<f64>) {
        self.is_large = false;
        if let Some(cells) = self.next.take() {
            self.replace(cells, seen_secs);
        }
    }

    /// A picture is finished.
    pub(crate) fn finish(&mut self, origin: Origin, picture: SessionPictureId) {
        for cell in self.cells.iter_mut().chain(self.next.iter_mut().flatten()) {
            if cell.origin == Some(origin) {
                cell.picture = Some(picture);
            }
        }
    }

    /// A job has ended: what it did not make has no place.
    pub(crate) fn end_job(&mut self, job: JobId) {
        let is_made = |cell: &Cell| cell.picture.is_some() || cell.origin.is_none_or(|(of, _)| of != job);
        self.cells.retain(is_made);
        if let Some(next) = &mut self.next {
            next.retain(is_made);
        }
    }

    /// A picture is gone.
    pub(crate) fn remove(&mut self, picture: SessionPictureId) {
        let is_other = |cell: &Cell| cell.picture != Some(picture);
        self.cells.retain(is_other);
        if let Some(next) = &mut self.next {
            next.retain(is_other);
        }
        self.compared = self.compared.filter(|it| *it != picture);
        self.asked.retain(|asked| asked.of != picture);
    }

    /// The picture that lies in this direction of one, in so many columns; the nearest one that is
    /// finished.
    #[must_use]
    pub fn neighbour(&self, of: Option<SessionPictureId>, direction: Direction, columns: usize) -> Option<SessionPictureId> {
        let Some(at) = of.and_then(|of| self.cells.iter().position(|cell| cell.picture == Some(of))) else {
            return self.pictures().next();
        };
        let is_same_column = |other: &usize| other % columns.max(1) == at % columns.max(1);
        let after = at + 1..self.cells.len();
        let finished = |at: usize| self.cells[at].picture;
        match direction {
            Direction::Left => (0..at).rev().find_map(finished),
            Direction::Right => after.into_iter().find_map(finished),
            Direction::Up => (0..at).rev().filter(is_same_column).find_map(finished),
            Direction::Down => after.filter(is_same_column).find_map(finished),
        }
    }
}

/// Where cells of this shape lie in a room, so that they are largest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SheetLayout {
    pub(crate) columns: usize,
    /// Size of a cell, in points.
    cell: Vec2,
    /// Left top corner of the first.
    origin: eframe::egui::Pos2,
    count: usize,
}

impl SheetLayout {
    /// A layout of this many cells for pictures of this width through height.
    #[must_use]
    pub(crate) fn of(count: usize, aspect: f32, room: Rect) -> Self {
        let aspect = if aspect.is_finite() { aspect.clamp(0.1, 10.0) } else { 1.0 };
        let count = count.max(1);
        let width = |columns: usize| {
            let rows = count.div_ceil(columns);
            let wide = (room.width() - GAP * (columns - 1) as f32) / columns as f32;
            let high = (room.height() - GAP * (rows - 1) as f32) / rows as f32;
            wide.min(high * aspect).max(1.0)
        };
        let columns = (1..=count).max_by(|one, other| width(*one).total_cmp(&width(*other)).then(other.cmp(one))).unwrap_or(1);
        let cell = vec2(width(columns), width(columns) / aspect);
        let rows = count.div_ceil(columns);
        let all = vec2(cell.x * columns as f32 + GAP * (columns - 1) as f32, cell.y * rows as f32 + GAP * (rows - 1) as f32);
        Self { columns, cell, origin: Rect::from_center_size(room.center(), all).min, count }
    }

    /// The place of a cell.
    #[must_use]
    pub(crate) fn rect(&self, at: usize) -> Rect {
        let (row, column) = (at / self.columns, at % self.columns);
        // A last row that is not full stands in the middle.
        let in_row = (self.count - row * self.columns).min(self.columns);
        let indent = (self.columns - in_row) as f32 * (self.cell.x + GAP) / 2.0;
        let min = self.origin + vec2(indent + column as f32 * (self.cell.x + GAP), row as f32 * (self.cell.y + GAP));
        Rect::from_min_size(min, self.cell)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::recipe::Seed;
    use eframe::egui::pos2;

    const ID: fn(u64) -> SessionPictureId = SessionPictureId;

    fn begin(sheet: &mut Sheet, job: u64, count: u32, chosen: &[u64], follows: bool) {
        let recipe = Recipe { seed: Some(Seed(job)), ..Recipe::default() };
        let numbers = (QueuedJobId(job.cast_signed()), JobId(job));
        sheet.begin_job(numbers, (&recipe, count), chosen.iter().copied().map(ID), follows, Some(job as f64));
    }

    fn shown(sheet: &Sheet) -> Vec<Option<u64>> {
        sheet.cells().iter().map(|cell| cell.picture.map(|it| it.0)).collect()
    }

    #[test]
    fn a_new_job_takes_the_place_of_the_last_but_for_what_was_chosen() {
        let mut sheet = Sheet::default();
        begin(&mut sheet, 1, 3, &[], true);
        assert_eq!(shown(&sheet), [None; 3]);
        for index in 0..3 {
            sheet.finish((JobId(1), index), ID(u64::from(index)));
        }
        sheet.end_job(JobId(1));
        begin(&mut sheet, 2, 2, &[1], true);
        assert_eq!(shown(&sheet), [Some(1), None, None]);
        let LeavingPictures { since_secs, count, pictures } = sheet.leaving();
        assert_eq!((*since_secs, *count, pictures.as_slice()), (2.0, 3, [(0, ID(0)), (2, ID(2))].as_slice()));
    }

    #[test]
    fn the_others_leave_where_one_is_made_large_and_none_does_on_the_way_back() {
        let mut sheet = Sheet::default();
        begin(&mut sheet, 1, 3, &[], true);
        for index in 0..2 {
            sheet.finish((JobId(1), index), ID(u64::from(index)));
        }
        sheet.enlarge(Some(ID(1)), Some(4.0));
        assert_eq!((sheet.is_large, sheet.leaving().count, sheet.leaving().pictures.as_slice()), (true, 3, [(0, ID(0))].as_slice()));
        sheet.go_back();
        assert!(!sheet.is_large && sheet.leaving().pictures.is_empty());
        assert_eq!(shown(&sheet), [Some(0), Some(1), None]);
    }

    #[test]
    fn nothing_fades_where_nobody_sees_the_sheet() {
        let mut sheet = Sheet::default();
        begin(&mut sheet, 1, 2, &[], true);
        sheet.finish((JobId(1), 0), ID(0));
        let numbers = (QueuedJobId(2), JobId(2));
        sheet.begin_job(numbers, (&Recipe::default(), 1), std::iter::empty(), true, None);
        assert_eq!((shown(&sheet), sheet.leaving().pictures.len()), (vec![None], 0));
    }

    #[test]
    fn who_looks_at_another_picture_keeps_the_sheet_until_the_new_one_is_asked_for() {
        let mut sheet = Sheet::default();
        begin(&mut sheet, 1, 2, &[], true);
        sheet.finish((JobId(1), 0), ID(0));
        begin(&mut sheet, 2, 2, &[], false);
        sheet.finish((JobId(2), 1), ID(5));
        assert_eq!(shown(&sheet), [Some(0), None]);
        sheet.follow(Some(7.0));
        assert_eq!(shown(&sheet), [None, Some(5)]);
        assert_eq!((sheet.leaving().since_secs, sheet.leaving().pictures.as_slice()), (7.0, [(0, ID(0))].as_slice()));
    }

    #[test]
    fn what_a_job_did_not_make_has_no_cell_and_the_rest_of_one_comes_to_it() {
        let mut sheet = Sheet::default();
        begin(&mut sheet, 1, 4, &[], true);
        sheet.finish((JobId(1), 0), ID(0));
        sheet.end_job(JobId(1));
        assert_eq!(shown(&sheet), [Some(0)]);
        let recipe = Recipe::default();
        sheet.begin_job((QueuedJobId(1), JobId(9)), (&recipe, 3), std::iter::empty(), true, None);
        assert_eq!(shown(&sheet), [Some(0), None, None, None]);
    }

    #[test]
    fn neighbours_stand_beside_the_picture_that_they_are_of() {
        let mut sheet = Sheet::default();
        begin(&mut sheet, 1, 2, &[], true);
        sheet.finish((JobId(1), 0), ID(0));
        sheet.finish((JobId(1), 1), ID(1));
        sheet.is_large = true;
        let near = Recipe { seed: Some(Seed(77)), ..Recipe::default() };
        sheet.ask_beside(near.clone(), ID(1));
        sheet.begin_job((QueuedJobId(2), JobId(2)), (&near, 2), std::iter::empty(), false, None);
        assert_eq!(shown(&sheet), [Some(0), Some(1), None, None]);
        assert!(!sheet.is_large);
        // Of a picture that is in no cell.
        sheet.ask_beside(near.clone(), ID(9));
        sheet.begin_job((QueuedJobId(3), JobId(3)), (&near, 1), std::iter::empty(), false, None);
        assert_eq!(shown(&sheet), [Some(9), None]);
    }

    #[test]
    fn a_sheet_is_bounded() {
        let mut sheet = Sheet::default();
        begin(&mut sheet, 1, 1000, &[1, 2], true);
        assert_eq!(sheet.cells().len(), MAX_CELLS);
        for index in 0..24 {
            sheet.finish((JobId(1), index), ID(u64::from(index)));
        }
        let near = Recipe { seed: Some(Seed(77)), ..Recipe::default() };
        sheet.ask_beside(near.clone(), ID(3));
        sheet.begin_job((QueuedJobId(2), JobId(2)), (&near, 4), std::iter::empty(), true, None);
        assert_eq!(sheet.cells().len(), MAX_CELLS);
        assert!(sheet.has(ID(3)) && sheet.cells()[20..].iter().all(|cell| cell.picture.is_none()));
    }

    #[test]
    fn arrows_find_the_nearest_finished_picture_in_their_direction() {
        let mut sheet = Sheet::default();
        begin(&mut sheet, 1, 6, &[], true);
        for index in [0, 1, 2, 3, 5] {
            sheet.finish((JobId(1), index), ID(u64::from(index)));
        }
        let go = |from: u64, way| sheet.neighbour(Some(ID(from)), way, 3).map(|it| it.0);
        assert_eq!(go(0, Direction::Right), Some(1));
        assert_eq!(go(3, Direction::Right), Some(5), "the fifth forms");
        assert_eq!(go(1, Direction::Down), None, "the one below forms");
        assert_eq!((go(2, Direction::Down), go(5, Direction::Up)), (Some(5), Some(2)));
        assert_eq!((go(0, Direction::Left), go(5, Direction::Right)), (None, None));
        assert_eq!(sheet.neighbour(None, Direction::Left, 3), Some(ID(0)));
    }

    #[test]
    fn cells_are_as_large_as_the_room_allows_and_lie_in_it() {
        let room = Rect::from_min_size(pos2(10.0, 20.0), vec2(1000.0, 700.0));
        for (count, aspect, columns) in [(1, 1.0, 1), (2, 1.0, 2), (4, 1.0, 2), (4, 0.5, 4), (8, 1.0, 4), (3, 2.0, 2)] {
            let layout = SheetLayout::of(count, aspect, room);
            assert_eq!(layout.columns, columns, "{count} of {aspect}");
            let rects: Vec<Rect> = (0..count).map(|at| layout.rect(at)).collect();
            for (at, rect) in rects.iter().enumerate() {
                assert!(room.expand(0.1).contains_rect(*rect) && (rect.aspect_ratio() - aspect).abs() < 0.01, "{rect:?}");
                assert!(rects[..at].iter().all(|other| !other.shrink(0.1).intersects(*rect)));
            }
        }
        assert!(SheetLayout::of(5, f32::NAN, Rect::from_min_size(pos2(0.0, 0.0), Vec2::ZERO)).rect(4).is_finite());
    }
}

//! The sheet that was made last, kept in a file: which jobs of the queue make its cells, and what
//! they made. It is there again at the next start, also where it is not finished.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use atelier_core::grid::{Captions, Cell, Grid, MAX_CELLS, Place, Turn};
use atelier_core::paths::write_private;
use atelier_core::stored_file::{Unreadable, put_aside, read_stored};
use atelier_gallery::queue::QueuedJobId;
use atelier_language::tr;

/// A file that is larger holds no sheet.
const MAX_BYTES: u64 = 16 << 20;
/// The form of the file.
const VERSION: u32 = 1;

/// A sheet whose cells are jobs of the queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptSheet {
    /// Names of its axes and of their values.
    pub captions: Captions,
    /// The cells that are made.
    pub cells: Vec<Place>,
    /// What is made of them, in the order of the jobs.
    pub turns: Vec<SheetTurn>,
    /// The number of its group in the queue and the gallery.
    pub group: i64,
    /// The prompt of its first cell, by which a file of it is named.
    pub prompt: String,
    /// Files of drafts.
    pub drafts: BTreeMap<Place, PathBuf>,
    /// Files of finished pictures.
    pub pictures: BTreeMap<Place, PathBuf>,
}

/// A job of a sheet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SheetTurn {
    /// The cells that it is of.
    pub cells: Vec<Place>,
    /// It makes a draft of them.
    pub is_draft: bool,
    /// Its number, once the queue has told it.
    pub job: Option<i64>,
}

/// The form of the file: places are no keys in JSON.
#[derive(Serialize, Deserialize)]
struct Stored {
    version: u32,
    captions: Captions,
    cells: Vec<Place>,
    turns: Vec<SheetTurn>,
    group: i64,
    prompt: String,
    drafts: Vec<(Place, PathBuf)>,
    pictures: Vec<(Place, PathBuf)>,
}

impl SheetTurn {
    /// Its job, once the queue has told of it.
    #[must_use]
    pub fn job(&self) -> Option<QueuedJobId> {
        self.job.map(QueuedJobId)
    }
}

impl KeptSheet {
    /// A sheet of these cells that is about to be made in these turns.
    #[must_use]
    pub fn new(grid: &Grid, cells: &[Cell], turns: &[Turn], group: i64) -> Self {
        let place = |index: &usize| cells.get(*index).map(|cell| cell.at);
        let turn = |turn: &Turn| SheetTurn { cells: turn.cells.iter().filter_map(place).collect(), is_draft: turn.is_draft, job: None };
        Self {
            captions: grid.captions().clone(),
            cells: cells.iter().map(|cell| cell.at).collect(),
            turns: turns.iter().map(turn).collect(),
            group,
            prompt: cells.first().map(|cell| cell.recipe.prompt.clone()).unwrap_or_default(),
            drafts: BTreeMap::new(),
            pictures: BTreeMap::new(),
        }
    }

    /// The turn that finishes a cell.
    #[must_use]
    pub fn finishing(&self, at: Place) -> Option<&SheetTurn> {
        self.turns.iter().find(|turn| !turn.is_draft && turn.cells.contains(&at))
    }

    /// The turn that makes the draft of a cell, where it has one.
    #[must_use]
    pub fn drafting(&self, at: Place) -> Option<&SheetTurn> {
        self.turns.iter().find(|turn| turn.is_draft && turn.cells.contains(&at))
    }

    /// Reads the sheet; `None` where there is none. One that makes no sense is put aside. Blocks.
    ///
    /// # Errors
    /// Why it cannot be read, as a clause.
    pub fn read(path: &Path) -> Result<Option<Self>, String> {
        let parse = |bytes: &[u8]| {
            let stored: Stored = serde_json::from_slice(bytes).map_err(Unreadable::damaged)?;
            if stored.version > VERSION {
                return Err(Unreadable::Newer);
            }
            Self::checked(stored).ok_or_else(|| Unreadable::damaged(tr!("studio-it-is-not-a-sheet")))
        };
        read_stored(path, MAX_BYTES, parse).map_err(|error| {
            if matches!(error, Unreadable::Damaged(_))
                && let Err(error) = put_aside(path)
            {
                tracing::warn!("{} stays where it is: {error}", path.display());
            }
            error.to_string()
        })
    }

    fn checked(stored: Stored) -> Option<Self> {
        let Stored { version: _, captions, cells, turns, group, prompt, drafts, pictures } = stored;
        let are_few = cells.len() <= MAX_CELLS && turns.len() <= 2 * MAX_CELLS && turns.iter().all(|turn| turn.cells.len() <= MAX_CELLS);
        if !captions.are_of_a_sheet() || !are_few {
            return None;
        }
        let in_turns = turns.iter().flat_map(|turn| &turn.cells);
        let with_files = drafts.iter().chain(&pictures).map(|(at, _)| at);
        let mut places = cells.iter().chain(in_turns).chain(with_files);
        let has_all = places.all(|at| captions.has(*at));
        let (drafts, pictures) = (drafts.into_iter().collect(), pictures.into_iter().collect());
        has_all.then_some(Self { captions, cells, turns, group, prompt, drafts, pictures })
    }

    /// Writes the sheet, for its owner alone: it holds words of prompts. Blocks.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let files = |files: &BTreeMap<Place, PathBuf>| files.iter().map(|(at, path)| (*at, path.clone())).collect();
        let stored = Stored {
            version: VERSION,
            captions: self.captions.clone(),
            cells: self.cells.clone(),
            turns: self.turns.clone(),
            group: self.group,
            prompt: self.prompt.clone(),
            drafts: files(&self.drafts),
            pictures: files(&self.pictures),
        };
        write_private(path, &serde_json::to_vec(&stored)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet() -> KeptSheet {
        let captions = serde_json::from_str(r#"[{"name":"steps","values":["8","16"]},{"name":"seed","values":["1"]}]"#).unwrap();
        let (one, two) = ([0, 0, 0], [1, 0, 0]);
        KeptSheet {
            captions,
            cells: vec![one, two],
            turns: vec![
                SheetTurn { cells: vec![one, two], is_draft: true, job: Some(4) },
                SheetTurn { cells: vec![one], is_draft: false, job: Some(5) },
                SheetTurn { cells: vec![two], is_draft: false, job: None },
            ],
            group: 99,
            prompt: "a lake".into(),
            drafts: BTreeMap::from([(one, "/p/draft.png".into()), (two, "/p/draft.png".into())]),
            pictures: BTreeMap::from([(one, "/p/one.png".into())]),
        }
    }

    #[test]
    fn a_sheet_comes_back_as_it_was_and_knows_the_turns_of_its_cells() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data/sheet.json");
        assert_eq!(KeptSheet::read(&path), Ok(None));
        sheet().write(&path).unwrap();
        let read = KeptSheet::read(&path).unwrap().unwrap();
        assert_eq!(read, sheet());
        let second = [1, 0, 0];
        assert_eq!(read.finishing(second).and_then(SheetTurn::job), None);
        assert_eq!(read.drafting(second).and_then(SheetTurn::job), Some(QueuedJobId(4)));
        assert_eq!(read.captions.caption(second), "steps 16, seed 1");
    }

    #[test]
    fn what_is_no_sheet_is_put_aside_and_one_of_a_newer_version_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sheet.json");
        sheet().write(&path).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        for (from, to) in [("[1,0,0]", "[2,0,0]"), ("\"captions\":[", "\"captions\":[{\"name\":\"x\",\"values\":[]},"), ("{", "")] {
            std::fs::write(&path, text.replacen(from, to, 1)).unwrap();
            assert!(KeptSheet::read(&path).is_err(), "{to}");
            assert!(!path.exists(), "{to}: it is put aside");
        }
        std::fs::write(&path, text.replacen("\"version\":1", "\"version\":2", 1)).unwrap();
        assert!(KeptSheet::read(&path).unwrap_err().contains("newer") && path.exists());
    }
}

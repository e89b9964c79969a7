//! Conditions that the terms of a search stand for.

use std::ops::Bound;

use atelier_media::Tool;

use crate::picture::{PictureFlag, PictureKind, PictureState};

/// A condition that a picture meets or does not.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Condition {
    /// Text of a person or a program.
    Words {
        text: String,
        columns: TextColumns,
        matching: Matching,
    },
    /// Model by name, file or hash.
    Model(String),
    /// LoRA by name or hash.
    Lora(String),
    /// Tag, or tags that begin so.
    Tag {
        name: String,
        is_prefix: bool,
    },
    Board(String),
    /// Part of the name of who asked for it.
    Owner(String),
    /// Part of the folder's path.
    Folder(String),
    Sampler(String),
    Scheduler(String),
    Tool(Tool),
    Kind(PictureKind),
    State(PictureState),
    Flag(FlagFilter),
    /// Both bounds included. They may lie beyond what the column holds.
    Integer {
        column: IntegerColumn,
        least: Option<i128>,
        most: Option<i128>,
    },
    Guidance(Bound<f64>, Bound<f64>),
    Time(Period),
    Size(u32, u32),
    Shape(Shape),
    Has(Part),
}

/// Texts that are searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextColumns {
    /// Prompt, note, file name, tags, model and LoRAs.
    Any,
    Prompt,
    NegativePrompt,
    Note,
    FileName,
}

/// How a text is searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Matching {
    /// At the beginning of words; inside of words where no word begins so.
    WordStart,
    /// Whole words in this order.
    Phrase,
    /// Anywhere; also for scripts that write no spaces.
    Inside,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlagFilter {
    Is(PictureFlag),
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IntegerColumn {
    Seed,
    Steps,
    Width,
    Height,
    Rating,
    Batch,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Portrait,
    Landscape,
    Square,
}

/// Something that a picture has or lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Note,
    Tag,
    Board,
    Lora,
    Recipe,
    Parent,
    Owner,
}

/// Units of time that go back from now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimeUnit {
    /// 60 minutes.
    Hour,
    /// 24 hours.
    Day,
    /// 7 days.
    Week,
    /// A month of the calendar.
    Month,
    /// A year of the calendar.
    Year,
}

/// A point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// So long before now.
    Ago(u32, TimeUnit),
    /// The beginning of the local day so many days before today.
    DaysBeforeToday(u32),
    /// The beginning of this local day; month and day are 1 where they were not said.
    Date { year: u16, month: u8, day: u8 },
}

/// A period of time; the end is not included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Period {
    Since(Moment),
    Before(Moment),
    /// One unit from this moment on.
    During(Moment, TimeUnit),
}

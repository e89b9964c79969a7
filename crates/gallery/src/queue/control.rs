//! State of the queue as a whole, which all processes share.

use rusqlite::params;

use crate::{Database, GalleryError};

/// Extent of a pause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PauseMode {
    /// Jobs run.
    #[default]
    No,
    /// The forming picture is finished; nothing more begins.
    AfterPicture,
    /// The forming picture is stopped, and begun again later.
    Now,
}

impl PauseMode {
    /// Its word in the database and in `--json`.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::No => "no",
            Self::AfterPicture => "after picture",
            Self::Now => "now",
        }
    }

    fn from_key(key: &str) -> Self {
        // A word of a later version pauses: nothing is begun that was not meant to be.
        [Self::No, Self::Now].into_iter().find(|mode| mode.key() == key).unwrap_or(Self::AfterPicture)
    }
}

/// State of the queue as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueControl {
    /// The pause.
    pub pause: PauseMode,
    /// Jobs whose model is in memory may go before others of their lane.
    pub follows_model: bool,
    /// A window asks the process that runs the queue to hand it over after the forming picture.
    pub is_wanted: bool,
}

impl Default for QueueControl {
    fn default() -> Self {
        Self { pause: PauseMode::No, follows_model: true, is_wanted: false }
    }
}

impl Database {
    /// State of the queue as a whole.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn queue_control(&self) -> Result<QueueControl, GalleryError> {
        let query = "SELECT pause, follows_model, is_wanted FROM queue_control";
        Ok(self.connection().query_row(query, [], |row| {
            let pause = PauseMode::from_key(&row.get::<_, String>(0)?);
            Ok(QueueControl { pause, follows_model: row.get(1)?, is_wanted: row.get(2)? })
        })?)
    }

    /// Pauses the queue, or lets it run.
    ///
    /// # Errors
    /// If the database cannot be written to.
    pub fn set_queue_pause(&mut self, pause: PauseMode) -> Result<(), GalleryError> {
        self.write(|transaction| {
            transaction.execute("UPDATE queue_control SET pause = ?1", [pause.key()])?;
            Ok(())
        })
    }

    /// Lets jobs whose model is in memory go before others of their lane, or not.
    ///
    /// # Errors
    /// If the database cannot be written to.
    pub fn set_follows_model(&mut self, follows: bool) -> Result<(), GalleryError> {
        self.write(|transaction| {
            transaction.execute("UPDATE queue_control SET follows_model = ?1", params![follows])?;
            Ok(())
        })
    }

    /// Asks the process that runs the queue to hand it over, or no longer.
    ///
    /// # Errors
    /// If the database cannot be written to.
    pub fn set_queue_wanted(&mut self, is_wanted: bool) -> Result<(), GalleryError> {
        self.write(|transaction| {
            transaction.execute("UPDATE queue_control SET is_wanted = ?1", params![is_wanted])?;
            Ok(())
        })
    }

    /// A number that differs from the last one where another connection has changed the database.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn data_version(&self) -> Result<i64, GalleryError> {
        Ok(self.connection().query_row("PRAGMA data_version", [], |row| row.get(0))?)
    }
}

//! Reading pictures of the index.

use std::collections::{BTreeSet, HashMap};

use atelier_media::{PictureLora, PictureModel, PictureSettings, StoredRecipe};
use rusqlite::{OptionalExtension, Row, params};

use crate::file_identity::FileHash;
use crate::picture::{PictureDetails, PictureFlag, PictureKind, PictureState, PictureSummary, tool_from_key};
use crate::queue::Owner;
use crate::stored_path::{StoredPath, id_list};
use crate::{Database, GalleryError, PictureId};
use atelier_core::recipe::Seed;

/// Columns of a summary, from `picture p`, `folder f`, `picture_text t` and `picture_recipe r`. Of
/// recipes only those that may be of drafts.
const SUMMARY: &str = "p.id, f.path, p.relative_path, p.file_hash, p.bytes, p.width, p.height, p.state, p.kind, p.tool, p.rating, p.flag, \
    p.created_ms, substr(t.prompt, 1, 200), CASE WHEN instr(r.recipe, '\"last_step\"') > 0 THEN r.recipe END";
/// Columns of a summary.
const SUMMARY_COLUMNS: usize = 15;

/// The newest pictures made with each model and each LoRA.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LatestPictures {
    /// By name of the model's main file, where Atelier made the picture.
    pub by_model_file: HashMap<String, PictureId>,
    /// By the model's name as the program wrote it.
    pub by_model_name: HashMap<String, PictureId>,
    /// By the LoRA's name as the program wrote it; Atelier writes the file's name without its
    /// ending.
    pub by_lora: HashMap<String, PictureId>,
}

impl Database {
    /// Pictures in the order of their ids here; those that are no longer in the index are left out.
    /// Blocks; under a millisecond for a page.
    ///
    /// # Errors
    /// The database's.
    pub fn pictures(&self, ids: &[PictureId]) -> Result<Vec<PictureSummary>, GalleryError> {
        let sql = format!(
            "SELECT {SUMMARY} FROM json_each(?1) wanted JOIN picture p ON p.id = wanted.value JOIN folder f ON f.id = p.folder_id \
            JOIN picture_text t ON t.picture_id = p.id LEFT JOIN picture_recipe r ON r.picture_id = p.id ORDER BY wanted.id"
        );
        let mut statement = self.connection().prepare_cached(&sql)?;
        let rows = statement.query_map([id_list(ids.iter().map(|id| id.0))], summary)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Everything that the index knows of a picture; `None` where it is not in the index.
    ///
    /// # Errors
    /// The database's.
    pub fn picture(&self, id: PictureId) -> Result<Option<PictureDetails>, GalleryError> {
        let connection = self.connection();
        let sql = format!(
            "SELECT {SUMMARY}, t.prompt, t.negative_prompt, t.note, m.name, m.hash, m.file, p.seed, p.steps, p.guidance, p.sampler, \
                p.scheduler, p.parent_id, p.batch_id, r.recipe, p.owner \
            FROM picture p JOIN folder f ON f.id = p.folder_id JOIN picture_text t ON t.picture_id = p.id \
            LEFT JOIN model m ON m.id = p.model_id LEFT JOIN picture_recipe r ON r.picture_id = p.id WHERE p.id = ?1"
        );
        let at = |index: usize| SUMMARY_COLUMNS + index;
        let row = connection.prepare_cached(&sql)?.query_row([id.0], |row| {
            let summary = summary(row)?;
            let text = |index| Ok::<_, rusqlite::Error>(text(row, at(index))?.filter(|it| !it.is_empty()));
            let (name, hash) = (text(3)?, text(4)?);
            let settings = PictureSettings {
                tool: summary.tool,
                width: summary.width,
                height: summary.height,
                prompt: text(0)?,
                negative_prompt: text(1)?,
                seed: integer(row, at(6))?.map(Seed::from_bits),
                steps: integer(row, at(7))?,
                guidance: row.get_ref(at(8))?.as_f64().ok().map(|it| it as f32),
                sampler: text(9)?,
                scheduler: text(10)?,
                model: (name.is_some() || hash.is_some()).then_some(PictureModel { name, hash }),
                recipe: text(13)?.and_then(|it| StoredRecipe::from_json(&it)),
                ..PictureSettings::default()
            };
            let batch: Option<i64> = integer(row, at(12))?;
            let details = PictureDetails {
                summary,
                settings,
                model_file: text(5)?,
                tags: Vec::new(),
                boards: Vec::new(),
                note: text(2)?.unwrap_or_default(),
                owner: text(14)?.and_then(|name| Owner::of_picture(&name)).unwrap_or_else(Owner::person),
                parent: integer(row, at(11))?.map(PictureId),
                children: Vec::new(),
                batch: Vec::new(),
            };
            Ok((details, batch))
        });
        let Some((mut details, batch)) = row.optional()? else { return Ok(None) };
        // Of a LoRA the rows have one strength; the recipe has the rest.
        details.settings.loras = match &details.settings.recipe {
            Some(recipe) => recipe.loras(),
            None => self.loras(id)?,
        };
        details.tags = self.names("SELECT name FROM picture_tag JOIN tag ON tag.id = tag_id WHERE picture_id = ?1 ORDER BY name", id)?;
        details.boards =
            self.names("SELECT name FROM picture_board JOIN board ON board.id = board_id WHERE picture_id = ?1 ORDER BY name", id)?;
        details.children = self.ids("SELECT id FROM picture WHERE parent_id = ?1 AND state <> 'trashed' ORDER BY id DESC", id.0)?;
        if let Some(batch) = batch {
            details.batch = self.ids("SELECT id FROM picture WHERE batch_id = ?1 AND state <> 'trashed' ORDER BY id DESC", batch)?;
            details.batch.retain(|it| *it != id);
        }
        Ok(Some(details))
    }

    /// Those of these names of PNG files that the recipe of a picture has, wherever that is now: also
    /// of pictures that are missing or in the trash. One pass over all recipes. Blocks.
    ///
    /// # Errors
    /// The database's.
    pub fn names_in_recipes(&self, names: &BTreeSet<String>) -> Result<BTreeSet<String>, GalleryError> {
        const ENDING: &str = ".png";
        let mut statement = self.connection().prepare_cached("SELECT recipe FROM picture_recipe WHERE instr(recipe, '.png') > 0")?;
        let mut rows = statement.query([])?;
        let mut found = BTreeSet::new();
        while let Some(row) = rows.next()? {
            let Ok(recipe) = row.get_ref(0)?.as_str() else { continue };
            // A name stands between quotes, after a slash where it is a path.
            for (at, _) in recipe.match_indices(ENDING) {
                let before = recipe.get(..at).unwrap_or_default();
                let stem = before.rsplit(['"', '/', '\\']).next().unwrap_or_default();
                let name = format!("{stem}{ENDING}");
                if names.contains(&name) {
                    found.insert(name);
                }
            }
        }
        Ok(found)
    }

    /// The newest picture of each model and each LoRA whose file is there. Blocks.
    ///
    /// # Errors
    /// The database's.
    pub fn latest_pictures(&self) -> Result<LatestPictures, GalleryError> {
        let latest = |sql: &str| -> Result<HashMap<String, PictureId>, GalleryError> {
            let mut statement = self.connection().prepare_cached(sql)?;
            let rows = statement.query_map([], |row| Ok((row.get(0)?, PictureId(row.get(1)?))))?;
            Ok(rows.collect::<Result<_, _>>()?)
        };
        let by_model = "SELECT m.name, max(p.id) FROM picture p JOIN model m ON m.id = p.model_id \
            WHERE p.state = 'here' AND m.name <> '' GROUP BY m.name";
        Ok(LatestPictures {
            by_model_file: latest(&by_model.replace("m.name", "m.file"))?,
            by_model_name: latest(by_model)?,
            by_lora: latest(
                "SELECT l.name, max(p.id) FROM picture_lora pl JOIN lora l ON l.id = pl.lora_id JOIN picture p ON p.id = pl.picture_id \
                WHERE p.state = 'here' GROUP BY l.name",
            )?,
        })
    }

    /// The person's best pictures made with the model of this name and main file, as far as they are
    /// there: picked ones first, then by stars, then the newest; none that were rejected or that others
    /// asked for. Blocks.
    ///
    /// # Errors
    /// The database's.
    pub fn best_of_model(&self, name: &str, file: &str, count: usize) -> Result<Vec<PictureId>, GalleryError> {
        let sql = "SELECT p.id FROM picture p JOIN model m ON m.id = p.model_id \
            WHERE m.name = ?1 AND m.file = ?2 AND p.state = 'here' AND p.owner IS NULL AND p.flag IS NOT 'reject' \
            ORDER BY p.flag IS 'pick' DESC, p.rating DESC, p.id DESC LIMIT ?3";
        let mut statement = self.connection().prepare_cached(sql)?;
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        let ids = statement.query_map(params![name, file, count], |row| row.get(0).map(PictureId))?;
        Ok(ids.collect::<Result<_, _>>()?)
    }

    fn loras(&self, id: PictureId) -> Result<Vec<PictureLora>, GalleryError> {
        let sql = "SELECT name, hash, strength FROM picture_lora JOIN lora ON lora.id = lora_id WHERE picture_id = ?1 ORDER BY position";
        let mut statement = self.connection().prepare_cached(sql)?;
        let rows = statement.query_map([id.0], |row| {
            let hash = Some(row.get::<_, String>(1)?).filter(|it| !it.is_empty());
            Ok(PictureLora::new(row.get(0)?, hash, row.get::<_, f64>(2)? as f32))
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    fn names(&self, sql: &str, id: PictureId) -> Result<Vec<String>, GalleryError> {
        let mut statement = self.connection().prepare_cached(sql)?;
        let rows = statement.query_map([id.0], |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    fn ids(&self, sql: &str, value: i64) -> Result<Vec<PictureId>, GalleryError> {
        let mut statement = self.connection().prepare_cached(sql)?;
        let rows = statement.query_map(params![value], |row| row.get(0).map(PictureId))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

/// The text of a column; `None` where it has another type, as only damage leaves it.
fn text(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<String>> {
    Ok(row.get_ref(column)?.as_str().ok().map(str::to_owned))
}

/// The whole number of a column; `None` where it has another type or does not fit, as only damage
/// leaves it.
fn integer<T: TryFrom<i64>>(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<T>> {
    Ok(row.get_ref(column)?.as_i64().ok().and_then(|it| it.try_into().ok()))
}

fn summary(row: &Row<'_>) -> rusqlite::Result<PictureSummary> {
    let text = |index| text(row, index).map(Option::unwrap_or_default);
    Ok(PictureSummary {
        id: PictureId(row.get(0)?),
        path: StoredPath::joined(row, 1, 2)?,
        file_hash: FileHash(row.get_ref(3)?.as_blob().ok().and_then(|it| it.try_into().ok()).unwrap_or_default()),
        bytes: integer(row, 4)?.unwrap_or_default(),
        width: integer(row, 5)?.unwrap_or_default(),
        height: integer(row, 6)?.unwrap_or_default(),
        state: PictureState::from_key(&text(7)?).unwrap_or(PictureState::Damaged),
        kind: PictureKind::from_key(&text(8)?).unwrap_or(PictureKind::Import),
        tool: tool_from_key(&text(9)?),
        rating: integer(row, 10)?.filter(|it| *it <= 5).unwrap_or_default(),
        flag: PictureFlag::from_key(&text(11)?),
        created_ms: integer(row, 12)?.unwrap_or_default(),
        prompt_start: text(13)?,
        is_draft: StoredRecipe::from_json(&text(14)?).is_some_and(StoredRecipe::is_draft),
    })
}

#[cfg(test)]
mod tests;

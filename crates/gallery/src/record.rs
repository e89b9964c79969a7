//! Adding pictures to the index.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use atelier_core::recipe::{ImageSource, RequiredFile, Seed};
use atelier_media::{PictureLora, PictureModel, PictureSettings, Tool};
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use sha2::{Digest, Sha256};

use crate::file_identity::now_ms;
use crate::folders::{Folder, FolderKind, folder_of, picture_at, register_folder};
use crate::picture::{NewPicture, PictureState};
use crate::search_key::search_key;
use crate::stored_path::StoredPath;
use crate::{Database, GalleryError, PictureId};

/// Ids for each millisecond.
const IDS_PER_MS: i64 = 1024;
/// Longest text that is kept and searched, in bytes; the picture's file has all of it.
const MAX_TEXT: usize = 64 << 10;
/// Longest name of a model, LoRA, sampler or scheduler, in bytes.
const MAX_NAME: usize = 512;
/// Most LoRAs of a picture.
const MAX_LORAS: usize = 64;
/// Longest recipe that is kept, in bytes.
const MAX_RECIPE: usize = 1 << 20;

impl Database {
    /// Adds a picture that Atelier has written, or replaces what was known of its file. Its folder
    /// is registered where it is unknown. Blocks.
    ///
    /// # Errors
    /// The database's.
    pub fn record_picture(&mut self, picture: &NewPicture) -> Result<PictureId, GalleryError> {
        self.write(|transaction| record_picture(transaction, picture))
    }

    /// Adds many pictures in one transaction.
    ///
    /// # Errors
    /// The database's.
    pub fn record_pictures(&mut self, pictures: &[NewPicture]) -> Result<Vec<PictureId>, GalleryError> {
        self.write(|transaction| pictures.iter().map(|picture| record_picture(transaction, picture)).collect())
    }

    /// The picture of a file.
    ///
    /// # Errors
    /// If the path cannot be made absolute; the database's.
    pub fn find_path(&self, path: &Path) -> Result<Option<PictureId>, GalleryError> {
        let path = std::path::absolute(path).map_err(|error| GalleryError::file(path, error))?;
        Ok(picture_at(self.connection(), &path)?.map(PictureId))
    }
}

/// [`Database::record_picture`] in the caller's transaction.
pub(crate) fn record_picture(transaction: &Transaction<'_>, picture: &NewPicture) -> Result<PictureId, GalleryError> {
    if let Some(old) = picture_at(transaction, &picture.path)? {
        let same = "UPDATE picture SET kind = ?3, parent_id = ifnull(?4, parent_id), batch_id = ifnull(?5, batch_id), \
            owner = ifnull(?6, owner) WHERE id = ?1 AND file_hash = ?2";
        let parent = picture.parent.as_deref().map(|path| picture_at(transaction, path)).transpose()?.flatten();
        let owner = picture.owner.stored();
        if transaction.execute(same, params![old, picture.identity.hash.0, picture.kind.key(), parent, picture.batch, owner])? == 1 {
            // A scan was faster.
            write_settings(transaction, old, picture)?;
            transaction.execute("INSERT OR IGNORE INTO journal_due VALUES (?1)", [old])?;
            return Ok(PictureId(old));
        }
        // Another picture under the same name; what a person said of the old one does not hold for
        // it.
        delete_picture(transaction, old)?;
    }
    let folder = match folder_of(transaction, &picture.path)? {
        Some(folder) => folder,
        None => register_folder(transaction, picture.path.parent().unwrap_or(Path::new("/")), FolderKind::Loose)?,
    };
    let id = insert_picture(transaction, &folder, picture)?;
    link_parents(transaction)?;
    if folder.kind == FolderKind::Loose || picture.batch.is_some() || picture.parent.is_some() || !picture.owner.is_person() {
        // The file does not tell this, so a rebuilt index reads it from the journal.
        transaction.execute("INSERT OR IGNORE INTO journal_due VALUES (?1)", [id.0])?;
    }
    Ok(id)
}

/// Sets parents that were not in the index when their pictures were added, where they are there
/// now.
pub(crate) fn link_parents(connection: &Connection) -> Result<(), GalleryError> {
    if connection.prepare_cached("SELECT 1 FROM parent_due LIMIT 1")?.query_row([], |_| Ok(())).optional()?.is_none() {
        return Ok(());
    }
    connection.execute_batch(
        "CREATE TEMP TABLE IF NOT EXISTS found_parent (picture_id INTEGER PRIMARY KEY, parent_id INTEGER NOT NULL);
        INSERT OR IGNORE INTO found_parent SELECT d.picture_id, p.id FROM parent_due d
            JOIN picture p ON p.file_hash = d.file_hash AND p.id <> d.picture_id ORDER BY p.id;
        INSERT OR IGNORE INTO found_parent SELECT d.picture_id, p.id FROM parent_due d
            JOIN picture p ON p.file_name = d.file_name AND p.bytes = d.bytes AND p.id <> d.picture_id ORDER BY p.id;
        UPDATE picture SET parent_id = f.parent_id FROM found_parent f WHERE f.picture_id = picture.id;
        DELETE FROM parent_due WHERE picture_id IN (SELECT picture_id FROM found_parent);
        DELETE FROM found_parent;",
    )?;
    Ok(())
}

/// Removes the row of a picture. Its file stays.
pub(crate) fn delete_picture(connection: &Connection, id: i64) -> Result<(), GalleryError> {
    connection.execute("DELETE FROM picture_words WHERE rowid = ?1", [id])?;
    connection.execute("DELETE FROM picture_trigrams WHERE rowid = ?1", [id])?;
    connection.execute("DELETE FROM picture WHERE id = ?1", [id])?;
    Ok(())
}

/// Adds the row of a file that has none, in a folder that it lies in.
pub(crate) fn insert_picture(connection: &Connection, folder: &Folder, picture: &NewPicture) -> Result<PictureId, GalleryError> {
    let created_ms = (picture.identity.modified_ns / 1_000_000).clamp(0, now_ms());
    let id = free_id(connection, created_ms)?;
    let relative = picture.path.strip_prefix(&folder.path).unwrap_or(&picture.path);
    let file_name = picture.path.file_name().unwrap_or_default().to_string_lossy();
    let parent = picture.parent.as_deref().map(|path| picture_at(connection, path)).transpose()?.flatten();
    let sql = "INSERT INTO picture (id, folder_id, relative_path, file_name, bytes, modified_ns, created_ms, width, height, kind, state, \
        prompt_hash, parent_id, batch_id, owner, file_hash) VALUES (?1, ?2, ?3, ?4, 0, 0, ?5, 0, 0, ?6, '', 0, ?7, ?8, ?9, x'')";
    connection.prepare_cached(sql)?.execute(params![
        id,
        folder.id.0,
        StoredPath::of(relative),
        file_name,
        created_ms,
        picture.kind.key(),
        parent,
        picture.batch,
        picture.owner.stored()
    ])?;
    write_settings(connection, id, picture)?;
    if let (None, Some((name, bytes))) = (parent, picture.settings.as_ref().and_then(init_file)) {
        let sql = "INSERT INTO parent_due (picture_id, file_name, bytes) VALUES (?1, ?2, ?3)";
        connection.prepare_cached(sql)?.execute(params![id, name, i64::try_from(bytes).unwrap_or(i64::MAX)])?;
    }
    Ok(PictureId(id))
}

/// Name and size of the file that a picture began with.
fn init_file(settings: &PictureSettings) -> Option<(String, u64)> {
    let sizes = RefCell::new(HashMap::new());
    let resolve = |need: RequiredFile, name: &str, bytes: u64| -> Option<PathBuf> {
        if need == RequiredFile::Image {
            sizes.borrow_mut().insert(PathBuf::from(name), bytes);
        }
        Some(name.into())
    };
    let recipe = settings.recipe.clone()?.into_recipe(resolve).recipe;
    match recipe.init?.image {
        ImageSource::File(path) => Some((path.to_string_lossy().into_owned(), *sizes.borrow().get(&path)?)),
        ImageSource::Pixels(_) => None,
    }
}

/// Writes what the file of a row says of itself; marks stay.
pub(crate) fn write_settings(connection: &Connection, id: i64, picture: &NewPicture) -> Result<(), GalleryError> {
    let state = if picture.settings.is_some() { PictureState::Here } else { PictureState::Damaged };
    let settings = picture.settings.clone().unwrap_or_default();
    let recipe_json = settings.recipe.as_ref().and_then(|it| it.to_json().ok()).filter(|it| it.len() <= MAX_RECIPE);
    let recipe = settings.recipe.clone().map(|it| it.with_names().recipe);
    let model_file = recipe.as_ref().and_then(|it| it.files.main()).map(|it| it.to_string_lossy().into_owned());
    let prompt = bounded(settings.prompt.as_deref().unwrap_or_default(), MAX_TEXT);
    let negative_prompt = bounded(settings.negative_prompt.as_deref().unwrap_or_default(), MAX_TEXT);
    let name = |text: &Option<String>| text.as_deref().map(|text| bounded(text, MAX_NAME)).filter(|text| !text.is_empty());
    let sql = "UPDATE picture SET bytes = ?2, modified_ns = ?3, width = ?4, height = ?5, state = ?6, tool = ?7, model_id = ?8, seed = ?9, \
        steps = ?10, guidance = ?11, sampler = ?12, scheduler = ?13, prompt_hash = ?14, file_hash = ?15 WHERE id = ?1";
    connection.prepare_cached(sql)?.execute(params![
        id,
        i64::try_from(picture.identity.bytes).unwrap_or(i64::MAX),
        picture.identity.modified_ns,
        settings.width,
        settings.height,
        state.key(),
        settings.tool.map(Tool::key),
        model_id(connection, settings.model.as_ref(), model_file.as_deref())?,
        settings.seed.map(Seed::bits),
        settings.steps,
        settings.guidance.and_then(decimal),
        name(&settings.sampler),
        name(&settings.scheduler),
        prompt_hash(&prompt),
        picture.identity.hash.0,
    ])?;
    connection
        .prepare_cached(
            "INSERT INTO picture_text (picture_id, prompt, negative_prompt) VALUES (?1, ?2, ?3) \
            ON CONFLICT (picture_id) DO UPDATE SET prompt = excluded.prompt, negative_prompt = excluded.negative_prompt",
        )?
        .execute(params![id, prompt, negative_prompt])?;
    connection.prepare_cached("DELETE FROM picture_recipe WHERE picture_id = ?1")?.execute([id])?;
    if let Some(recipe) = recipe_json {
        connection.prepare_cached("INSERT INTO picture_recipe VALUES (?1, ?2)")?.execute(params![id, recipe])?;
    }
    write_loras(connection, id, &settings.loras)?;
    index_text(connection, id)
}

/// Row of a model; `None` where nothing of it is known.
fn model_id(connection: &Connection, model: Option<&PictureModel>, file: Option<&str>) -> Result<Option<i64>, GalleryError> {
    let text = |text: Option<&str>| bounded(text.unwrap_or_default(), MAX_NAME);
    let name = text(model.and_then(|it| it.name.as_deref()));
    let hash = text(model.and_then(|it| it.hash.as_deref())).to_ascii_lowercase();
    let file = text(file);
    if name.is_empty() && hash.is_empty() && file.is_empty() {
        return Ok(None);
    }
    let find = "SELECT id FROM model WHERE name = ?1 AND hash = ?2 AND file = ?3";
    if let Some(id) = connection.prepare_cached(find)?.query_row([&name, &hash, &file], |row| row.get(0)).optional()? {
        return Ok(Some(id));
    }
    let key = format!("{} {}", search_key(&name), search_key(&file));
    let insert = "INSERT INTO model (name, hash, file, search_key) VALUES (?1, ?2, ?3, ?4)";
    connection.prepare_cached(insert)?.execute([&name, &hash, &file, &key])?;
    Ok(Some(connection.last_insert_rowid()))
}

fn write_loras(connection: &Connection, id: i64, loras: &[PictureLora]) -> Result<(), GalleryError> {
    connection.prepare_cached("DELETE FROM picture_lora WHERE picture_id = ?1")?.execute([id])?;
    for (position, lora) in loras.iter().take(MAX_LORAS).enumerate() {
        let (name, hash) =
            (bounded(&lora.name, MAX_NAME), bounded(lora.hash.as_deref().unwrap_or_default(), MAX_NAME).to_ascii_lowercase());
        connection.prepare_cached("INSERT OR IGNORE INTO lora (name, hash, search_key) VALUES (?1, ?2, ?3)")?.execute([
            &name,
            &hash,
            &search_key(&name),
        ])?;
        connection
            .prepare_cached(
                "INSERT INTO picture_lora (picture_id, position, lora_id, strength) \
                SELECT ?1, ?2, id, ?5 FROM lora WHERE name = ?3 AND hash = ?4",
            )?
            .execute(params![id, position as i64, name, hash, decimal(lora.strength).unwrap_or(1.0)])?;
    }
    Ok(())
}

/// Writes the words of a picture into the full-text indexes, in place of those there.
pub(crate) fn index_text(connection: &Connection, id: i64) -> Result<(), GalleryError> {
    for table in ["picture_words", "picture_trigrams"] {
        connection.prepare_cached(&format!("DELETE FROM {table} WHERE rowid = ?1"))?.execute([id])?;
        let sql = format!(
            "INSERT INTO {table} (rowid, prompt, negative_prompt, note, file_name, tags, model) \
            SELECT p.id, t.prompt, t.negative_prompt, t.note, p.file_name, \
                (SELECT group_concat(name, char(10)) FROM picture_tag JOIN tag ON tag.id = tag_id WHERE picture_id = p.id), \
                ifnull((SELECT name || char(10) || file FROM model WHERE id = p.model_id), '') || char(10) || \
                ifnull((SELECT group_concat(name, char(10)) FROM picture_lora JOIN lora ON lora.id = lora_id WHERE picture_id = p.id), '') \
            FROM picture p JOIN picture_text t ON t.picture_id = p.id WHERE p.id = ?1"
        );
        connection.prepare_cached(&sql)?.execute([id])?;
    }
    Ok(())
}

/// An id that is free and in the order of time: the first for this millisecond, or soon after.
fn free_id(connection: &Connection, created_ms: i64) -> Result<i64, GalleryError> {
    let mut statement = connection.prepare_cached("SELECT max(id) FROM picture WHERE id BETWEEN ?1 AND ?2")?;
    let (mut ms, mut step) = (created_ms, 1);
    loop {
        let (first, last) = (ms * IDS_PER_MS, ms * IDS_PER_MS + IDS_PER_MS - 1);
        match statement.query_row([first, last], |row| row.get::<_, Option<i64>>(0))? {
            None => return Ok(first),
            Some(id) if id < last => return Ok(id + 1),
            // Thousands of files of one time, as unpacking an archive leaves them.
            Some(_) => {
                ms += step;
                step *= 2;
            }
        }
    }
}

/// The text without zero bytes, of at most so many bytes.
fn bounded(text: &str, most: usize) -> String {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].replace('\0', " ")
}

/// The number that people write: 7.1, not 7.099999904632568.
fn decimal(value: f32) -> Option<f64> {
    value.to_string().parse().ok().filter(|it: &f64| it.is_finite())
}

/// Equal for equal prompts.
fn prompt_hash(prompt: &str) -> i64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&Sha256::digest(prompt.trim())[..8]);
    i64::from_le_bytes(bytes)
}

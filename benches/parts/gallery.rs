//! Milliseconds of the gallery with 100,000 pictures, beside the kind of query that others use:
//! `LIKE` over the settings as JSON, pages by `OFFSET`, in a table of the same rows in the same
//! run.

use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use rusqlite::{Connection, params};

use atelier_core::paths::Paths;
use atelier_core::recipe::{Rgb8, Seed};
use atelier_gallery::queue::Owner;
use atelier_gallery::{
    Database, FileHash, FileIdentity, FolderKind, Grouping, NewPicture, Order, PictureId, PictureKind, Query, ThumbnailSize, Thumbnails,
};
use atelier_media::{PictureLora, PictureModel, PictureSettings, Tool, decode_jpeg, encode_jpeg};

use super::frames::{GalleryTimes, gallery_frames};
use super::{Outcome, peak_bytes};

const PICTURES: usize = 100_000;
/// Pictures of a page.
const PAGE: usize = 60;
/// Words of a prompt.
const WORDS: usize = 40;
/// Pictures that are written in one transaction.
const BATCH: usize = 2000;

/// Words of prompts; those before are used more often.
const VOCABULARY: [&str; 40] = [
    "light", "detailed", "lake", "night", "portrait", "red", "soft", "mountain", "river", "forest", "city", "rain", "morning", "gold",
    "sea", "wooden", "house", "garden", "bird", "horse", "street", "window", "winter", "summer", "paper", "ink", "oil", "glass", "stone",
    "bridge", "train", "lantern", "harbour", "violin", "market", "desert", "comet", "otter", "abbey", "zeppelin",
];

/// The same numbers in every run (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }

    /// A prompt in which the first words of the vocabulary are common, and the last ones rare.
    fn prompt(&mut self, index: usize) -> String {
        let words = (0..WORDS).map(|_| {
            let (a, b) = (self.below(VOCABULARY.len() as u64), self.below(VOCABULARY.len() as u64));
            VOCABULARY[(a * b / (VOCABULARY.len() as u64 - 1)) as usize].to_owned()
        });
        let mut words: Vec<String> = words.collect();
        words.push(format!("study{index}"));
        if index.is_multiple_of(50) {
            words.push("湖の上の夕日".to_owned());
        }
        words.join(" ")
    }
}

fn picture(index: usize, numbers: &mut Numbers) -> NewPicture {
    let mut hash = [0; 16];
    hash[..8].copy_from_slice(&(index as u64).to_le_bytes());
    let loras = if numbers.below(4) == 0 { vec![format!("lora-{}", numbers.below(50))] } else { Vec::new() };
    let settings = PictureSettings {
        tool: Some(Tool::Atelier),
        width: 1024,
        height: 1024 + 256 * (index % 3) as u32,
        prompt: Some(numbers.prompt(index)),
        negative_prompt: Some("blurred, fog, frame, text".to_owned()),
        seed: Some(Seed(numbers.below(1 << 32))),
        steps: Some(20 + numbers.below(20) as u32),
        guidance: Some(numbers.below(16) as f32 / 2.0),
        sampler: Some("euler_a".to_owned()),
        scheduler: Some("karras".to_owned()),
        model: Some(PictureModel { name: Some(format!("model-{}", numbers.below(20))), hash: None }),
        loras: loras.into_iter().map(|name| PictureLora::new(name, None, 0.8)).collect(),
        ..PictureSettings::default()
    };
    // A picture every five minutes.
    let modified_ns = 1_760_000_000_000_000_000 + index as i64 * 300_000_000_000;
    let identity = FileIdentity { bytes: 1_500_000, modified_ns, hash: FileHash(hash) };
    let path = format!("/pictures/{:03}/{index:06}.png", index / 1000).into();
    NewPicture { path, identity, kind: PictureKind::Kept, settings: Some(settings), parent: None, batch: None, owner: Owner::person() }
}

/// The same rows as others keep them: a name, times, and the settings as JSON.
fn peer(path: &Path, pictures: impl Iterator<Item = NewPicture>) -> Outcome<Connection> {
    let connection = Connection::open(path)?;
    connection.execute_batch(
        "PRAGMA journal_mode = wal; CREATE TABLE images (image_name TEXT PRIMARY KEY, width INTEGER, height INTEGER, metadata TEXT, starred BOOLEAN,
        created_at DATETIME); CREATE INDEX images_by_time ON images(created_at); BEGIN;",
    )?;
    {
        let mut insert = connection.prepare("INSERT INTO images VALUES (?1, ?2, ?3, ?4, 0, ?5)")?;
        for picture in pictures {
            let settings = picture.settings.unwrap_or_default();
            let metadata = serde_json::json!({
                "positive_prompt": settings.prompt, "negative_prompt": settings.negative_prompt, "seed": settings.seed, "steps": settings.steps,
                "cfg_scale": settings.guidance, "scheduler": settings.scheduler, "model": {"name": settings.model.and_then(|it| it.name)},
                "loras": settings.loras.iter().map(|it| &it.name).collect::<Vec<_>>(), "width": settings.width, "height": settings.height,
            });
            let name = picture.path.display().to_string();
            insert.execute(params![name, settings.width, settings.height, metadata.to_string(), picture.identity.modified_ns])?;
        }
    }
    connection.execute_batch("COMMIT")?;
    Ok(connection)
}

/// A page and the number of all, as others ask for them.
fn peer_page(connection: &Connection, words: &[&str], offset: usize) -> Outcome<usize> {
    let condition = words.iter().map(|word| format!("metadata LIKE '%{word}%'")).collect::<Vec<_>>().join(" AND ");
    let condition = if condition.is_empty() { "1".to_owned() } else { condition };
    let sql = format!("SELECT * FROM images WHERE {condition} ORDER BY starred DESC, created_at DESC LIMIT {PAGE} OFFSET {offset}");
    let mut statement = connection.prepare(&sql)?;
    let rows = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(3)?)))?;
    black_box(rows.collect::<Result<Vec<_>, _>>()?);
    let count: i64 = connection.query_row(&format!("SELECT count(*) FROM images WHERE {condition}"), [], |row| row.get(0))?;
    Ok(count as usize)
}

/// Median and longest milliseconds.
fn timed(rounds: usize, mut work: impl FnMut() -> Outcome<usize>) -> Outcome<(f64, f64, usize)> {
    let mut all = Vec::new();
    let mut found = 0;
    for _ in 0..rounds.max(1) {
        let begun = Instant::now();
        found = work()?;
        all.push(begun.elapsed().as_secs_f64() * 1000.0);
    }
    all.sort_by(f64::total_cmp);
    Ok((all[all.len() / 2], all[all.len() - 1], found))
}

fn print_row(what: &str, ours: (f64, f64, usize), theirs: Option<(f64, f64, usize)>) {
    let (theirs, ratio) = theirs.map_or_else(
        || ("-".to_owned(), "-".to_owned()),
        |it| (format!("{:.2} ms ({} found)", it.0, it.2), format!("{:.1}", it.0 / ours.0)),
    );
    println!("| {what} | {:.2} ms | {:.2} ms | {} | {theirs} | {ratio} |", ours.0, ours.1, ours.2);
}

pub(super) fn measure(folder: &Path, rounds: usize) -> Outcome<()> {
    let home = tempfile::tempdir_in(folder)?;
    let file = home.path().join("gallery.sqlite");
    let begun = Instant::now();
    let mut numbers = Numbers(88_172_645_463_325_252);
    let (mut database, _) = Database::open(&file)?;
    database.add_folder(Path::new("/pictures"), FolderKind::Added)?;
    let all: Vec<NewPicture> = (0..PICTURES).map(|index| picture(index, &mut numbers)).collect();
    for batch in all.chunks(BATCH) {
        database.record_pictures(batch)?;
    }
    let written = begun.elapsed();
    drop(peer(&home.path().join("peer.sqlite"), all.into_iter())?);
    let every_tenth: Vec<PictureId> = database.search(&Query::default(), Order::Newest)?.into_iter().step_by(10).collect();
    database.set_rating(&every_tenth, 4)?;
    let thumbnails = Thumbnails::open(&home.path().join("thumbnails.sqlite"))?;
    let image =
        Rgb8::new(256, 256, (0..256 * 256 * 3_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 29) as u8 + (n / 3072) as u8).collect());
    let jpeg = encode_jpeg(&image.ok_or("no picture")?, 82)?;
    for picture in 0..PICTURES {
        let mut hash = [0; 16];
        hash[..8].copy_from_slice(&(picture as u64).to_le_bytes());
        thumbnails.store_jpeg(FileHash(hash), ThumbnailSize::Small, &jpeg)?;
    }
    drop(database);
    let megabytes = |name: &str| std::fs::metadata(home.path().join(name)).map_or(0, |it| it.len() / 1_000_000);
    println!(
        "{PICTURES} pictures, prompts of {WORDS} words, a thumbnail of {} bytes each: index {} MB, written in {:.1} s; thumbnails {} MB; the others' table {} MB\n",
        jpeg.len(),
        megabytes("gallery.sqlite"),
        written.as_secs_f64(),
        megabytes("thumbnails.sqlite"),
        megabytes("peer.sqlite"),
    );
    drop(thumbnails);
    // In a process of its own, so that its memory is that of the questions.
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--gallery-part".as_ref(), home.path().as_os_str()]).args(["--rounds", &rounds.to_string()]);
    if !command.status()?.success() {
        return Err("the gallery could not be measured".into());
    }
    let at = |name: &str| home.path().join(name);
    let paths = Paths { settings_file: at("settings.json"), data: home.path().into(), pictures: at("Pictures"), models: at("models") };
    let GalleryTimes { opened_ms, searched_ms, frames } = gallery_frames(paths)?;
    let within = |share: f64| frames[((frames.len() - 1) as f64 * share) as usize] * 1000.0;
    println!("\n| the window over these pictures | |\n|---|---|\n| Ctrl+4 to the first page with all its thumbnails | {opened_ms:.0} ms |");
    println!("| a word typed to the first page found, with all its thumbnails | {searched_ms:.0} ms |");
    println!(
        "| its own work a frame while scrolling, {} frames | median {:.2} ms, 99 of 100 within {:.2} ms, longest {:.2} ms |",
        frames.len(),
        within(0.5),
        within(0.99),
        within(1.0)
    );
    Ok(())
}

/// Asks the questions, of the databases in this folder.
pub(super) fn part(home: &Path, rounds: usize) -> Outcome<()> {
    let file = home.join("gallery.sqlite");
    let thumbnails = Thumbnails::open(&home.join("thumbnails.sqlite"))?;
    let peer = Connection::open(home.join("peer.sqlite"))?;
    let before = peak_bytes("self");
    println!("| what | ours, median | longest | found | LIKE over JSON, OFFSET | that / ours |\n|---|---|---|---|---|---|");
    let page = |database: &Database, ids: &[PictureId]| -> Outcome<usize> {
        let pictures = database.pictures(ids)?;
        for picture in &pictures {
            let jpeg = thumbnails.find(picture.file_hash, ThumbnailSize::Small)?.ok_or("a thumbnail is missing")?;
            black_box(jpeg);
        }
        Ok(pictures.len())
    };
    let opened = timed(rounds, || {
        let (database, _) = Database::open(&file)?;
        let ids = database.search(&Query::default(), Order::Newest)?;
        page(&database, &ids[..PAGE])?;
        Ok(ids.len())
    })?;
    print_row("open, all ids, first page with its thumbnails", opened, Some(timed(rounds, || peer_page(&peer, &[], 0))?));
    let (database, _) = Database::open(&file)?;
    let ids = database.search(&Query::default(), Order::Newest)?;
    for deep in [1000, 90_000] {
        let ours = timed(rounds, || page(&database, &ids[deep..deep + PAGE]))?;
        print_row(&format!("page at {deep} with its thumbnails"), ours, Some(timed(rounds, || peer_page(&peer, &[], deep))?));
    }
    let ours = timed(rounds, || {
        let pictures = database.pictures(&ids[50_000..50_000 + PAGE])?;
        let decode = |hash| Ok(decode_jpeg(&thumbnails.find(hash, ThumbnailSize::Small)?.ok_or("a thumbnail is missing")?)?.width());
        let widths: Outcome<Vec<u32>> = pictures.iter().map(|it| decode(it.file_hash)).collect();
        Ok(widths?.len())
    })?;
    print_row("page at 50000, thumbnails decoded too", ours, None);
    for (text, like) in [
        ("l", Some(&["l"][..])),
        ("lake", Some(&["lake"])),
        ("zeppelin", Some(&["zeppelin"])),
        ("zepp", Some(&["zepp"])),
        ("*eppeli", Some(&["eppeli"])),
        ("study54321", Some(&["study54321"])),
        ("lake otter abbey", Some(&["lake", "otter", "abbey"])),
        ("夕日", Some(&["夕日"])),
        ("の上の", Some(&["の上の"])),
        ("nowhere", Some(&["nowhere"])),
        ("lake model:model-7 seed:1..999999999 lora:lora-1 rating>=3 -zeppelin", None),
        ("rating>=3", None),
        ("model:model-7", Some(&["model-7\""])),
        ("since:2026-01-01", None),
    ] {
        let query = Query::parse(text);
        let ours = timed(rounds, || {
            let ids = database.search(&query, Order::Newest)?;
            page(&database, &ids[..ids.len().min(PAGE)])?;
            Ok(ids.len())
        })?;
        let theirs = like.map(|words| timed(rounds.min(3), || peer_page(&peer, words, 0))).transpose()?;
        print_row(&format!("search `{text}`, first page"), ours, theirs);
    }
    for order in [Order::Rating, Order::Name] {
        let ours = timed(rounds, || Ok(database.search(&Query::default(), order)?.len()))?;
        print_row(&format!("all ids by {}", order.key()), ours, None);
    }
    for (what, grouping) in [("prompt", Grouping::Prompt), ("day", Grouping::Day), ("model", Grouping::Model)] {
        let ours = timed(rounds.min(3), || Ok(database.groups(&ids, grouping)?.len()))?;
        print_row(&format!("all grouped by {what}"), ours, None);
    }
    print_row("newest picture of each model and LoRA", timed(rounds, || Ok(database.latest_pictures()?.by_model_name.len()))?, None);
    let (id, mut rating) = (ids[70_000], 0);
    let (mut database, _) = Database::open(&file)?;
    let ours = timed(rounds, || {
        rating = (rating + 1) % 6;
        database.set_rating(&[id], rating)?;
        Ok(1)
    })?;
    print_row("rate one picture, journal and all", ours, None);
    if let (Some(before), Some(after)) = (before, peak_bytes("self")) {
        println!(
            "\nmemory: {} MB more at most than before the first question; all ids take {} KB",
            (after.saturating_sub(before)) / 1_000_000,
            ids.len() * size_of::<PictureId>() / 1000
        );
    }
    Ok(())
}

use super::*;

#[test]
fn a_new_database_has_tables_and_is_found_whole_the_next_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/gallery.sqlite");
    let (database, state) = Database::open(&path).unwrap();
    assert_eq!(state, DatabaseState::New);
    assert_eq!(database.connection().query_row("SELECT count(*) FROM picture", [], |row| row.get::<_, i64>(0)).unwrap(), 0);
    drop(database);
    assert_eq!(Database::open(&path).unwrap().1, DatabaseState::Whole);
}

#[test]
fn the_version_differs_after_a_change_of_this_connection_or_of_another_one_and_not_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gallery.sqlite");
    let [database, other] = [(); 2].map(|()| Database::open(&path).unwrap().0);
    let add = |database: &Database, tag: i64| {
        database.connection().execute("INSERT INTO tag VALUES (?1, 'tag ' || ?1)", [tag]).unwrap();
        database.version().unwrap()
    };
    let first = database.version().unwrap();
    assert_eq!(database.version().unwrap(), first);
    let second = add(&database, 1);
    assert_ne!(second, first);
    add(&other, 2);
    assert_ne!(database.version().unwrap(), second);
}

#[test]
fn damage_inside_the_file_is_found_and_the_database_begun_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gallery.sqlite");
    let (database, _) = Database::open(&path).unwrap();
    database.check().unwrap();
    let fill = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
        INSERT INTO tag SELECT i, 'tag ' || i FROM n";
    database.connection().execute_batch(fill).unwrap();
    drop(database);
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..].fill(0x5a);
    fs::write(&path, bytes).unwrap();
    let (database, state) = Database::open(&path).unwrap();
    assert_eq!(state, DatabaseState::Whole, "the first pages are");
    assert!(database.check().unwrap_err().is_damage());
    Database::report_damage(&path).unwrap();
    assert_eq!(Database::open(&path).unwrap().1, DatabaseState::Whole, "another connection uses it");
    drop(database);
    let (database, state) = Database::open(&path).unwrap();
    assert_eq!(state, DatabaseState::PutAside(folder.path().join("gallery.sqlite.bad")));
    database.check().unwrap();
    drop(database);
    assert_eq!(Database::open(&path).unwrap().1, DatabaseState::Whole, "it is reported once");
}

#[test]
fn a_damaged_database_is_put_aside() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gallery.sqlite");
    for aside in ["gallery.sqlite.bad", "gallery.sqlite.bad2"].map(|name| folder.path().join(name)) {
        fs::write(&path, [7; 9000]).unwrap();
        let (_, state) = Database::open(&path).unwrap();
        assert_eq!(state, DatabaseState::PutAside(aside.clone()));
        assert!(state.warning().unwrap().contains(&aside.display().to_string()));
        assert_eq!(fs::read(&aside).unwrap(), [7; 9000]);
    }
}

/// Everything in a folder, by name.
fn files(folder: &Path) -> Vec<(OsString, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).filter(|it| it.is_file()).collect();
    files.sort();
    files.into_iter().map(|it| (it.file_name().unwrap().to_owned(), fs::read(&it).unwrap())).collect()
}

#[test]
fn a_database_of_a_newer_version_is_refused_and_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gallery.sqlite");
    let (newer, _) = Database::open(&path).unwrap();
    newer.connection().pragma_update(None, "user_version", 1000).unwrap();
    newer.connection().execute("INSERT INTO tag VALUES (1, 'in the log alone')", []).unwrap();
    let is_refused = || matches!(Database::open(&path), Err(GalleryError::Newer(refused)) if refused == path);
    let main = fs::read(&path).unwrap();
    assert!(is_refused(), "while the newer one has it open");
    assert_eq!(fs::read(&path).unwrap(), main);
    newer.connection().execute("INSERT INTO tag VALUES (2, 'after that')", []).unwrap();
    drop(newer);
    // A damage that was reported of it is the newer one's to mend.
    Database::report_damage(&path).unwrap();
    let before = files(folder.path());
    assert!(is_refused() && is_refused());
    assert_eq!(files(folder.path()), before);
}

#[test]
fn a_newer_version_that_is_in_the_log_alone_is_seen_and_not_written_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gallery.sqlite");
    let (newer, _) = Database::open(&path).unwrap();
    newer.connection().set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).unwrap();
    newer.connection().pragma_update(None, "user_version", 1000).unwrap();
    drop(newer);
    let before = [path.clone(), with_suffix(&path, "-wal")].map(|it| fs::read(it).unwrap());
    assert!(!before[1].is_empty());
    assert!(matches!(Database::open(&path), Err(GalleryError::Newer(_))));
    assert_eq!([path.clone(), with_suffix(&path, "-wal")].map(|it| fs::read(it).unwrap()), before);
}

#[test]
fn databases_of_all_older_versions_open_with_their_jobs() {
    for version in 1..STEPS.len() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gallery.sqlite");
        let old = Connection::open(&path).unwrap();
        for step in &STEPS[..version] {
            old.execute_batch(step).unwrap();
        }
        if version > 1 {
            let job = "INSERT INTO job (state, lane, order_key, recipe, folder, model, preview, created_ms)
                VALUES ('waiting', 1, 1, '{}', '/p', 'm', '', 5)";
            old.execute_batch(job).unwrap();
        }
        old.pragma_update(None, "user_version", version as i64).unwrap();
        drop(old);
        let (database, state) = Database::open(&path).unwrap();
        assert_eq!((state, database.jobs().unwrap().len()), (DatabaseState::Whole, usize::from(version > 1)), "version {version}");
    }
}

#[test]
fn pictures_of_an_older_version_get_their_owners_from_the_jobs_that_are_there() {
    const BEFORE: usize = 5;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gallery.sqlite");
    let old = Connection::open(&path).unwrap();
    for step in &STEPS[..BEFORE] {
        old.execute_batch(step).unwrap();
    }
    old.execute_batch(
        "INSERT INTO folder (id, path, kind) VALUES (1, '/p', 'own');
        INSERT INTO picture (id, folder_id, relative_path, file_name, bytes, modified_ns, created_ms, width, height, kind, state, prompt_hash,
            file_hash) SELECT value, 1, value || '.png', value || '.png', 1, 1, 1, 8, 8, 'kept', 'here', 0, zeroblob(16)
            FROM json_each('[1, 2, 3]');
        INSERT INTO job (id, state, lane, order_key, recipe, folder, model, preview, created_ms, owner)
            VALUES (7, 'done', 1, 1, '{}', '/p', 'm', '', 5, 'Anna'), (8, 'done', 1, 2, '{}', '/p', 'm', '', 5, '');
        INSERT INTO job_picture VALUES (7, 0, '/p/1.png', zeroblob(32), 1), (8, 0, '/p/2.png', zeroblob(32), 2);",
    )
    .unwrap();
    old.pragma_update(None, "user_version", BEFORE as i64).unwrap();
    drop(old);
    let (database, _) = Database::open(&path).unwrap();
    let mut owners = database.connection().prepare("SELECT id, owner FROM picture ORDER BY id").unwrap();
    let owners: Vec<(i64, Option<String>)> =
        owners.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect();
    assert_eq!(owners, [(1, Some("Anna".to_owned())), (2, None), (3, None)]);
    let due: i64 = database.connection().query_row("SELECT sum(picture_id) FROM journal_due", [], |row| row.get(0)).unwrap();
    assert_eq!(due, 1, "and the journal is told");
}

#[test]
fn of_many_that_find_the_same_damage_one_begins_anew_and_the_others_use_what_it_made() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gallery.sqlite");
    for round in 1..=10 {
        fs::write(&path, [round; 9000]).unwrap();
        let states: Vec<DatabaseState> = thread::scope(|scope| {
            let open = || {
                let (database, state) = Database::open(&path).unwrap();
                database.connection().execute("INSERT INTO tag (name) SELECT 'tag ' || count(*) FROM tag", []).unwrap();
                state
            };
            let threads: Vec<_> = (0..6).map(|_| scope.spawn(open)).collect();
            threads.into_iter().map(|it| it.join().unwrap()).collect()
        });
        let put_aside = states.iter().filter(|it| matches!(it, DatabaseState::PutAside(_))).count();
        let asides = fs::read_dir(folder.path()).unwrap().filter(|it| it.as_ref().unwrap().file_name().to_string_lossy().contains(".bad"));
        let asides: Vec<_> = asides.map(|it| fs::read(it.unwrap().path()).unwrap()).collect();
        assert_eq!((put_aside, asides.len()), (1, usize::from(round)), "{states:?}");
        assert!(asides.iter().all(|it| it.len() == 9000), "a new one was put aside too");
        let (database, _) = Database::open(&path).unwrap();
        assert_eq!(database.connection().query_row("SELECT count(*) FROM tag", [], |row| row.get::<_, i64>(0)).unwrap(), 6);
    }
}

#[test]
fn a_damaged_database_that_others_have_open_is_left_to_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gallery.sqlite");
    let (first, _) = Database::open(&path).unwrap();
    drop(fs::write(&path, [7; 9000]));
    let lock = |wait| -> Result<(), GalleryError> { wait_until(Instant::now() + wait, &path) };
    assert!(lock(Duration::from_mins(1)).is_ok() && matches!(lock(Duration::ZERO), Err(GalleryError::DamagedInUse(_))));
    let mut other = UseLock::on(&lock_file(&path));
    assert!(other.share() && !other.own(), "its own connection is one of them");
    drop(first);
    assert!(other.own() && !UseLock::on(&lock_file(&path)).share());
}

#[cfg(unix)]
#[test]
fn the_database_and_all_beside_it_are_their_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("data");
    let path = folder.join("gallery.sqlite");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let all = |path: &Path| fs::read_dir(path).unwrap().map(|it| it.unwrap().path()).collect::<Vec<_>>();
    let (mut database, _) = Database::open(&path).unwrap();
    database.create_board("mine").unwrap();
    database.write_journals().unwrap();
    assert_eq!((mode(&folder), mode(&folder.join("gallery-journals"))), (0o700, 0o700));
    let files = || all(&folder).into_iter().chain(all(&folder.join("gallery-journals"))).filter(|it| it.is_file());
    for file in files() {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    }
    assert!(files().count() >= 4);
    // Those of an older Atelier, too.
    let (mut again, _) = Database::open(&path).unwrap();
    again.create_board("another").unwrap();
    again.write_journals().unwrap();
    for file in files().filter(|it| it.extension().is_none_or(|it| it != "lock")) {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
}

#[test]
fn all_but_what_may_be_lost_is_flushed_also_after_a_change_that_failed() {
    /// SQLite's number of it.
    const FULL: i64 = 2;
    let folder = tempfile::tempdir().unwrap();
    let (mut database, _) = Database::open(&folder.path().join("gallery.sqlite")).unwrap();
    let flushed = |database: &Database| database.connection().query_row("PRAGMA synchronous", [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(flushed(&database), FULL);
    let seen = database.unflushed().unwrap().write(|transaction| {
        transaction.execute("INSERT INTO board (name) VALUES ('lakes')", [])?;
        Ok(transaction.query_row("PRAGMA synchronous", [], |row| row.get::<_, i64>(0))?)
    });
    assert_eq!((seen.unwrap(), flushed(&database)), (1, FULL));
    let failed: Result<(), GalleryError> = database.unflushed().unwrap().write(|_| Err(GalleryError::PathIsNoText("a".into())));
    assert!(failed.is_err());
    assert_eq!(flushed(&database), FULL);
    // Another connection reads what was not flushed.
    let (other, _) = Database::open(&folder.path().join("gallery.sqlite")).unwrap();
    assert_eq!(other.connection().query_row("SELECT name FROM board", [], |row| row.get::<_, String>(0)).unwrap(), "lakes");
}

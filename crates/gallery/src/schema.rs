//! Tables of the database, as SQL by version.
//!
//! A database of an older version gets the steps that it lacks; one of a newer version is put aside, as a damaged one is.

/// Steps from an empty database to today's; the index of a step, plus 1, is the version (`PRAGMA user_version`) that it leads to.
pub(crate) const STEPS: &[&str] = &[PICTURES];

/// Pictures: a row a file. `id` rises with `created_ms` as far as possible, so that newest first is the order of row ids.
const PICTURES: &str = "
CREATE TABLE folder (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    own INTEGER NOT NULL
);
CREATE TABLE picture (
    id INTEGER PRIMARY KEY,
    folder_id INTEGER NOT NULL REFERENCES folder(id),
    relative_path TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    modified_ns INTEGER NOT NULL,
    created_ms INTEGER NOT NULL,
    width INTEGER NOT NULL,
    height INTEGER NOT NULL,
    kind TEXT NOT NULL,
    state TEXT NOT NULL,
    tool TEXT,
    prompt TEXT NOT NULL DEFAULT '',
    negative_prompt TEXT NOT NULL DEFAULT '',
    model TEXT,
    model_hash TEXT,
    seed INTEGER,
    steps INTEGER,
    guidance REAL,
    sampler TEXT,
    scheduler TEXT,
    recipe TEXT,
    parent_id INTEGER REFERENCES picture(id),
    batch_id INTEGER,
    rating INTEGER NOT NULL DEFAULT 0,
    flag TEXT,
    note TEXT NOT NULL DEFAULT '',
    file_hash BLOB,
    UNIQUE (folder_id, relative_path)
);
";

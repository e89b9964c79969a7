//! Tables of the database, as SQL by version.
//!
//! A database of an older version gets the steps that it lacks; one of a newer version is put aside, as a damaged one is.

/// Steps from an empty database to today's; the index of a step, plus 1, is the version (`PRAGMA user_version`) that it leads to.
pub(crate) const STEPS: &[&str] = &[PICTURES, QUEUE];

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

/// The queue. `lane` is 0 for what a person waits for and 1 for batches; a lane runs by `order_key`. A row of `job_picture` without
/// `picture_id` reserves a file name.
const QUEUE: &str = "
CREATE TABLE job (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    state TEXT NOT NULL,
    lane INTEGER NOT NULL,
    order_key REAL NOT NULL,
    recipe TEXT NOT NULL,
    folder TEXT NOT NULL,
    model TEXT NOT NULL,
    wanted_model TEXT,
    device TEXT,
    preview TEXT NOT NULL,
    first_seed INTEGER,
    attempts INTEGER NOT NULL DEFAULT 0,
    crashes INTEGER NOT NULL DEFAULT 0,
    resumes INTEGER NOT NULL DEFAULT 0,
    progress_picture INTEGER,
    progress_step INTEGER,
    progress_steps INTEGER,
    reason TEXT,
    is_moved_up INTEGER NOT NULL DEFAULT 0,
    is_placed INTEGER NOT NULL DEFAULT 0,
    cancel_requested INTEGER NOT NULL DEFAULT 0,
    created_ms INTEGER NOT NULL,
    began_ms INTEGER,
    ended_ms INTEGER
);
CREATE INDEX job_order ON job (state, lane, order_key);
CREATE TABLE job_picture (
    job_id INTEGER NOT NULL REFERENCES job(id),
    picture_index INTEGER NOT NULL,
    path TEXT NOT NULL UNIQUE,
    sha256 BLOB NOT NULL,
    picture_id INTEGER,
    PRIMARY KEY (job_id, picture_index)
);
CREATE TABLE queue_control (
    pause TEXT NOT NULL,
    follows_model INTEGER NOT NULL,
    is_wanted INTEGER NOT NULL
);
INSERT INTO queue_control (pause, follows_model, is_wanted) VALUES ('no', 1, 0);
CREATE TABLE pace (
    model TEXT NOT NULL,
    device TEXT NOT NULL,
    step_secs REAL NOT NULL,
    decode_secs REAL NOT NULL,
    start_secs REAL NOT NULL,
    PRIMARY KEY (model, device)
);
";

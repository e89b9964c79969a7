//! Tables of the database, as SQL by version.
//!
//! A database of an older version gets the steps that it lacks; one of a newer version is refused.

/// Steps from an empty database to today's; the index of a step, plus 1, is the version (`PRAGMA
/// user_version`) that it leads to.
pub(crate) const STEPS: &[&str] = &[PICTURES, QUEUE, QUEUE_JOURNAL, JOB_GROUPS, JOB_OWNERS, PICTURE_OWNERS, JOB_USERS];

/// Pictures: a row a file.
///
/// `picture.id` is made from `created_ms` (see `record`), so newest first is the order of row ids,
/// which costs no sorting. `picture` has only what is searched, sorted and grouped by, so a scan of
/// 100,000 rows reads few pages; texts are in tables of their own. Paths are text, or bytes where
/// they are not Unicode. `journal_due` has pictures whose marks are in no journal yet, `parent_due`
/// those whose parent is not in the index yet.
const PICTURES: &str = "
CREATE TABLE folder (
    id INTEGER PRIMARY KEY,
    path NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    is_scanned INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE model (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    hash TEXT NOT NULL,
    file TEXT NOT NULL,
    search_key TEXT NOT NULL,
    UNIQUE (name, hash, file)
);
CREATE TABLE picture (
    id INTEGER PRIMARY KEY,
    folder_id INTEGER NOT NULL REFERENCES folder(id),
    relative_path NOT NULL,
    file_name TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    modified_ns INTEGER NOT NULL,
    created_ms INTEGER NOT NULL,
    width INTEGER NOT NULL,
    height INTEGER NOT NULL,
    kind TEXT NOT NULL,
    state TEXT NOT NULL,
    tool TEXT,
    model_id INTEGER REFERENCES model(id),
    seed INTEGER,
    steps INTEGER,
    guidance REAL,
    sampler TEXT,
    scheduler TEXT,
    prompt_hash INTEGER NOT NULL,
    parent_id INTEGER REFERENCES picture(id) ON DELETE SET NULL,
    batch_id INTEGER,
    rating INTEGER NOT NULL DEFAULT 0,
    flag TEXT,
    file_hash BLOB NOT NULL,
    UNIQUE (folder_id, relative_path)
);
CREATE INDEX picture_by_file_hash ON picture(file_hash);
CREATE INDEX picture_by_file_name ON picture(file_name);
CREATE INDEX picture_by_model ON picture(model_id);
CREATE INDEX picture_by_parent ON picture(parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX picture_by_batch ON picture(batch_id) WHERE batch_id IS NOT NULL;
CREATE TABLE picture_text (
    picture_id INTEGER PRIMARY KEY REFERENCES picture(id) ON DELETE CASCADE,
    prompt TEXT NOT NULL,
    negative_prompt TEXT NOT NULL,
    note TEXT NOT NULL DEFAULT ''
);
CREATE TABLE picture_recipe (
    picture_id INTEGER PRIMARY KEY REFERENCES picture(id) ON DELETE CASCADE,
    recipe TEXT NOT NULL
);
CREATE TABLE lora (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    hash TEXT NOT NULL,
    search_key TEXT NOT NULL,
    UNIQUE (name, hash)
);
CREATE TABLE picture_lora (
    picture_id INTEGER NOT NULL REFERENCES picture(id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    lora_id INTEGER NOT NULL REFERENCES lora(id),
    strength REAL NOT NULL,
    PRIMARY KEY (picture_id, position)
) WITHOUT ROWID;
CREATE INDEX picture_lora_by_lora ON picture_lora(lora_id, picture_id);
CREATE TABLE tag (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE COLLATE NOCASE
);
CREATE TABLE picture_tag (
    picture_id INTEGER NOT NULL REFERENCES picture(id) ON DELETE CASCADE,
    tag_id INTEGER NOT NULL REFERENCES tag(id),
    PRIMARY KEY (picture_id, tag_id)
) WITHOUT ROWID;
CREATE INDEX picture_tag_by_tag ON picture_tag(tag_id, picture_id);
CREATE TABLE board (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE COLLATE NOCASE
);
CREATE TABLE picture_board (
    board_id INTEGER NOT NULL REFERENCES board(id) ON DELETE CASCADE,
    picture_id INTEGER NOT NULL REFERENCES picture(id) ON DELETE CASCADE,
    position REAL NOT NULL,
    PRIMARY KEY (board_id, picture_id)
) WITHOUT ROWID;
CREATE INDEX picture_board_by_picture ON picture_board(picture_id);
CREATE TABLE saved_search (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE COLLATE NOCASE,
    query TEXT NOT NULL
);
CREATE TABLE journal_due (
    picture_id INTEGER PRIMARY KEY REFERENCES picture(id) ON DELETE CASCADE
);
CREATE TABLE parent_due (
    picture_id INTEGER PRIMARY KEY REFERENCES picture(id) ON DELETE CASCADE,
    file_hash BLOB,
    file_name TEXT,
    bytes INTEGER
);
CREATE TABLE trashed_file (
    picture_id INTEGER PRIMARY KEY REFERENCES picture(id) ON DELETE CASCADE,
    path NOT NULL
);
CREATE VIRTUAL TABLE picture_words USING fts5(
    prompt, negative_prompt, note, file_name, tags, model,
    content='', contentless_delete=1, prefix='1 2 3', tokenize=\"unicode61 remove_diacritics 2\"
);
CREATE VIRTUAL TABLE picture_trigrams USING fts5(
    prompt, negative_prompt, note, file_name, tags, model,
    content='', contentless_delete=1, tokenize=\"trigram remove_diacritics 1\"
);
";

/// The queue. `lane` is 0 for what a person waits for and 1 for batches; a lane runs by
/// `order_key`. A row of `job_picture` without `picture_id` reserves a file name.
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

/// `group_ms` is the same for jobs that were added together, whose pictures are one batch.
const JOB_GROUPS: &str = "
ALTER TABLE job ADD COLUMN group_ms INTEGER;
";

/// `owner` is the name of who asked for a job; empty for the person at the machine.
const JOB_OWNERS: &str = "
ALTER TABLE job ADD COLUMN owner TEXT NOT NULL DEFAULT '';
";

/// `user` tells those apart who ask in one owner's name; 0 where the owner does not.
const JOB_USERS: &str = "
ALTER TABLE job ADD COLUMN user INTEGER NOT NULL DEFAULT 0;
";

/// `owner` is the name of who asked for a picture over the network; empty (`NULL`) for all others.
/// Pictures of before get it from their jobs, as far as those are still there, and a line in their
/// journals.
const PICTURE_OWNERS: &str = "
ALTER TABLE picture ADD COLUMN owner TEXT;
CREATE INDEX picture_by_owner ON picture(owner) WHERE owner IS NOT NULL;
UPDATE picture SET owner = job.owner FROM job_picture, job
    WHERE job.id = job_picture.job_id AND job.owner <> '' AND job_picture.picture_id = picture.id;
INSERT OR IGNORE INTO journal_due SELECT id FROM picture WHERE owner IS NOT NULL;
";

/// `job_due` has jobs that changed and are not in the queue's journal so; what only tells how far a
/// running job is needs no line. `restoration` says whether the journals are still to be read into
/// new tables. The indexes are the list of ended jobs, the ends of a lane, and the reserved names.
const QUEUE_JOURNAL: &str = "
CREATE INDEX job_ended ON job (ended_ms DESC, id DESC) WHERE state IN ('done', 'failed', 'cancelled');
CREATE INDEX job_lane ON job (lane, order_key);
CREATE INDEX job_picture_reserved ON job_picture (job_id) WHERE picture_id IS NULL;
CREATE TABLE restoration (is_due INTEGER NOT NULL);
INSERT INTO restoration VALUES (1);
CREATE TABLE job_due (job_id INTEGER PRIMARY KEY);
INSERT INTO job_due SELECT id FROM job WHERE state IN ('waiting', 'running', 'held');
CREATE TRIGGER job_due_added AFTER INSERT ON job BEGIN
    INSERT OR IGNORE INTO job_due VALUES (new.id);
END;
CREATE TRIGGER job_due_changed AFTER UPDATE OF lane, order_key, recipe, model, wanted_model, device, first_seed ON job BEGIN
    INSERT OR IGNORE INTO job_due VALUES (new.id);
END;
CREATE TRIGGER job_due_state AFTER UPDATE OF state ON job WHEN new.state <> 'running' BEGIN
    INSERT OR IGNORE INTO job_due VALUES (new.id);
END;
CREATE TRIGGER job_due_gone AFTER DELETE ON job WHEN old.state IN ('waiting', 'running', 'held') BEGIN
    INSERT OR IGNORE INTO job_due VALUES (old.id);
END;
CREATE TRIGGER job_due_picture AFTER UPDATE OF picture_id ON job_picture BEGIN
    INSERT OR IGNORE INTO job_due VALUES (new.job_id);
END;
";

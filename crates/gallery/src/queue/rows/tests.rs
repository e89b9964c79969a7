use super::super::tests::add;
use super::*;
use rusqlite::StatementStatus;

/// A queue with so many jobs that ended, of a picture each.
fn with_history(ended: i64) -> Database {
    let mut database = Database::in_memory().unwrap();
    database
        .write(|transaction| {
            for id in 1..=ended {
                let job = "INSERT INTO job (id, state, lane, order_key, recipe, folder, model, preview, created_ms, ended_ms)
                    VALUES (?1, 'done', 1, ?1, '{}', '/p', 'm', '', ?1, ?1)";
                transaction.prepare_cached(job)?.execute([id])?;
                let picture =
                    "INSERT INTO job_picture (job_id, picture_index, path, sha256, picture_id) VALUES (?1, 0, '/p/' || ?1, x'00', ?1)";
                transaction.prepare_cached(picture)?.execute([id])?;
            }
            Ok(())
        })
        .unwrap();
    database
}

/// The steps of SQLite's plan for a query.
fn plan(database: &Database, query: &str) -> String {
    let mut statement = database.connection().prepare(&format!("EXPLAIN QUERY PLAN {query}")).unwrap();
    let count = statement.parameter_count();
    let rows = statement.query_map(rusqlite::params_from_iter(vec![1; count]), |row| row.get::<_, String>(3)).unwrap();
    rows.map(Result::unwrap).collect::<Vec<_>>().join("; ")
}

#[test]
fn no_query_of_an_event_reads_or_sorts_the_history() {
    let database = with_history(100);
    for (query, index) in [
        (jobs_query(&ended()), "USING INDEX job_ended"),
        (pictures_query(&ended()), "USING INDEX job_ended"),
        (pictures_query(&ended()), "SEARCH job_picture USING INDEX sqlite_autoindex_job_picture"),
        (FORGOTTEN.to_owned(), "USING INDEX job_ended"),
        (jobs_query(OPEN), "USING INDEX job_order"),
        (pictures_query(OPEN), "SEARCH job_picture USING INDEX sqlite_autoindex_job_picture"),
        (pictures_query(ONE), "SEARCH job_picture USING INDEX sqlite_autoindex_job_picture"),
        ("SELECT max(order_key) FROM job WHERE lane = ?1".to_owned(), "USING COVERING INDEX job_lane"),
        ("SELECT job_id FROM job_picture WHERE picture_id IS NULL".to_owned(), "USING INDEX job_picture_reserved"),
    ] {
        let plan = plan(&database, &query);
        assert!(plan.contains(index) && !plan.contains("SCAN job_picture;"), "{query}: {plan}");
        assert!(!plan.contains("B-TREE") || query == jobs_query(OPEN), "it sorts: {plan}");
    }
}

/// Steps of SQLite's machine that these queries take, and rows that they look at without an index.
fn steps(database: &Database, queries: &[String]) -> (i32, i32) {
    let mut counts = (0, 0);
    for query in queries {
        let mut statement = database.connection().prepare(query).unwrap();
        let count = statement.parameter_count();
        let mut rows = statement.query(rusqlite::params_from_iter(vec![MAX_ENDED; count])).unwrap();
        while rows.next().unwrap().is_some() {}
        drop(rows);
        counts.0 += statement.get_status(StatementStatus::VmStep);
        counts.1 += statement.get_status(StatementStatus::FullscanStep);
    }
    counts
}

#[test]
fn what_is_read_at_an_event_does_not_grow_with_the_history() {
    let queries = [jobs_query(&ended()), pictures_query(&ended()), jobs_query(OPEN), pictures_query(OPEN), pictures_query(ONE)];
    let (short, long) = (steps(&with_history(MAX_LISTED), &queries), steps(&with_history(20_000), &queries));
    assert_eq!(short.1, long.1);
    // Those listed are looked at twice: as jobs, and for their pictures.
    assert!(i64::from(long.1) < 2 * MAX_LISTED, "rows are looked at that are not listed: {}", long.1);
    assert!(long.0 <= short.0 + 20, "{} steps instead of {}", long.0, short.0);
}

#[test]
fn the_oldest_jobs_are_forgotten_with_their_rows_and_the_others_can_be_asked_for() {
    let mut database = with_history(MAX_ENDED + 20);
    let id = add(&mut database, "a");
    assert!(database.start_job(id).unwrap());
    database.end_job(id, &super::super::JobOutcome::Failed("it broke".into())).unwrap();
    let count =
        |table: &str| -> i64 { database.connection().query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap() };
    assert_eq!((count("job"), count("job_picture")), (MAX_ENDED, MAX_ENDED - 1));
    assert!(database.job(QueuedJobId(21)).unwrap().is_none());
    let oldest = database.job(QueuedJobId(22)).unwrap().unwrap();
    assert_eq!(oldest.pictures.len(), 1, "the newest ones stay");
    assert_eq!(database.jobs().unwrap().len() as i64, MAX_LISTED);
}

#[test]
fn a_recipe_is_decoded_once_for_all_lists_and_anew_once_it_is_edited() {
    let mut database = Database::in_memory().unwrap();
    let id = add(&mut database, "a");
    let recipe = |database: &Database| std::sync::Arc::clone(&database.jobs().unwrap()[0].recipe);
    let first = recipe(&database);
    assert!(std::sync::Arc::ptr_eq(&first, &recipe(&database)));
    let edited = Recipe { prompt: "another lake".into(), ..Recipe::clone(&first) };
    assert!(database.edit_job(id, &edited, "a").unwrap());
    assert_eq!(*recipe(&database), edited);
}

//! Direct access to the database of a stopped service.

use std::fs;
use std::path::Path;

use sqlx::postgres::PgConnectOptions;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, PgConnection, SqliteConnection};

use crate::Outcome;
use crate::service::Service;

const CHUNKS: &str = "SELECT id FROM chunks";
const UPDATE: &str = "UPDATE chunks SET vector = $1, model = $2 WHERE id = $3";

/// Gives every chunk an arbitrary vector of length 1. Returns the number of chunks.
pub(crate) async fn store_vectors(service: &Service, model: &str, dimensions: usize) -> Outcome<usize> {
    let mut vectors = Vectors { state: 3, dimensions };
    match service.database() {
        None => {
            let options =
                SqliteConnectOptions::new().filename(service.data_of_only_process()?.join("kitbag.sqlite"));
            in_sqlite(options.connect().await?, model, &mut vectors).await
        }
        Some(url) => {
            let options: PgConnectOptions = url.as_str().parse()?;
            in_postgres(options.connect().await?, model, &mut vectors).await
        }
    }
}

/// Returns the bytes on disk of the database, and of what the process keeps in its data directory.
pub(crate) async fn size(service: &Service) -> Outcome<u64> {
    let folder = size_of(&service.data_of_only_process()?)?;
    let Some(url) = service.database() else { return Ok(folder) };
    let options: PgConnectOptions = url.as_str().parse()?;
    let database: i64 = sqlx::query_scalar("SELECT pg_database_size(current_database())")
        .fetch_one(&mut options.connect().await?)
        .await?;
    Ok(folder + u64::try_from(database)?)
}

/// Returns the bytes of all files below a folder.
fn size_of(folder: &Path) -> Outcome<u64> {
    let mut size = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        size += if metadata.is_dir() { size_of(&entry.path())? } else { metadata.len() };
    }
    Ok(size)
}

macro_rules! on_engine {
    ($name:ident, $connection:ty) => {
        async fn $name(mut connection: $connection, model: &str, vectors: &mut Vectors) -> Outcome<usize> {
            let chunks: Vec<i64> = sqlx::query_scalar(CHUNKS).fetch_all(&mut connection).await?;
            sqlx::query("BEGIN").execute(&mut connection).await?;
            for chunk in &chunks {
                let update = sqlx::query(UPDATE).bind(vectors.next()).bind(model).bind(chunk);
                update.execute(&mut connection).await?;
            }
            sqlx::query("COMMIT").execute(&mut connection).await?;
            Ok(chunks.len())
        }
    };
}

on_engine!(in_sqlite, SqliteConnection);
on_engine!(in_postgres, PgConnection);

/// Generator of pseudorandom vectors, the same in every run.
struct Vectors {
    state: u64,
    dimensions: usize,
}

impl Vectors {
    /// Returns the next vector, as the database has it: little-endian 32-bit floats.
    fn next(&mut self) -> Vec<u8> {
        let numbers: Vec<f32> = (0..self.dimensions).map(|_| self.number()).collect();
        let length = numbers.iter().map(|number| number * number).sum::<f32>().sqrt();
        numbers.into_iter().flat_map(|number| (number / length).to_le_bytes()).collect()
    }

    fn number(&mut self) -> f32 {
        self.state =
            self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let [.., low, high] = self.state.to_le_bytes();
        f32::from(i16::from_le_bytes([low, high]))
    }
}
